"""The paper preset: kept results are computed again, and studies beyond the papers run."""

import subprocess
import sys
from functools import cache
from itertools import chain, islice, zip_longest
from pathlib import Path

import numpy as np
import pytest

from fedmix.cells.protocols.kept import read_search
from fedmix.cells.protocols.running import Runner
from fedmix.cells.protocols.space import read_searches
from fedmix.configuration import read_yaml
from fedmix.pipeline.request import read_request
from fedmix.pipeline.rerun import prepare_rerun, run_again

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "reproduction"
N_DRAWN = 40
# Relative. Most are equal to 1e-9, but a fit whose steps are too long lets errors of rounding grow.
TOLERANCE = 1e-6


@cache
def request_of(preset):
    """Return what a preset asks for."""
    config = read_yaml(ROOT / "config" / "config.yaml")
    return read_request(ROOT / "config", {**config, "preset": preset}, ROOT)


def drawn():
    """Draw kept replications that count as this code's, by turns of each study and its methods."""
    request, rng = request_of("paper"), np.random.default_rng(0)
    by_study = []
    for study in request.studies.values():
        held = {}
        for setting in study.settings.values():
            for method, numbers in request.coverage.held(study, setting).items():
                cells = [(setting.folder, method, number) for number in sorted(numbers)]
                held.setdefault(method, []).extend(cells)
        own = [(study.name, *cells[rng.integers(len(cells))]) for cells in held.values() if cells]
        by_study.append(rng.permutation(np.array(own, dtype=object)).tolist())
    return list(islice(filter(None, chain(*zip_longest(*by_study))), N_DRAWN))


@pytest.fixture(scope="session")
def embedded(tmp_path_factory):
    """Return the folder in which an embedded data set is made from the mirror."""
    folder = tmp_path_factory.mktemp("kept")

    def make(path, mirror):
        if not (folder / path).is_file():
            command = [sys.executable, "-m", "snakemake", "--cores", "1", path]
            where = ["--snakefile", ROOT / "Snakefile", "--directory", folder]
            subprocess.run([*command, *where, "--config", f"mirror={mirror}"], check=True)
        return folder

    return make


@pytest.mark.parametrize(("study", "setting", "method", "replication"), drawn())
def test_a_kept_replication_is_computed_again(
    study, setting, method, replication, embedded, request
):
    asked = request_of("paper")
    planned = asked.studies[study]
    workdir = ROOT
    data = planned.settings[setting].embedded
    if data and not (ROOT / data).is_file():
        if Path(data).stem.startswith(("tsne", "vae")):
            pytest.skip("its embedding takes half an hour")
        workdir = embedded(data, request.getfixturevalue("mirror"))
    rows = asked.coverage.evidence.rows(study)
    cell = (setting, method, replication)
    assert run_again(planned, workdir, rows, [cell])[cell] <= TOLERANCE


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
        files.append(embedded(path, request.getfixturevalue("mirror")) / path)
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
