#!/usr/bin/env bash
# Start a one-node SLURM cluster of ordinary processes: no systemd, no cgroups, no database.
#
#   tests/slurm/start.sh STATE     STATE: an empty folder for keys, logs and process ids
#   . STATE/env.sh                 then sbatch, squeue and snakemake find the cluster
#   tests/slurm/stop.sh STATE
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=$(mkdir -p "${1:?a folder for the state of the cluster}" && cd "$1" && pwd)

for program in munged slurmctld slurmd sbatch srun; do
    if ! command -v "$program" >/dev/null; then
        echo "There is no $program here. On Debian and Ubuntu:" \
            "apt-get install -y --no-install-recommends slurm-wlm munge" >&2
        exit 2
    fi
done

mkdir -p "$state"/{munge,control,node,bin}
chmod 755 "$state" "$state/munge"
(umask 077 && head -c 128 /dev/urandom >"$state/munge/munge.key")

memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
sed -e "s|@STATE@|$state|g" -e "s|@USER@|$(id -un)|g" -e "s|@HOST@|$(hostname -s)|g" \
    -e "s|@CPUS@|$(env -u OMP_NUM_THREADS nproc)|g" -e "s|@MEMORY@|$memory|g" \
    -e "s|@CONTROL_PORT@|${CONTROL_PORT:-26817}|g" -e "s|@NODE_PORT@|${NODE_PORT:-26818}|g" \
    "$here/slurm.conf.in" >"$state/slurm.conf"
export SLURM_CONF="$state/slurm.conf"

# Snakemake's job step drops SLURM_CONF from the environment before it calls srun, which then finds
# no cluster unless its configuration lies in /etc/slurm. This wrapper puts it back.
printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v srun)" >"$state/bin/srun"
chmod 755 "$state/bin/srun"
printf 'export SLURM_CONF=%s\nexport PATH=%s:$PATH\n' "$SLURM_CONF" "$state/bin" >"$state/env.sh"

munged --num-threads=2 --key-file="$state/munge/munge.key" --socket="$state/munge/munge.socket" \
    --pid-file="$state/munged.pid" --log-file="$state/munge/munged.log" \
    --seed-file="$state/munge/munge.seed"
slurmctld </dev/null >"$state/slurmctld.out" 2>&1
slurmd -N localhost </dev/null >"$state/slurmd.out" 2>&1

for _ in $(seq 1 120); do
    if [ "$(sinfo -h -N -n localhost -o %t 2>/dev/null)" = idle ]; then
        echo "SLURM is up: $(sinfo -h -o '%D node, %c processors, %m MB, partition %P')"
        exit 0
    fi
    sleep 0.25
done
echo "SLURM did not come up within 30 s. The ends of its logs:" >&2
tail -n 5 "$state"/*.log "$state"/munge/*.log >&2 || true
exit 1
