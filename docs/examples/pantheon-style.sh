#!/bin/sh
# A test of one flow as scripts for Mahimahi have it, Pantheon's among them: nested shells around a
# sender, commands written to the innermost shell, logs of the link, plots. Nothing in it is about
# Paceline. To have it run with Paceline:
#
#   paceline mahimahi install bin && PATH=$PWD/bin:$PATH sh pantheon-style.sh up down results CMD
#
# CMD is run inside, once for each run; $MAHIMAHI_BASE is the address of the outside.
set -eu
if [ $# -ne 4 ]; then
    echo "usage: $0 UPLINK-TRACE DOWNLINK-TRACE RESULTS-FOLDER COMMAND" >&2
    exit 2
fi
uplink=$1 downlink=$2 results=$3 command=$4
runs=${RUNS:-1} delay=${DELAY:-20} packets=${PACKETS:-100}
mkdir -p "$results"

run=1
while [ "$run" -le "$runs" ]; do
    log=$results/run$run
    # The commands reach the innermost shell by its standard input.
    printf '%s\n' "$command" | mm-delay "$delay" mm-loss uplink 0 \
        mm-link "$uplink" "$downlink" \
        --uplink-log="$log.uplink.log" --downlink-log="$log.downlink.log" \
        --uplink-queue=droptail --uplink-queue-args="packets=$packets" \
        --downlink-queue=droptail --downlink-queue-args="packets=$packets" \
        -- sh > "$log.out"
    mm-throughput-graph 500 "$log.uplink.log" > "$log.throughput.svg" 2> "$log.stats"
    mm-delay-graph "$log.uplink.log" > "$log.delay.svg" 2>> "$log.stats"
    run=$((run + 1))
done
cat "$results"/run*.stats
