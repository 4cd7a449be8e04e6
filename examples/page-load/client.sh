#!/bin/bash
# Runs inside the emulation: loads the page with headless Chromium beside a bulk download, each time
# with an empty cache, and prints a line per load. Arguments: scheme, address and port, page loads,
# file for results.
set -u
scheme=$1 server=$2 loads=$3 results=$4
# The server sends. ABC is needed at both ends; Cubic needs nothing at the receiver.
[ "$scheme" = cubic ] || echo "$scheme" > /proc/sys/net/ipv4/tcp_congestion_control || exit 1
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
work=$(mktemp -d)
trap 'kill "$bulk" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  curl -s -o /dev/null --max-time 5 "http://$server/svg/0.svg" && break
  sleep 0.1
done
curl -s -o /dev/null --max-time 600 "http://$server/bulk" &
bulk=$!
# The download fills the link before the first page load.
sleep 5
for n in $(seq "$loads"); do
  timeout 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --disable-extensions \
    --disable-background-networking --disable-component-update --no-first-run \
    --user-data-dir="$work/profile$n" --dump-dom "http://$server/" 2>/dev/null |
    grep -o 'load_ms=[0-9][0-9]*' | cut -d= -f2 >> "$results"
  sleep 1
done
