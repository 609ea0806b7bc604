"""The paper preset: kept results are computed again, and studies beyond the papers run."""

import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fedmix.cells.protocols.kept import read_search
from fedmix.cells.protocols.running import Runner
from fedmix.cells.protocols.space import read_searches
from fedmix.configuration import read_yaml
from fedmix.pipeline.evidence import SAME
from fedmix.pipeline.kept_embeddings import kept_path
from fedmix.pipeline.precision import precision_lines
from fedmix.pipeline.request import read_request
from fedmix.pipeline.rerun import prepare_rerun, run_again

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "reproduction"
N_DRAWN = 40


@cache
def request_of(preset):
    """Return what a preset asks for."""
    config = read_yaml(ROOT / "config" / "config.yaml")
    return read_request(ROOT / "config", {**config, "preset": preset}, ROOT)


def test_the_list_of_where_values_stopped_is_that_of_the_evidence():
    listed = (ROOT / "docs/precision.txt").read_text(encoding="utf-8").splitlines()
    assert listed == list(precision_lines(request_of("paper").precision)), "run make kept"


def kept_data(path):
    """Return the file of an embedding that the evidence keeps; None without one."""
    coverage, name = request_of("paper").coverage, Path(path)
    place = name.parent.name, name.stem
    is_kept = coverage.kept_embedding(*place)
    return kept_path(coverage.evidence.folder, *place) if is_kept else None


def takes_long(path):
    """Return whether an embedding would have to be made in half an hour."""
    return Path(path).stem.startswith(("tsne", "vae")) and not kept_data(path)


def candidates():
    """Draw a kept replication that counts as this code's of each study and method."""
    request, rng = request_of("paper"), np.random.default_rng(0)
    found = []
    for study in request.studies.values():
        held = {}
        for setting in study.settings.values():
            if setting.embedded and takes_long(setting.embedded):
                continue
            for method, numbers in request.coverage.held(study, setting).items():
                cells = [(setting.folder, method, number) for number in sorted(numbers)]
                held.setdefault(method, []).extend(cells)
        found += [
            (study.name, *cells[rng.integers(len(cells))]) for cells in held.values() if cells
        ]
    return rng.permutation(np.array(found, dtype=object)).tolist()


def estimator_of(cell):
    study, _, method, _ = cell
    return request_of("paper").studies[study].methods[method].estimator


@cache
def drawn():
    """Return replications of every estimator, then of the studies that have the fewest so far."""
    left, taken, chosen = candidates(), Counter(), []

    def times(cell):
        study, estimator = cell[0], estimator_of(cell)
        return taken[estimator] > 0, taken[study], taken[estimator]

    while left and len(chosen) < N_DRAWN:
        cell = min(left, key=times)
        left.remove(cell)
        chosen.append(cell)
        taken.update([cell[0], estimator_of(cell)])
    return chosen


@pytest.fixture(scope="session")
def embedded(tmp_path_factory):
    """Return the folder that an embedded data set is copied to, or made in from the mirror."""
    folder = tmp_path_factory.mktemp("kept")

    def make(path, request):
        target, kept = folder / path, kept_data(path)
        if kept and not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(kept, target)
        if not target.is_file():
            mirror = request.getfixturevalue("mirror")
            command = [sys.executable, "-m", "snakemake", "--cores", "1", path]
            where = ["--snakefile", ROOT / "Snakefile", "--directory", folder]
            subprocess.run([*command, *where, "--config", f"mirror={mirror}"], check=True)
        return folder

    return make


def test_every_estimator_is_drawn():
    assert {estimator_of(cell) for cell in drawn()} == set(map(estimator_of, candidates()))


@pytest.mark.parametrize(("study", "setting", "method", "replication"), drawn())
def test_a_kept_replication_is_computed_again(
    study, setting, method, replication, embedded, request
):
    asked = request_of("paper")
    planned = asked.studies[study]
    data = planned.settings[setting].embedded
    workdir = embedded(data, request) if data and not (ROOT / data).is_file() else ROOT
    rows = asked.coverage.evidence.rows(study)
    cell = (setting, method, replication)
    # As where evidence is adopted. Of fits whose steps are too long, which let errors of rounding
    # grow, none is drawn.
    assert run_again(planned, workdir, rows, [cell])[cell] <= SAME


@pytest.mark.parametrize(
    ("search", "table"),
    [
        ("fedgrem", "fedgrem_table1"),
        ("fedgem_benchmark", "abalone"),
        ("fedgrem_simulation", "fedgrem_table5"),
    ],
)
def test_a_kept_protocol_is_run_again(search, table, embedded, request):
    plan = request_of("paper")
    space = read_searches(plan.papers, "paper")[search]
    kept = read_search(KEPT / "protocols" / search, space, plan.items, ROOT / "data" / "published")
    fit = (
        kept.runs.query("kind == 'searched' and table == @table").sample(1, random_state=0).iloc[0]
    )
    place = ["kind", "table", "protocol"]
    [chosen] = kept.protocols[(kept.protocols[place] == fit[place]).all(axis=1)].to_dict("records")
    [row] = {row for row in space.tables[table].rows if str(row) == str(fit["row"])}
    metrics = {m: plan.items[space.tables[table].item].metrics_of(m)[0] for m in space.methods}
    files = []
    for dataset, embedding in space.data(table):
        path = f"data/embedded/{dataset}/{embedding}.npz"
        files.append(embedded(path, request) / path)
    again = Runner(space, {table: metrics}, files).run(
        [chosen], {table: [(row, fit["replication"])]}
    )
    methods = list(space.methods)
    values = again.set_index("method")["value"][methods].to_list()
    assert values == pytest.approx(fit[methods].to_list(), rel=5e-4, nan_ok=True)


def first_fits():
    """Return the methods beyond the papers, each with its first setting that needs no data."""
    studies, found = request_of("paper").studies, {}
    for study, plan in ((s, studies[s]) for s in studies if s.startswith("beyond_")):
        for setting in plan.settings.values():
            for method in plan.methods_of(setting) if "dataset" not in setting.values else ():
                found.setdefault((study, method), setting.folder)
    return found.items()


@pytest.mark.filterwarnings("ignore:.*depends on final_radius_scale", "ignore:.*tolerance within")
@pytest.mark.parametrize(("fit", "setting"), first_fits(), ids=str)
def test_a_method_beyond_the_papers_runs(fit, setting):
    study, method = fit
    outcome = prepare_rerun(request_of("paper"), study, setting, method, 0)()
    assert np.isfinite(list(outcome.metrics.values())).all()
