"""Commands besides Snakemake's.

They check the configuration, write files to start a method, a data set or a paper from, forecast a
run, show its state, and explain its numbers.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from fedmix.configuration import read_yaml
from fedmix.data.registry import mirror_folder
from fedmix.errors import ConfigurationError, FedmixError
from fedmix.pipeline.costs import benchmark, costs_text, read_costs
from fedmix.pipeline.forecast import against_lines, forecast, forecast_lines, read_actual, read_kept
from fedmix.pipeline.jobs import prepare_process
from fedmix.pipeline.precision import precision_lines
from fedmix.pipeline.request import Request, check, read_request, require_evidence
from fedmix.pipeline.skeleton import new_dataset, new_method, new_paper, require_repository
from fedmix.pipeline.status import evidence_lines, read_status, status_lines


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.command != "rerun":
            for line in options.report(options):
                print(line)
            return 0
        from fedmix.pipeline.rerun import prepare_rerun

        names = (options.study, options.setting, options.method, options.replication)
        run = prepare_rerun(_request(options), *names, options.directory)
    except FedmixError as error:
        print(error, file=sys.stderr)
        return 1
    outcome = run()  # an error shows its traceback, which is the purpose of a rerun
    for name in ("rounds", "converged", "floats_up", "floats_down"):
        print(f"{name.replace('_', ' ')}: {getattr(outcome, name)}")
    for name, value in outcome.metrics.items():
        print(f"{name}: {value}")
    return 0


def _parser() -> argparse.ArgumentParser:
    run, repository = (argparse.ArgumentParser(add_help=False) for _ in range(2))
    run.add_argument(
        "--config",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="options of config/config.yaml, e.g. preset=paper, as for Snakemake",
    )
    run.add_argument(
        "--directory", type=Path, default=Path("."), help="where Snakemake works (default: here)"
    )
    repository.add_argument(
        "--workflow", type=Path, default=Path("."), help="where the Snakefile is (default: here)"
    )
    parser = argparse.ArgumentParser(prog="python -m fedmix", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    add = partial(_add_command, commands, [run, repository])
    status = add("status", _status, "show what is done, running and failed, in one line per study")
    status.add_argument(
        "name",
        nargs="?",
        help="a study, of which every setting and method is shown; or a paper, table or figure",
    )
    forecast = add("forecast", _costs, "forecast the core-hours, memory and disk space of a target")
    forecast.add_argument("target", nargs="?", help="a paper, table or figure (default: all)")
    forecast.add_argument(
        "--against",
        type=Path,
        metavar="RESULTS",
        help="the folder of a finished run, to compare with",
    )
    costs = add("costs", _costs, "print config/costs.csv with newly measured costs")
    costs.add_argument(
        "results",
        nargs="?",
        type=Path,
        help="the folder `results` of a run (default: what this kind of processor has added to the "
        "evidence)",
    )
    evidence = add("evidence", _evidence, "show, extend or check the kept replications")
    evidence.add_argument(
        "action",
        choices=["status", "precision", "add", "adopt"],
        help="status: what is kept of each study; precision: which published values have enough "
        "replications; add: keep all finished replications; adopt: check the kept ones by a sample "
        "after a change of the code",
    )
    evidence.add_argument(
        "files",
        nargs="*",
        type=Path,
        help="for add: archives or files of evidence (default: all that is below results)",
    )
    again = add("rerun", None, "run one method on one replication, and show its errors")
    again.add_argument("study", help="e.g. fedgrem_simulation")
    again.add_argument(
        "setting", help="the folder's name under results/STUDY, e.g. as_coded.gaussian-h0.5"
    )
    again.add_argument("method", help="its name in the study, e.g. FedGrEM")
    again.add_argument("replication", type=_replication, help="its number, from 0")
    check = add("check", _check, "list everything that is wrong with the configuration")
    check.add_argument("--plugins", metavar="FOLDER", help="import the methods of this folder too")
    check.add_argument(
        "--paper",
        metavar="KEY",
        help="show only what is wrong with this paper, a folder of config/papers",
    )
    _add_skeletons(commands, repository)
    explain = add(
        "explain",
        _explanations,
        "show where a table's number comes from, in every variant, or what was found about a claim",
    )
    explain.add_argument("item", help="a table, e.g. fedgrem_table1, or the id of a claim")
    explain.add_argument("row", nargs="?", help="as in the table, e.g. '0 %%'")
    explain.add_argument("column", nargs="?", help="as in the table, e.g. FedGrEM")
    explain.add_argument(
        "--kept",
        action="store_true",
        help="use the kept results in docs/reproduction, without a run",
    )
    return parser


def _add_command(
    commands: Any,
    parents: list[argparse.ArgumentParser],
    name: str,
    report: Callable[[argparse.Namespace], Iterable[str]] | None,
    what: str,
) -> argparse.ArgumentParser:
    """Add a command, and the function that returns the lines to print."""
    sentence = f"{what[0].upper()}{what[1:]}."
    command = commands.add_parser(name, parents=parents, help=what, description=sentence)
    command.set_defaults(report=report)
    return command


def _add_skeletons(commands: Any, repository: argparse.ArgumentParser) -> None:
    method = _add_command(commands, [], "new-method", None, "write a method to start from")
    method.add_argument("name", help="name of its class, e.g. MyKMeans")
    method.add_argument(
        "--folder",
        type=Path,
        default=Path("my_methods"),
        help="a folder of plug-ins (default: my_methods)",
    )
    method.set_defaults(report=lambda given: new_method(given.name, given.folder))
    for name, what, write in (
        ("new-dataset", "write a data set's entry to start from", new_dataset),
        ("new-paper", "write a paper's folders to start from", new_paper),
    ):
        new = _add_command(commands, [repository], name, None, what)
        new.add_argument("name", help="a letter, then lower-case letters, digits and _")
        new.set_defaults(report=lambda given, write=write: write(given.name, given.workflow))


def _check(options: argparse.Namespace) -> Iterable[str]:
    if options.plugins:
        options.config = [*options.config, f"plugins={options.plugins}"]
    return check(lambda: _run_request(options), options.workflow / "config", options.paper)


def _replication(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)


def _request(options: argparse.Namespace) -> Request:
    require_repository(options.workflow)
    config = options.workflow / "config"
    if not options.directory.is_dir():
        raise ConfigurationError(f"--directory: there is no folder {options.directory}.")
    unclear = [item for item in options.config if "=" not in item]
    if unclear:
        raise ConfigurationError(f"--config: expected KEY=VALUE, got {unclear[0]!r}.")
    changes = dict(item.split("=", 1) for item in options.config)
    known = read_yaml(config / "config.yaml")
    if not isinstance(known, dict):
        raise ConfigurationError(
            f"{config / 'config.yaml'}: expected keys and values, got {known!r}."
        )
    return read_request(config, {**known, **changes}, options.directory)


def _run_request(options: argparse.Namespace) -> Request:
    """Return the request of a run, whose folders of data and evidence exist."""
    request = _request(options)
    mirror_folder(request.options["mirror"])
    require_evidence(request.options["evidence"], options.workflow)
    return request


def _status(options: argparse.Namespace) -> Iterable[str]:
    request, name = _run_request(options), options.name
    if name is not None and name not in request.studies:
        request, name = request.of_target(name), None
    return status_lines(read_status(request, options.directory), request.asked, name)


def _costs(options: argparse.Namespace) -> Iterable[str]:
    """Return the forecast or known costs of a request, in seconds of this machine."""
    request = _run_request(options)
    prepare_process()
    if options.command == "costs":
        found = read_actual(request, options.results) if options.results else read_kept(request)
        known = read_costs(options.workflow / "config" / "costs.csv")
        return [costs_text(found, benchmark(), known).rstrip()]
    if options.against:
        return against_lines(request, read_actual(request, options.against), benchmark().typical)
    asked = request.of_target(options.target) if options.target else request.in_all()
    return forecast_lines(forecast(asked, options.directory, benchmark()))


def _evidence(options: argparse.Namespace) -> Iterable[str]:
    if options.files and options.action != "add":
        raise ConfigurationError(
            f"evidence {options.action} reads no files, got {options.files[0]}. To add it: "
            f"python -m fedmix evidence add {options.files[0]}"
        )
    request = _request(options)
    prepare_process()
    from fedmix.pipeline.keep import add
    from fedmix.pipeline.rerun import adopt

    if options.action == "adopt":
        return adopt(request, options.directory)
    if options.action == "precision":
        if not request.precision:
            raise ConfigurationError(
                f"The preset {request.options['preset']} runs fixed numbers of replications, which "
                "need no precision. Try --config preset=paper, without replications=."
            )
        return precision_lines(request.precision)
    if options.action == "add":
        return add(request, options.directory, options.files)
    return evidence_lines(request)


def _explanations(options: argparse.Namespace) -> Iterable[str]:
    from fedmix.cells.frame import judged_cells
    from fedmix.pipeline.explain import Explainer, explain_run, names_in, variants_in
    from fedmix.pipeline.judged import KEPT, explain_claim, explain_kept

    request = _request(options)
    audit = options.directory / "results" / request.options["preset"] / "audit"
    if options.column is None:
        if options.row is not None or options.item in request.items:
            raise ConfigurationError(
                f"explain: expected a table, a row and a column, got {options.item} and "
                f"{'no row' if options.row is None else repr(options.row)}. A claim is named alone."
            )
        folder = options.workflow / KEPT if options.kept else audit
        return explain_claim(folder, options.item, request.asked)
    place = options.item, options.row, options.column
    if options.kept:
        words = names_in(request, options.item), variants_in(request, options.item)
        return explain_kept(options.workflow / KEPT, *place, *words)
    explainer = Explainer(request, options.directory)
    cells = judged_cells(explainer.cells_of(options.item))
    return explain_run(explainer, cells, audit, *place)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # no traceback if `... | head` closes the pipe
    sys.exit(main())
