"""A finished run of seconds, for the tests of evidence: two methods in one simulated setting."""

from pathlib import Path

from fedmix.configuration import read_yaml
from fedmix.experiments.base import Method
from fedmix.experiments.runner import Scenario, run_block
from fedmix.pipeline.blocks import KeptFits
from fedmix.pipeline.coverage import methods_in, scenario_of
from fedmix.pipeline.keep import add
from fedmix.pipeline.plan import Setting, Study
from fedmix.pipeline.request import Request, read_request

ROOT = Path(__file__).parents[1]
STUDY, METHODS = "fedgrem_simulation", ["LocalEM", "FedEM"]


def request_in(work: Path, preset: str = "quick") -> Request:
    """Return the request of a preset, with its evidence in ``work/evidence``."""
    config = read_yaml(ROOT / "config" / "config.yaml")
    changes = {"preset": preset, "evidence": str(work / "evidence")}
    return read_request(ROOT / "config", config | changes, work)


def planned(request: Request) -> tuple[Study, Setting]:
    """Return the study and its setting."""
    study = request.studies[STUDY]
    return study, next(iter(study.settings.values()))


def finish(work: Path, replications: range) -> None:
    """Run the methods below ``work/results``, as a job does that is killed at its end."""
    request = request_in(work)
    study, setting = planned(request)
    block = f"{replications.start}-{replications.stop - 1}"
    keys = request.coverage.keys(study, setting)
    fits = KeptFits(work / "results" / STUDY / setting.folder, block, keys)
    methods = [Method(**method) for method in methods_in(study, setting, METHODS)]
    run_block(Scenario(**scenario_of(study, setting)), methods, replications, None, fits)


def kept(work: Path) -> Path:
    """Run two replications of each method, add them to the evidence, and return the folder."""
    finish(work, range(2))
    assert list(add(request_in(work), work)) == [f"{STUDY}: 4 replications added"]
    return work


def current(work: Path) -> dict[str, int]:
    """Return how many replications of each method the evidence holds with the planned key."""
    request = request_in(work)
    held = request.coverage.held(*planned(request))
    return {method: len(held.get(method, ())) for method in METHODS}
