"""Every method of every study beyond the papers runs as the paper preset has it."""

from pathlib import Path

import numpy as np
import pytest

from fedmix.configuration import read_yaml
from fedmix.pipeline.request import read_request
from fedmix.pipeline.rerun import prepare_rerun

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
CONFIG = read_yaml(ROOT / "config" / "config.yaml")
PLAN = read_request(ROOT / "config", {**CONFIG, "preset": "paper"}, ROOT)


def first_fits():
    """Return each study's methods with the first setting that has them; no data are needed."""
    studies = [(s, plan) for s, plan in PLAN.studies.items() if s.startswith("beyond_")]
    found = {}
    for study, plan in studies:
        for setting in plan.settings.values():
            for method in plan.methods_of(setting) if "dataset" not in setting.values else ():
                found.setdefault((study, method), setting.folder)
    return found.items()


@pytest.mark.filterwarnings("ignore:.*depends on final_radius_scale", "ignore:.*tolerance within")
@pytest.mark.parametrize(("fit", "setting"), first_fits(), ids=str)
def test_a_method_runs(fit, setting):
    study, method = fit
    outcome = prepare_rerun(PLAN, study, setting, method, 0)()
    assert np.isfinite(list(outcome.metrics.values())).all()
