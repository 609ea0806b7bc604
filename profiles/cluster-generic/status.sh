#!/bin/sh
# Print the status of a PBS job for Snakemake: success, failed or running.
job=$(qstat -x -f "$1" 2>/dev/null) || { echo running; exit 0; } # the server is busy: ask again
case $job in
*"job_state = F"*"Exit_status = 0"*) echo success ;;
*"job_state = F"*) echo failed ;;
*) echo running ;;
esac
