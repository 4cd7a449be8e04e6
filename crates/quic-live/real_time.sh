#!/bin/sh
# Runs quinn through the emulator in real time, one controller after the other: the figures of
# docs/quic.md.
#
#   REALTIME=1 PACELINE=target/release/paceline TRANSFER=target/release/examples/transfer \
#     crates/quic-live/real_time.sh TRACE SECONDS CONTROLLER...
#
# Needs root or user namespaces. REALTIME gives the emulator and both ends priority over other
# programs, for machines with other work (needs root). TRACE is a built-in trace or a Mahimahi file;
# the path is that of the example `controllers`: RTT 100 ms, 250 packets. Prints utilisation and
# one-way delays in ms.
set -eu
first= emulator=
if [ -n "${REALTIME-}" ]; then first='chrt --rr 5' emulator=--realtime; fi
trace=$1 seconds=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case $trace in */*) trace=$(realpath "$trace") ;; esac
cat > "$folder/path.toml" <<END
name = "quinn in real time"
duration = "${seconds}s"
[[link]]
name = "link"
trace = "$trace"
buffer = 250
[[flow]]
scheme = "cubic"
path = ["link"]
rtt = "100ms"
END
printf '%-28s %11s %8s %8s\n' "$(basename "$trace"), $seconds s" utilisation 'mean ms' 'p95 ms'
for controller in "$@"; do
    timeout $((seconds + 20)) unshare --net --mount "$PACELINE" link --quiet $emulator \
        --scenario "$folder/path.toml" --summary "$folder/sum.json" \
        --outside "exec $first '$TRANSFER' receive > /dev/null" \
        -- $first "$TRANSFER" send base "$controller" "$seconds" > "$folder/out" 2> "$folder/err" ||
        { echo "$controller: $(cat "$folder/err")" >&2; continue; }
    python3 - "$folder/sum.json" "$controller" <<'END'
import json, sys
summary = json.load(open(sys.argv[1]))
link = summary["up"]
delay = link["queue_delay_ms"]
late = " late" if summary.get("late") else ""
print(f'{sys.argv[2]:<28} {link["utilization"]:>11.3f} {delay["mean"]+50:>8.1f} {delay["p95"]+50:>8.1f}{late}')
END
done
