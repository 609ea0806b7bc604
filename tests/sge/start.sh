#!/usr/bin/env bash
# Start a one-node Grid Engine of ordinary processes: no systemd, no services of the package.
#
#   tests/sge/start.sh STATE       STATE: an empty folder for the cell, logs and process ids
#   . STATE/env.sh                 then qsub, qstat and snakemake find the cluster
#   tests/sge/stop.sh STATE
set -euo pipefail
state=$(mkdir -p "${1:?a folder for the state of the cluster}" && cd "$1" && pwd)

for program in sge_qmaster sge_execd qsub qacct; do
    if ! command -v "$program" >/dev/null; then
        echo "There is no $program here. On Debian and Ubuntu:" \
            "apt-get install -y --no-install-recommends" \
            "gridengine-master gridengine-exec gridengine-client" >&2
        exit 2
    fi
done

common=$state/default/common
package=/usr/share/gridengine
tools=/usr/lib/gridengine
mkdir -p "$common" "$state"/{spool,master/job_scripts,node}
ln -s "$package/util" "$state/util"
printf 'export %s\n' "SGE_ROOT=$state" SGE_CELL=default \
    "SGE_QMASTER_PORT=${MASTER_PORT:-26444}" "SGE_EXECD_PORT=${NODE_PORT:-26445}" >"$state/env.sh"
. "$state/env.sh"

# However this machine calls itself, the cluster knows it as localhost: names need no resolver.
echo "localhost $(hostname)" >"$common/host_aliases"
echo localhost >"$common/act_qmaster"
sed -e "s|^admin_user .*|admin_user $(id -un)|" \
    -e "s|^spooling_params .*|spooling_params $state/spool|" \
    -e "s|^qmaster_spool_dir .*|qmaster_spool_dir $state/master|" \
    "$package/default-bootstrap" >"$common/bootstrap"

# The package's defaults, but any user may submit, root too, and the accounting that tells how a
# job ended is written after a second (15 by default).
sed -e "s|^execd_spool_dir .*|execd_spool_dir $state/node|" -e 's|^min_\([ug]\)id .*|min_\1id 0|' \
    -e 's|flush_time=[0-9:]*|flush_time=00:00:01|' \
    "$package/default-configuration" >"$state/configuration"
# Memory is handed out like slots; a job whose processes together exceed their request is killed.
cp -r "$package/util/resources/centry" "$state/complexes"
sed -i 's|^consumable .*|consumable YES|' "$state/complexes/h_vmem"
{
    "$tools/spoolinit" berkeleydb libspoolb "$state/spool" init
    "$tools/spooldefaults" configuration "$state/configuration"
    "$tools/spooldefaults" complexes "$state/complexes"
    "$tools/spooldefaults" usersets "$package/util/resources/usersets"
    "$tools/spooldefaults" managers "$(id -un)"
} >"$state/spool.log" 2>&1

until_it_works() {
    for _ in $(seq 1 120); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.25
    done
    echo "Grid Engine did not come up within 30 s: '$*' fails. The ends of its logs:" >&2
    tail -n 5 "$state"/*.log "$state/master/messages" "$state/node/localhost/messages" >&2 || true
    exit 1
}

sge_qmaster </dev/null >"$state/master.log" 2>&1
until_it_works qconf -as localhost
sge_execd </dev/null >"$state/node.log" 2>&1
until_it_works qconf -se localhost

processors=$(env -u OMP_NUM_THREADS nproc)
memory=$(awk '/MemTotal/ {print int($2 / 1024 * 0.9)}' /proc/meminfo)
{
    qconf -mattr exechost complex_values "h_vmem=${memory}M" localhost
    qconf -Ap "$package/util/resources/pe/smp"
    # Start jobs at once, as many as there are processors, however busy the machine.
    qconf -sq | sed -e 's|^qname .*|qname fedmix.q|' -e 's|^hostlist .*|hostlist localhost|' \
        -e "s|^slots .*|slots $processors|" -e 's|^pe_list .*|pe_list smp|' \
        -e 's|^load_thresholds .*|load_thresholds NONE|' >"$state/queue"
    qconf -Aq "$state/queue"
    qconf -ssconf | sed -e 's|^schedule_interval .*|schedule_interval 0:0:2|' \
        -e 's|^\(flush_[a-z]*_sec\) .*|\1 1|' >"$state/scheduler"
    qconf -Msconf "$state/scheduler"
} >"$state/set_up.log" 2>&1
until_it_works qsub -w v -b y -l "h_vmem=${memory}M" true
echo "Grid Engine is up: 1 node, $processors processors, $memory MB, queue fedmix.q"
