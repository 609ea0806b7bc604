import pytest

from fedmix.configuration import Document
from fedmix.pipeline.forecast import (
    FIRST_ESTIMATES,
    STARTUP,
    advised_block,
    forecast,
    forecast_lines,
)
from fedmix.pipeline.plan import plan_study
from fedmix.pipeline.request import Request

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.fixture
def request_of_two_methods():
    document = {
        "experiment": "mixture_simulation",
        "replications": 40,
        "block": 10,
        "settings": [{"grid": {"h": [0, 1]}}],
        "setting_id": "h{h}",
        "methods": ["FedEM", "TGMM"],
    }
    methods = {name: {"estimator": name, "label": name} for name in ("FedEM", "TGMM")}
    return Request(
        {},
        {
            "study": plan_study(
                "study", "p", Document(document, (lambda keys: "study.yaml",)), methods
            )
        },
        {},
        {},
        {},
    )


def measure(workdir, cell, block, seconds, memory="300.5"):
    path = workdir / "results/study" / cell / f"{block}.benchmark.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}{seconds}\t0:00:00\t{memory}\t1\t1\t1\t0\t0\t99\t{seconds}\n")


def test_without_benchmarks_there_is_a_first_estimate(request_of_two_methods, tmp_path):
    [study] = forecast(request_of_two_methods, tmp_path)
    assert study.jobs == 16
    seconds = 2 * 2 * 40 * FIRST_ESTIMATES["mixture_simulation"] + 16 * STARTUP
    assert study.hours == pytest.approx(seconds / 3600)
    assert "a first estimate" in next(forecast_lines([study]))


def test_benchmarks_of_any_block_size_replace_the_estimate(request_of_two_methods, tmp_path):
    measure(tmp_path, "h0/FedEM", "0-4", STARTUP + 5 * 2.0)
    measure(tmp_path, "h0/TGMM", "0-9", STARTUP + 10 * 8.0, memory="512.0")
    [study] = forecast(request_of_two_methods, tmp_path)
    # The other setting is expected to take what this one took, method by method.
    assert study.hours == pytest.approx((2 * 40 * (2.0 + 8.0) + 16 * STARTUP) / 3600)
    assert study.memory == 512.0
    assert "from 2 measured blocks" in next(forecast_lines([study]))


def test_a_job_too_short_to_be_sampled_has_no_memory(request_of_two_methods, tmp_path):
    measure(tmp_path, "h0/FedEM", "0-9", 1.0, memory="NA")
    [study] = forecast(request_of_two_methods, tmp_path)
    assert study.memory == 0.0
    assert study.hours == pytest.approx(16 * STARTUP / 3600)


@pytest.mark.parametrize(
    ("seconds", "replications", "block"),
    [(1.0, 10_000, 600), (1.0, 200, 200), (60.0, 200, 10), (10_000.0, 200, 1), (0.0, 200, 200)],
)
def test_the_advised_block_lasts_ten_minutes_where_it_can(seconds, replications, block):
    assert advised_block(seconds, replications) == block


def test_only_unwise_blocks_are_advised_on(request_of_two_methods, tmp_path):
    measure(tmp_path, "h0/FedEM", "0-9", STARTUP + 10 * 200.0)
    [few] = forecast(request_of_two_methods, tmp_path)
    assert "10 replications a job are many: about 3 " in list(forecast_lines([few]))[1]
    measure(tmp_path, "h0/FedEM", "0-9", STARTUP + 10 * 60.0)
    [fair] = forecast(request_of_two_methods, tmp_path)
    assert len(list(forecast_lines([fair]))) == 2


def test_disk_is_measured_by_what_replications_have_left(request_of_two_methods, tmp_path):
    [before] = forecast(request_of_two_methods, tmp_path)
    assert before.disk == pytest.approx(2 * 2 * 40 * 20e3 / 1e6)
    measure(tmp_path, "h0/FedEM", "0-9", 5.0)
    (tmp_path / "results/study/h0/FedEM/0-9.parquet").write_bytes(bytes(10**6))
    [study] = forecast(request_of_two_methods, tmp_path)
    assert study.disk == pytest.approx(16, rel=0.01)
    assert "16 MB on disk" in next(forecast_lines([study]))
