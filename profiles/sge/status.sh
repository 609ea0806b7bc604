#!/bin/sh
# Print the status of a Grid Engine job for Snakemake: success, failed or running.

case $(qstat -j "$1" 2>&1) in
*"do not exist"*) ;; # it has ended, see below
*"error reason"*)    # it cannot start, and would wait forever
    qdel "$1" >/dev/null
    echo failed
    exit ;;
*) echo running; exit ;; # or the server is busy: ask again
esac

# The record of a job is written seconds after its end. Job numbers are reused: the last record
# counts.
how=$(qacct -j "$1" 2>/dev/null | awk '
    $1 == "failed" { failed = $2 }
    $1 == "exit_status" { how = failed == 0 && $2 == 0 ? "success" : "failed" }
    END { print how }')

# A job that was cancelled before it ran gets no record: after two minutes it counts as failed.
waiting=.snakemake/job_$1.has_no_record
if [ -z "$how" ]; then
    [ -e "$waiting" ] || touch "$waiting"
    [ -z "$(find "$waiting" -mmin +1)" ] || how=failed
fi
[ -z "$how" ] || rm -f "$waiting"
echo "${how:-running}"
