#!/usr/bin/env bash
# Stop the two daemons that start.sh started, by their process ids, and nothing else.
set -uo pipefail
state=$(cd "${1:?the folder that start.sh was given}" && pwd)
[ -e "$state/env.sh" ] || exit 0 # start.sh did not get that far
. "$state/env.sh"

timeout 10 qdel -u "$(id -un)" >/dev/null 2>&1

for daemon in sge_execd:node/localhost/execd.pid sge_qmaster:master/qmaster.pid; do
    process=$(cat "$state/${daemon#*:}" 2>/dev/null) || continue
    # A process id may have been given to another program since.
    [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "${daemon%:*}" ] || continue
    kill "$process"
    for _ in $(seq 1 60); do
        [ -d "/proc/$process" ] || continue 2
        sleep 0.25
    done
    kill -KILL "$process"
done
exit 0
