import io

from fedmix.pipeline.progress import CLEAR_LINE, Progress, duration, report

BLOCKS = [("s/a/FedEM", 2), ("s/a/FedEM", 2), ("s/b/FedEM", 3)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_says_what_of_a_setting_is_done_and_failed_and_what_time_is_left(tmp_path):
    path, stream = tmp_path / "results/progress.jsonl", io.StringIO()
    progress = Progress(path, BLOCKS, stream=stream)
    for cell, statuses in [
        ("s/a/FedEM", ["ok", "ok"]),
        ("s/b/FedEM", ["ok", "diverged", "error"]),
        ("s/a/FedEM", ["ok", "ok"]),
    ]:
        report(path, cell, statuses)
        progress.finished(cell)
    first, second, third = stream.getvalue().splitlines()
    assert first.startswith("[1/3 blocks, ")
    assert first.endswith(" left] s/a/FedEM: 2 of 4 fits done")
    assert second.endswith(" left] s/b/FedEM: 3 of 3 fits done, 2 failed")
    assert third.endswith("0 s left] s/a/FedEM: 4 of 4 fits done")


def test_a_terminal_shows_a_bar_in_one_line_that_can_be_taken_away(tmp_path):
    path, stream = tmp_path / "progress.jsonl", Terminal()
    progress = Progress(path, BLOCKS, stream=stream)
    for cell, fits in BLOCKS:
        report(path, cell, ["ok"] * fits)
        progress.finished(cell)
    progress.clear()
    assert "\n" not in stream.getvalue()
    lines = stream.getvalue().split(CLEAR_LINE)
    assert [line.count("#") for line in lines] == [0, 6, 13, 20, 0]
    assert all(len(line) < 80 for line in lines)


def test_nothing_but_lines_is_written_where_others_write_as_well(tmp_path):
    path, stream = tmp_path / "progress.jsonl", Terminal()
    progress = Progress(path, BLOCKS, bar=False, stream=stream)
    progress.finished("s/a/FedEM")
    progress.clear()
    assert CLEAR_LINE not in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_what_an_earlier_run_noted_does_not_count(tmp_path):
    path, stream = tmp_path / "progress.jsonl", io.StringIO()
    report(path, "s/a/FedEM", ["ok"])
    Progress(path, BLOCKS, stream=stream).finished("s/a/FedEM")
    assert "0 of 4 fits done" in stream.getvalue()


def test_durations_are_rough():
    assert [duration(s) for s in (40, 200, 9000)] == ["40 s", "3 min", "2.5 h"]
