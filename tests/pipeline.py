"""A copy of the workflow that tests may run, edit, kill and damage."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from numba.core.caching import _CacheLocator

from fedmix.pipeline.jobs import _kernel_cache
from fedmix.storage import sha256_of

ROOT = Path(__file__).parents[1]
WORKFLOW = (
    "Snakefile",
    "workflow",
    "config",
    "profiles",
    "src",
    "data/published",
    "environment.yml",
    "requirements.lock",
    "LICENSE",
    "CITATION.cff",
)

SETTING = "results/fedgrem_real/paper_like.digits-contaminated0"
COLLECTED = "results/smoke/collected/fedgrem_real/fedgrem_table1/results.parquet"
METHODS = ("LocalEM", "FedGrEM", "PooledEM")
SMOKE = "config/papers/fedgrem/presets/smoke.yaml"


def jobs_of(run: subprocess.CompletedProcess) -> Counter:
    """Count the jobs that a run of Snakemake says it has planned, by rule."""
    _, _, stats = run.stdout.partition("Job stats:\n")
    counts = re.findall(r"^(\w+) +(\d+)$", stats.partition("\n\n")[0], flags=re.M)
    return Counter({rule: int(n) for rule, n in counts if rule != "total"})


class Pipeline:
    """The workflow's files in ``project`` and the folder that it works in, ``work``.

    Parameters
    ----------
    folder : pathlib.Path
        Where both lie. Nothing outside it is changed.
    python : str, optional
        The interpreter; default is that of the tests.
    """

    def __init__(self, folder: Path, python: str | Path = sys.executable):
        self.python = python
        self.project = folder / "project"
        self.work = folder / "work"

    @classmethod
    def new(
        cls,
        folder: Path,
        python: str | Path = sys.executable,
        papers: Collection[str] | None = ("fedgrem",),
    ) -> Pipeline:
        """Copy the workflow as it is in the repository.

        The copy has only these papers' folders, and of the presets only ``smoke``: each start of
        Snakemake reads the whole configuration. With None it has everything.
        """
        pipeline = cls(folder, python)
        for name in WORKFLOW:
            source, target = ROOT / name, pipeline.project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
        pipeline.work.mkdir()
        if papers is not None:
            pipeline._leave_out_other_papers(papers)
        return pipeline

    def _leave_out_other_papers(self, papers: Collection[str]) -> None:
        for pattern in ("config/papers/*", "config/beyond/*", "data/published/*"):
            for folder in self.project.glob(pattern):
                if folder.is_dir() and folder.name not in papers:
                    shutil.rmtree(folder)
        for preset in self.project.glob("config/**/presets/*.yaml"):
            if preset.name != "smoke.yaml":  # others name more papers
                preset.unlink()

    def copy(self, folder: Path) -> Pipeline:
        """Copy the workflow and everything that it has made."""
        shutil.copytree(self.project.parent, folder, dirs_exist_ok=True, symlinks=True)
        return Pipeline(folder)

    def run(self, *arguments: str, check: bool = True, **options) -> subprocess.CompletedProcess:
        """Run Snakemake to its end; see :meth:`start` for the arguments."""
        process = self.start(*arguments, **options)
        try:
            output, _ = process.communicate(timeout=1800)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        result = subprocess.CompletedProcess(process.args, process.returncode, output, output)
        if check and result.returncode:
            raise AssertionError(f"Snakemake ended with {result.returncode}:\n{output}")
        return result

    def submit(self, queue: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
        """Run Snakemake with the jobs submitted to the programs in a folder; see :meth:`run`."""
        profile = f"--workflow-profile={self.project}/profiles/cluster-generic"
        fast = ["--seconds-between-status-checks=1", "--latency-wait=2", "--retries=1"]
        path = f"{queue}{os.pathsep}{self._environment()['PATH']}"
        environment = {"QUEUE": str(queue), "PATH": path}
        return self.run(profile, *fast, *arguments, cores=None, environment=environment, **options)

    def start(
        self,
        *arguments: str,
        cores: int | None = 2,
        config: dict | None = None,
        environment: dict[str, str] | None = None,
    ) -> subprocess.Popen:
        """Start Snakemake with one replication of the smoke preset, in a session of its own.

        Parameters
        ----------
        *arguments : str
            Targets and options of Snakemake.
        cores : int, optional
            None leaves ``--cores`` out.
        config : dict, optional
            Configuration on top of the preset.
        environment : dict, optional
            Environment variables on top of this process's.
        """
        chosen = {"preset": "smoke", "replications": 1, **(config or {})}
        command = [self.python, "-m", "snakemake", "--directory", self.work]
        command += ["--max-jobs-per-timespan=1000/1s"]  # the time that a run waits at its end
        command += [] if cores is None else ["--cores", cores]
        command += ["--config", *(f"{key}={value}" for key, value in chosen.items()), "--"]
        options = [a for a in arguments if a.startswith("-")]
        command[3:3] = options
        command += [a for a in arguments if not a.startswith("-")]
        return subprocess.Popen(
            list(map(str, command)),
            cwd=self.project,
            env={**os.environ, **self._environment(), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def command(self, *arguments: str | Path) -> subprocess.CompletedProcess:
        """Run ``python -m fedmix`` on one replication of the smoke preset."""
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "fedmix",
                *arguments,
                "--config",
                "preset=smoke",
                "replications=1",
            ],
            cwd=self.project,
            env={**os.environ, **self._environment()},
            capture_output=True,
            text=True,
        )

    def _environment(self) -> dict[str, str]:
        programs = str(Path(self.python).parent)
        return {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self.project / "src"),
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "",  # each process would compile all that it imports
            "NUMBA_CACHE_DIR": str(self._compiled()),
        }

    def _compiled(self) -> Path:
        """Return a folder in which jobs find the compiled kernels of the repository.

        Numba files them under the path of their source: every copy would compile them anew.
        """
        shared = _kernel_cache(None)
        folder = self.project.parent / "compiled" / shared.name
        folder.mkdir(parents=True, exist_ok=True)
        theirs, own = (
            place / _CacheLocator.get_suitable_cache_subpath(root / "src/fedmix/kernels/em.py")
            for place, root in ((shared, ROOT), (folder, self.project))
        )
        theirs.mkdir(parents=True, exist_ok=True)
        if not own.is_symlink():
            own.symlink_to(theirs)
        return folder

    def planned(self, *arguments: str, config: dict | None = None) -> Counter:
        """Count the jobs that a dry run plans, by rule."""
        return jobs_of(self.run("--dry-run", *arguments, config=config))

    def results(self) -> dict[str, str]:
        """Return the sha256 of every file that no run changes; cells hold seconds."""
        found = [
            path
            for folder in ("data", "results/fedgrem_real", "results/smoke/collected")
            for path in (self.work / folder).rglob("[!.]*")
            if path.suffix in (".parquet", ".npz")
            and not {"timings", "cells"} & set(path.name.split("."))
        ]
        found += (self.work / "results/smoke/tables").glob("fedgrem_table1.*")
        return {str(path.relative_to(self.work)): sha256_of(path) for path in sorted(found)}

    def forget_runs(self) -> None:
        """Delete what the methods of one setting have made, and what follows from it."""
        shutil.rmtree(self.work / SETTING)
        shutil.rmtree((self.work / COLLECTED).parent)

    def fits(self, log: str = "0-0", setting: str = SETTING) -> list[str]:
        """Return the methods that the last job of one setting and block has run."""
        path = self.work / setting.replace("results", "logs/run_methods", 1) / f"{log}.log"
        return re.findall(r"runner: (\S+), replication \d+: ", path.read_text())

    def change_method(self, code: str, module: str = "fedgrem") -> Path:
        """Add code to the module of a method, and return its path."""
        path = self.project / f"src/fedmix/methods/{module}.py"
        path.write_text(path.read_text() + code)
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace text in one file of the workflow."""
        path = self.project / name
        text = path.read_text()
        assert old in text, f"{name} no longer has {old!r}"
        path.write_text(text.replace(old, new))
