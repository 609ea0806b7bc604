"use strict";
// Without this script the page shows everything, one variant below the other.
document.documentElement.classList.add("js");

// Click a column's head to sort by it, again to turn the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const compare = (a, b) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      const difference = Number(a) - Number(b);
      return Number.isNaN(difference) ? a.localeCompare(b, "en", { numeric: true }) : difference;
    };
    const sort = () => {
      const ascending = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [key(row), row]);
      // Empty cells stay last either way.
      keyed.sort(([a], [b]) => compare(a, b) * (ascending || a === "" || b === "" ? 1 : -1));
      body.append(...keyed.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}

// One variant of a table at a time.
for (const tabs of document.querySelectorAll(".tabs")) {
  const buttons = [...tabs.querySelectorAll("button")];
  const variants = [...tabs.parentElement.querySelectorAll(".variant")];
  const show = (chosen) => {
    buttons.forEach((button, i) => button.setAttribute("aria-selected", String(i === chosen)));
    variants.forEach((variant, i) => { variant.hidden = i !== chosen; });
  };
  buttons.forEach((button, i) => button.addEventListener("click", () => show(i)));
  tabs.hidden = false;
  show(0);
}

// The numbers behind a verdict, for readers who cannot point.
for (const cell of document.querySelectorAll(".printed td[title]")) {
  cell.addEventListener("click", () => {
    const note = cell.closest(".variant").querySelector(".note");
    const column = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent;
    note.textContent = `${cell.parentElement.cells[0].textContent}, ${column}: ${cell.title}`;
    note.hidden = false;
  });
}

// Claims, or cells of a table, of one verdict. Rows without any are hidden, other cells fade.
for (const filter of document.querySelectorAll(".filter")) {
  const buttons = [...filter.querySelectorAll("button[data-show]")];
  const table = filter.parentElement.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  filter.hidden = false;
  const show = (chosen) => {
    const wanted = chosen.dataset.show;
    const isOut = (entry) => !["", entry.dataset.verdict].includes(wanted);
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(button === chosen)));
    rows.forEach((row) => {
      const entries = row.dataset.verdict ? [row] : [...row.cells].slice(1);
      entries.forEach((entry) => entry.classList.toggle("out", isOut(entry)));
      row.hidden = entries.every(isOut);
    });
  };
  buttons.forEach((button) => button.addEventListener("click", () => show(button)));
  // The rows with the best verdicts first; what has no verdict comes last.
  filter.querySelector(".sort")?.addEventListener("click", () => {
    const mean = (row) => {
      const orders = [...row.querySelectorAll("[data-order]")].map((e) => Number(e.dataset.order));
      return orders.length ? orders.reduce((a, b) => a + b) / orders.length : Infinity;
    };
    const keyed = rows.map((row) => [mean(row), row]);
    keyed.sort(([a], [b]) => (a === b ? 0 : a - b));
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  });
}

// A table that is wider than its place says so, until its end is in sight.
const boxes = document.querySelectorAll(".scroll");
const hint = (box) => {
  box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
};
const hintAll = () => boxes.forEach(hint);
boxes.forEach((box) => box.addEventListener("scroll", () => hint(box), { passive: true }));
window.addEventListener("resize", hintAll);
document.addEventListener("click", hintAll); // another variant, or opened details
hintAll();
