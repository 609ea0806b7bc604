# Checks at the start of a run, and its summary at the end.

import time

from fedmix.pipeline.precision import instalment_lines
from fedmix.pipeline.status import failed_throughout, summary_lines
from fedmix.storage import require_writable

STARTED = time.time()


onstart:
    try:
        require_writable("results")
    except FedmixError as error:
        raise WorkflowError(str(error)) from None


onsuccess:
    print(*summary_lines(SHOWN, STARTED), sep="\n", file=sys.stderr)
    if REQUEST.precision:
        print(*instalment_lines(REQUEST.precision, config["preset"]), sep="\n", file=sys.stderr)
    failures = failed_throughout(REQUEST, SHOWN)
    if failures:
        raise WorkflowError("\n".join(failures))


onerror:
    lines = [*summary_lines(SHOWN, STARTED), *failed_throughout(REQUEST, SHOWN)]
    print(*lines, sep="\n", file=sys.stderr)
