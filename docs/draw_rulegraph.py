"""Draw docs/rulegraph.svg from Snakemake's own graph of the rules (needs Graphviz' dot)."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "rulegraph.svg"


def rule_graph() -> str:
    """Return the rules of the default preset and what they need, in Graphviz' language."""
    with tempfile.TemporaryDirectory() as nothing_done_yet:
        command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile"]
        command += ["--directory", nothing_done_yet, "--cores", "1", "--rulegraph", "dot"]
        finished = subprocess.run(
            list(map(str, command)), cwd=ROOT, capture_output=True, text=True, check=True
        )
    return merged(finished.stdout[finished.stdout.index("digraph") :])


def merged(graph: str) -> str:
    """Return the graph with the rules that run methods, one a combination of them, as one."""
    runs = re.findall(r'(\d+)\[label = "run_\w+_\d+"', graph)
    for number in runs[1:]:
        graph = re.sub(rf"^\s*{number}\[.*\n", "", graph, flags=re.M)
        graph = re.sub(rf"\b{number}\b(?= ->)|(?<=-> ){number}\b", runs[0], graph)
    graph = re.sub(r'label = "run_\w+_\d+"', 'label = "run_methods"', graph)
    return "\n".join(dict.fromkeys(graph.splitlines())) + "\n"


def main() -> None:
    """Draw the graph from left to right."""
    command = ["dot", "-Tsvg", "-Grankdir=LR", "-Gbgcolor=transparent"]
    drawn = subprocess.run(command, input=rule_graph(), capture_output=True, text=True, check=True)
    PICTURE.write_text(drawn.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
