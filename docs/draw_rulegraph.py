"""Draw docs/rulegraph.svg from Snakemake's own graph of the rules (needs Graphviz' dot)."""

from __future__ import annotations

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
        finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return finished.stdout[finished.stdout.index("digraph") :]


def main() -> None:
    """Draw the graph from left to right."""
    command = ["dot", "-Tsvg", "-Grankdir=LR", "-Gbgcolor=transparent"]
    drawn = subprocess.run(command, input=rule_graph(), capture_output=True, text=True, check=True)
    PICTURE.write_text(drawn.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
