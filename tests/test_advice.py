"""The numbers that advice takes from the kept tables are theirs."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_advice_for_few_points_has_the_gains_of_its_table():
    table = (DOCS / "reproduction/tables/beyond_federation_advice.md").read_text(encoding="utf-8")
    found = re.findall(
        r"^\| n = (\d+), h = ([\d.]+), 0 of \d+ .*?\| (.*?) \| (.*?) ±.*\| (.*?) \|$", table, re.M
    )
    few = [(n, taken, gain, tied) for n, h, taken, gain, tied in found if float(h) <= 1.5]
    said = (DOCS / "choose_a_method.md").read_text(encoding="utf-8")
    [row] = [line for line in said.splitlines() if "few points of a Gaussian mixture" in line]
    for n, method in (("20", "FedKmeans"), ("50", "FedGrEM")):
        own = [one for one in few if one[0] == n]
        assert all(method in (taken, *tied.split("; ")) for _, taken, _, tied in own)
        gains = sorted(float(gain) for _, _, gain, _ in own)
        assert f"gains {gains[0]} to {gains[-1]}" in row


def test_federated_k_means_leads_with_few_points_where_the_advice_says():
    table = (DOCS / "reproduction/tables/beyond_federation_advice.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| n = 20, h = ([\d.]+), (\d+) of 20 .*?\| (.*?) \|", table, re.M)
    said = (DOCS / "choose_a_method.md").read_text(encoding="utf-8")
    [last] = re.findall(r"with 20 points of similar clients \(h up to (\d)\) FedKMeans", said)
    similar = [(bad, taken) for h, bad, taken in found if float(h) <= int(last)]
    assert {bad for bad, _ in similar} == {"0", "4"}
    assert {taken for _, taken in similar} == {"FedKmeans"}
    assert {taken for h, bad, taken in found if h == "2" and bad == "4"} == {"FedGrEM"}


def recovery() -> list[tuple[str, str, str]]:
    """Return method, rounds and share of each row of the paper's variant in its kept table."""
    table = DOCS / "reproduction/tables/mixed_regression_recovery.md"
    row = r"^\| as written, C\d (.*?) \| [^|]* \| (.*?) \| (.*?) \|"
    return re.findall(row, table.read_text(encoding="utf-8"), re.M)


def test_the_two_phase_method_has_its_shares_of_recovery():
    said = " ".join((DOCS / "methods/TwoPhase.md").read_text(encoding="utf-8").split())
    for variant in ("s = 5", "s = 20", "FedProx"):
        shares = [100 * float(share) for name, _, share in recovery() if name.endswith(variant)]
        assert len(shares) == 3
        assert f"in {min(shares):.0f} to {max(shares):.0f} %" in said


def test_ifca_has_its_shares_of_recovery():
    said = " ".join((DOCS / "methods/IFCA.md").read_text(encoding="utf-8").split())
    shares = [100 * float(share) for name, _, share in recovery() if name == "IFCA"]
    own = [row[1:] for row in recovery() if row[0] == "IFCA, cluster average"]
    rounds, reached = zip(*([float(x.partition(",")[0]) for x in row] for row in own), strict=True)
    assert f"in {sum(round(50 * share) for share in reached)} of 150 replications" in said
    assert f"after {min(rounds):.0f} to {max(rounds):.0f} rounds" in said
    assert f"in {min(shares):.0f} to {max(shares):.0f} % of the replications" in said


def gains_of_regressions() -> dict[str, dict[tuple[int, int], float]]:
    """Return each method's mean gain by clients and points, with little noise and none bad."""
    table = (DOCS / "reproduction/tables/beyond_federation_regression_table.md").read_text("utf-8")
    names = re.search(r"^\| clients \| (.*) \|$", table, re.M)[1].split(" | ")
    row = r"^\| (\d+) of (\d+) points and 0 of 200, noise 0.2, 0% contaminated .*?\| (.*) \|$"
    gains: dict[str, dict[tuple[int, int], float]] = {name: {} for name in names}
    for clients, points, values in re.findall(row, table, re.M):
        for name, value in zip(names, values.split(" | "), strict=True):
            gains[name][int(clients), int(points)] = float(value.partition(" / ")[0])
    return gains


def test_ifca_gains_and_loses_what_its_page_and_the_advice_say():
    gains = gains_of_regressions()
    own, one_shot = gains["IFCA, cluster average"], gains["One-shot"]
    said = " ".join((DOCS / "methods/IFCA.md").read_text(encoding="utf-8").split())
    beyond = " ".join((DOCS / "beyond.md").read_text(encoding="utf-8").split())
    for points in (100, 400):
        found = [gain for (_, n), gain in own.items() if n == points]
        assert len(found) == 4
        assert f"by {min(found)} to {max(found):+} %" in said
        assert all(gain > 0 for (_, n), gain in one_shot.items() if n == points)
    assert f"lose {-max(found):.0f} to {-min(found):.0f} %" in beyond
    overall = [-gain for (_, n), gain in gains["IFCA"].items() if n >= 100]
    assert f"by {min(overall):.0f} to {max(overall):.0f} %" in beyond
    assert all(own[m, 15] >= gains["Two-phase"][m, 15] for m in (100, 300))


