# Checks at the start of a run, and its summary at the end.

import atexit
import gc
import time

from fedmix.pipeline.status import (
    failed_jobs,
    failed_throughout,
    failure_lines,
    lacking,
    remove_temporary,
    require_past,
    summary_lines,
)
from fedmix.pipeline.precision import instalment_lines
from fedmix.storage import require_writable

STARTED = time.time()

# Without its records Snakemake regards files that an earlier request made as up to date.
if not config["partial"] and not any(Path(".snakemake/metadata").glob("*")):
    lacks = lacking(REQUEST, SHOWN)
    if lacks:
        raise WorkflowError(
            "\n".join(lacks)
            + f"\n{SHOWN}/collected was made for another request, and came without the folder .snakemake, "
            f"which would tell Snakemake. Copy that folder too, or delete {SHOWN}/collected. Finished "
            "replications are kept."
        )


onstart:
    gc.enable()  # the plan is made
    try:
        require_writable("results")
        require_past([*Path("data").glob("*/**/*.npz"), *Path("results").glob("*/*/*.parquet")])
    except FedmixError as error:
        raise WorkflowError(str(error)) from None
    remove_temporary(".")


onsuccess:
    lines = [*summary_lines(SHOWN, STARTED), *failure_lines(REQUEST, SHOWN)]
    if REQUEST.precision:
        lines += instalment_lines(REQUEST.precision, config["preset"])
    print(*lines, sep="\n", file=sys.stderr)
    failures = failed_throughout(REQUEST, SHOWN)
    if failures:
        raise WorkflowError("\n".join(failures))


onerror:
    lines = [*summary_lines(SHOWN, STARTED), *failed_throughout(REQUEST, SHOWN)]
    print(*lines, sep="\n", file=sys.stderr)
    # Snakemake ends with lines of its own. What caused the failure comes after them.
    for line in reversed(failed_jobs(".", STARTED)):
        atexit.register(print, line, file=sys.stderr)
