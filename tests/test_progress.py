from fedmix.pipeline.progress import begin, duration, report


def test_a_line_says_what_is_done_failed_and_left(tmp_path):
    path = tmp_path / "progress.jsonl"
    begin(path, {"FedEM": 2, "FedGrEM": 1})
    assert report(path, "s/a", "FedEM", ["ok", "ok"]).startswith("[1/3 blocks, ")
    line = report(path, "s/b", "FedEM", ["ok", "diverged"])
    assert line.startswith("[2/3 blocks, ")
    assert line.endswith("left] FedEM: 3 replications done, 1 failed | s/b")


def test_a_job_outside_a_run_reports_itself_alone(tmp_path):
    line = report(tmp_path / "none.jsonl", "s/a", "FedEM", ["ok", "error"])
    assert line == "FedEM: 1 replications done, 1 failed | s/a"


def test_durations_are_rough():
    assert [duration(s) for s in (40, 200, 9000)] == ["40 s", "3 min", "2.5 h"]