def test_contaminated_clients_lower_the_gains_of_regressions_as_the_page_says():
    table = (DOCS / "reproduction/tables/beyond_federation_regression_table.md").read_text("utf-8")
    row = r"^\| 100 of (\d+) points and 0 of 200, noise 0.2, (\d+)% contaminated .*?\| (.*) \|$"
    gains: dict[tuple[int, int], list[list[float]]] = {}
    for points, share, values in re.findall(row, table, re.M):
        own = [float(value.partition(" / ")[0]) for value in values.split(" | ")]
        gains.setdefault((int(points), int(share)), []).append(own)
    for points in (15, 100):
        [clean] = gains[points, 0]
        for bad in gains[points, 5] + gains[points, 20]:
            assert all(lower < gain for lower, gain in zip(bad, clean, strict=True))
    assert all(gain < 0 for bad in gains[100, 20] for gain in bad)
    assert any(gain > 0 for bad in gains[100, 5] for gain in bad)
    said = " ".join((DOCS / "beyond.md").read_text(encoding="utf-8").split())
    assert "Contaminated clients lower every gain, and with 100 points and a fifth" in said


def test_the_core_hours_of_all_replications_are_those_of_the_kept_page():
    kept = (DOCS / "reproduction/README.md").read_text(encoding="utf-8")
    hours = {
        study: float(cost)
        for study, cost in re.findall(r"^\| (\w+) \| .* \| ([\d.]+) \|$", kept, re.M)
    }
    run, cluster = ((DOCS / f"{page}.md").read_text("utf-8") for page in ("whole_run", "cluster"))
    assert f"took {hours['together']:.1f} core-hours" in run
    assert f"The matrix took {hours['matrix']:.1f} of them" in run
    assert f"[{hours['together']:.1f} core-hours]" in cluster
    own = sum(cost for study, cost in hours.items() if study.startswith("beyond"))
    assert f"They took {own:.1f} core-hours." in (DOCS / "beyond.md").read_text("utf-8")


def test_a_consensus_costs_on_the_pen_digits_what_the_register_says():
    register = (DOCS / "discrepancies.md").read_text(encoding="utf-8")
    [(cost, half, n)] = re.findall(
        r"to a consensus in the first round: .*?change \+([\d.]+) ± 0([\d.]+) \(n=(\d+)\)", register
    )
    said = (DOCS / "found_protocols.md").read_text(encoding="utf-8")
    assert f"consensus costs {cost} +- {half} points" in said
    assert f"(study `fedgrem_axes`, {n} replications" in said


def test_two_phase_reaches_the_oracle_as_its_page_says():
    said = " ".join((DOCS / "methods/TwoPhase.md").read_text(encoding="utf-8").split())
    for name, words in (
        ("Two-phase s = 5", "in {low:.0f} to {high:.0f} %, after {first:.0f} to {last:.0f} rounds"),
        ("Two-phase s = 20, a quarter of the step", "20 steps do so in {low:.0f} to {high:.0f} %"),
        ("Two-phase FedProx, five times the step", "FedProx does so in {low:.0f} to {high:.0f} %"),
    ):
        rows = [row for row in recovery() if row[0] == name]
        shares = [100 * float(share.partition(",")[0]) for _, _, share in rows]
        rounds = [float(number.partition(",")[0]) for _, number, _ in rows]
        first, last = int(min(rounds)), max(rounds)
        numbers = {"low": min(shares), "high": max(shares), "first": first, "last": last}
        assert len(rows) == 3
        assert words.format(**numbers) in said
    own = [row[1:] for row in recovery() if row[0] == "Two-phase s = 5, cluster average"]
    assert {share for _, share in own} == {"1, n = 50"}
    rounds = [float(number.partition(",")[0]) for number, _ in own]
    assert f"after {min(rounds):.0f} to {max(rounds):.0f} rounds (medians" in said


def numbers_found() -> dict[str, list[float]]:
    """Return each method's shares of replications that find the number of clusters."""
    table = (DOCS / "reproduction/tables/beyond_numbers_table.md").read_text(encoding="utf-8")
    head, *rows = (line.split(" | ") for line in re.findall(r"^\| (.*) \|$", table, re.M))
    rows = [row for row in rows if row[0].startswith("R_min")]
    return {
        name: [float(row[place].partition(" / ")[0]) for row in rows]
        for place, name in enumerate(head)
        if place
    }


def test_methods_find_the_number_of_clusters_as_often_as_the_advice_says():
    found = numbers_found()
    best, seeds = found["FedGEM, start k-means"], found["FedGEM"]
    words = f"in {100 * min(best):.0f} to {100 * max(best):.0f} % of the replications, and "
    dpgmm = [100 * share for share in found["DP-GMM (central)"]]
    for page in ("choose_a_method.md", "methods/FedGEM.md"):
        said = " ".join((DOCS / page).read_text(encoding="utf-8").split())
        assert words in said
        assert f"{100 * min(seeds):.0f} to {100 * max(seeds):.0f} %" in said
    said = " ".join((DOCS / "methods/CentralDPGMM.md").read_text(encoding="utf-8").split())
    assert f"in {min(dpgmm):.0f} to {max(dpgmm):.0f} % of the replications" in said
