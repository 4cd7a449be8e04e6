#!/bin/bash
# A web page and a bulk download over an LTE trace, with Cubic and with ABC. Prints for each scheme
# the page-load times in milliseconds and the link's figures.
#
#   sudo examples/page-load/run.sh [TRACE] [PAGE LOADS]
#
# PACELINE is the program. Runs in a network namespace of its own. Loads `abc` into the kernel while
# it runs, unless it is loaded already. Needs chromium, curl and python3.
set -u
trace=${1:-lte-driving} loads=${2:-5}
paceline=$(realpath "${PACELINE:-target/release/paceline}")
here=$(dirname "$(realpath "$0")")
port=8080

if [ "${PAGE_LOAD_INSIDE:-}" != yes ]; then
  for needed in curl python3 unshare; do
    command -v "$needed" > /dev/null || { echo "page-load: $needed is missing" >&2; exit 1; }
  done
  command -v chromium chromium-browser google-chrome | grep -q . ||
    { echo "page-load: no Chromium: apt-get install chromium" >&2; exit 1; }
  loaded=
  if ! [ -e /sys/fs/bpf/paceline/abc/link ]; then
    "$paceline" kernel load abc || exit 1
    loaded=yes
  fi
  PAGE_LOAD_INSIDE=yes PACELINE=$paceline unshare --net "$0" "$trace" "$loads"
  status=$?
  [ -z "$loaded" ] || "$paceline" kernel unload abc
  exit $status
fi

ip link set lo up
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for scheme in cubic abc; do
  queue=droptail
  accelerate=true
  if [ "$scheme" = abc ]; then
    queue=abc
    # Packets that leave for the emulation leave as accelerates.
    accelerate="$paceline kernel accelerate \$(ip -o link | sed -n 's/^[0-9]*: \\(delay-[0-9]*\\)[:@].*/\\1/p')"
  fi
  "$paceline" delay 50ms --quiet --realtime \
    --outside "$accelerate; exec python3 '$here/server.py' \"\$PACELINE_BASE\" $port $scheme" -- \
    bash -c '"$0" link --quiet --realtime --up 50Mbps --down "$1" --down-queue "$2" --json "$3" -- \
      "$4" "$5" "$PACELINE_BASE:$6" "$7" "$8"' \
    "$paceline" "$trace" "$queue" "$results/$scheme.json" \
    "$here/client.sh" "$scheme" "$port" "$loads" "$results/$scheme.loads"
  python3 - "$scheme" "$results/$scheme.json" "$results/$scheme.loads" <<'END'
import json, statistics, sys
scheme, summary, loads = sys.argv[1:]
link = json.load(open(summary))["down"]
try:
    times = [int(line) for line in open(loads)]
except OSError:
    times = []
shown = " ".join(map(str, times)) or "none came to its end"
median = f"{statistics.median(times):.0f}" if times else "-"
print(f"{scheme}: page loads {shown} ms, median {median} ms; the link was used to "
      f"{link['utilization']:.3f}, queueing delay mean {link['queue_delay_ms']['mean']:.0f} ms, "
      f"p95 {link['queue_delay_ms']['p95']:.0f} ms")
END
done
if [ "$(ls /sys/fs/bpf/paceline/abc 2>/dev/null)" ]; then
  "$paceline" kernel stats abc --json | python3 -c 'import json, sys
counted = json.load(sys.stdin)
print("abc: sockets", counted["sockets"], "fallbacks", counted["fallbacks"])'
fi
