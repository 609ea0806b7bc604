"""Results that the repository keeps are those that its code computes."""

import json
import random
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from fedmix.cells.protocols.kept import read_search
from fedmix.cells.protocols.space import read_searches
from fedmix.configuration import read_yaml
from fedmix.data import load_dataset
from fedmix.pipeline.request import embedded_path, read_request
from fedmix.pipeline.rerun import prepare_rerun
from fedmix.pipeline.sample import FIT, SECONDS
from fedmix.protocols import Bench
from fedmix.storage import sha256_of

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "reproduction"


def kept_fits():
    scores = pd.read_csv(KEPT / "sample.csv", keep_default_na=False)
    return [(dict(zip(FIT, key, strict=True)), own) for key, own in scores.groupby(FIT)]


def is_here(path):
    """Return whether the embedded data set of the kept run lies in this folder."""
    lines = (KEPT / "checksums.sha256").read_text(encoding="utf-8").splitlines()
    checksums = {name: checksum for checksum, name in map(str.split, lines)}
    return (ROOT / path).is_file() and sha256_of(ROOT / path) == checksums.get(path)


@cache
def request_of(preset):
    """Return what a preset asks for."""
    config = read_yaml(ROOT / "config" / "config.yaml")
    return read_request(ROOT / "config", {**config, "preset": preset}, ROOT)


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


def workdir_of(setting, embedded, request):
    """Return a folder with the embedded data set of a setting, if it has any."""
    if "dataset" not in setting.values or is_here(embedded_path(setting.values)):
        return ROOT
    if setting.values["embedding"].startswith(("tsne", "vae")):
        pytest.skip("its embedding takes half an hour")
    return embedded(embedded_path(setting.values), request.getfixturevalue("mirror"))


@pytest.mark.parametrize(("fit", "scores"), kept_fits(), ids=lambda x: x.get("study", ""))
def test_a_kept_result_is_computed_again(fit, scores, embedded, request):
    plan = request_of(scores["preset"].iloc[0])
    [setting] = [
        s
        for s in plan.studies[fit["study"]].settings.values()
        if (s.variant, s.name) == (fit["variant"], fit["setting"])
    ]
    workdir = workdir_of(setting, embedded, request)
    again = prepare_rerun(
        plan, fit["study"], setting.folder, fit["method"], fit["replication"], workdir
    ).run()
    kept = scores.set_index("metric")["value"]
    # Other processors add in another order.
    assert {m: again.metrics[m] for m in kept.index} == pytest.approx(dict(kept), rel=1e-6)


@pytest.mark.parametrize("packed", sorted(ROOT.glob("data/runs/*.tar.xz")), ids=lambda p: p.stem)
def test_a_packed_result_is_computed_again(packed, embedded, request):
    with tarfile.open(packed) as bundle:
        member = random.Random(0).choice(bundle.getmembers())
        lines = [json.loads(line) for line in bundle.extractfile(member)]
    short = [
        line for line in lines if line[4]["status"] == "ok" and line[4]["cpu_seconds"] < SECONDS
    ]
    _, method, replication, rows, _ = random.Random(0).choice(short)
    _, study, setting, _ = Path(member.name).parts
    plan = request_of("paper")
    workdir = workdir_of(plan.studies[study].settings[setting], embedded, request)
    again = prepare_rerun(plan, study, setting, method, replication, workdir).run()
    kept = {row["metric"]: row["value"] for row in rows if row["round"] is None}
    assert {m: again.metrics[m] for m in kept} == pytest.approx(kept, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize(
    ("search", "table"),
    [
        ("fedgrem", "fedgrem_table1"),
        ("fedgem_benchmark", "abalone"),
        ("fedgrem_simulation", "fedgrem_table5"),
    ],
)
def test_a_kept_protocol_is_run_again(search, table, embedded, request):
    plan = request_of("reproduction")
    space = read_searches(plan.papers, "reproduction")[search]
    kept = read_search(KEPT / "protocols" / search, space, plan.items, ROOT / "data" / "published")
    fit = kept.runs.query("kind == 'nearest' and table == @table").sample(1, random_state=0).iloc[0]
    place = ["kind", "table", "protocol"]
    [chosen] = kept.protocols[(kept.protocols[place] == fit[place]).all(axis=1)].to_dict("records")
    [row] = {row for row in space.tables[table].rows if str(row) == str(fit["row"])}
    metrics = {m: plan.items[space.tables[table].item].metrics_of(m)[0] for m in space.methods}
    bench = Bench(space.experiment, space.study, space.row, space.tables[table].setting, metrics)
    protocol = space.protocol(table, chosen)
    data = {}
    for dataset, embedding in space.data(table):
        path = embedded_path({"dataset": dataset, "embedding": embedding})
        folder = embedded(path, request.getfixturevalue("mirror"))
        data[dataset, embedding] = load_dataset(folder / path)
    again = bench.run([protocol], [(row, fit["replication"])], data)
    methods = list(space.methods)
    values = again.set_index("method")["value"][methods].to_list()
    assert values == pytest.approx(fit[methods].to_list(), abs=1e-6, nan_ok=True)
