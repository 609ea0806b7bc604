#!/usr/bin/env bash
# Stop the three daemons that start.sh started, by their process ids, and nothing else.
set -uo pipefail
state=$(cd "${1:?the folder that start.sh was given}" && pwd)
export SLURM_CONF="$state/slurm.conf"

timeout 10 scancel --user "$(id -un)" 2>/dev/null

for daemon in slurmd slurmctld munged; do
    process=$(cat "$state/$daemon.pid" 2>/dev/null) || continue
    # A process id may have been given to another program since.
    [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "$daemon" ] || continue
    kill "$process"
    for _ in $(seq 1 40); do
        [ -d "/proc/$process" ] || continue 2
        sleep 0.25
    done
    kill -KILL "$process"
done
exit 0
