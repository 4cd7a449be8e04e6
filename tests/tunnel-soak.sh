#!/bin/bash
# Client and server of a tunnel carry bulk TCP in both directions at full rate, in two network
# namespaces, while the memory of both is sampled every 10 s.
# usage: tunnel-soak.sh PROGRAM [MINUTES [SCHEME [FOLDER]]]; as root; needs ip, unshare, nsenter, awk.
# Prints the resident memory after 1, 5, 15, 30 and 60 minutes, and a verdict. FOLDER keeps the samples (samples.tsv).
#
# Stated before the first run: after the fifth minute the resident memory of each end grows by less than 2 MB (2,000,000
# bytes), comparing the largest of the samples of the fifth minute with the largest of the last minute.
set -euo pipefail

program=$(realpath "$1") minutes=${2:-60} scheme=${3:-cubic} folder=${4:-}
[ "$minutes" -gt 5 ] || { echo "tunnel-soak: MINUTES must be above 5: the verdict compares with the fifth minute" >&2; exit 2; }
if [ -z "${TUNNEL_SOAK_INSIDE:-}" ]; then
  for needed in ip unshare nsenter awk; do
    command -v "$needed" > /dev/null || { echo "tunnel-soak: $needed is missing" >&2; exit 2; }
  done
  folder=${folder:-$(mktemp -d "${TMPDIR:-/tmp}/paceline-soak.XXXXXX")}
  mkdir -p "$folder"
  # Low priority, so that it uses only the processor time that other programs leave.
  TUNNEL_SOAK_INSIDE=1 exec nice -n 19 unshare --net "$0" "$program" "$minutes" "$scheme" "$folder"
fi

cd "$folder"
rm -f server.key client.key server.log client.log samples.tsv up down
ip link set lo up
unshare --net sleep 100000 & other=$!
started="$other"
# Ends only the processes that this script started; the namespaces end with the last process in
# them.
end() { kill $started 2> /dev/null || true; wait 2> /dev/null || true; rm -f server.key client.key; }
trap end EXIT
trap 'exit 1' INT TERM
until [ "$(readlink "/proc/$other/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
inside() { nsenter --net --target "$other" "$@"; }

ip link add v0 type veth peer name v1 netns "$other"
ip addr add 192.168.9.1/24 dev v0
ip link set v0 up
inside ip addr add 192.168.9.2/24 dev v1
inside ip link set v1 up
inside ip link set lo up

(umask 077; "$program" key new -o server.key > client.key)
"$program" tunnel server --listen 192.168.9.1:5312 --address 10.77.0.1/24 --device outer --key-file server.key \
  > /dev/null 2> server.log & server=$!
started="$server $started"
nsenter --net --target "$other" "$program" tunnel client 192.168.9.1:5312 --key-file client.key --address 10.77.0.2/24 \
  --scheme "$scheme" 2> client.log & client=$!
started="$client $started"
for _ in $(seq 600); do grep -q ': connected' client.log && break; sleep 0.1; done
grep -q ': connected' client.log || { cat server.log client.log >&2; exit 1; }

# One flow in each direction, with the system's buffers.
seconds=$((minutes * 60))
PACELINE_BASE=10.77.0.1 "$program" traffic receive --bytes up & started="$! $started"
PACELINE_BASE=10.77.0.2 nsenter --net --target "$other" "$program" traffic receive --bytes down & started="$! $started"
for _ in $(seq 100); do [ -e up ] && [ -e down ] && break; sleep 0.1; done
PACELINE_BASE=10.77.0.1 nsenter --net --target "$other" \
  "$program" traffic send cubic --system-buffers --duration "$((seconds + 30))s" --counts up.json 2> /dev/null &
started="$! $started"
PACELINE_BASE=10.77.0.2 \
  "$program" traffic send cubic --system-buffers --duration "$((seconds + 30))s" --counts down.json 2> /dev/null &
started="$! $started"

# Prints the resident memory of a process in bytes; fails if the process has ended.
resident() { awk '$1 == "VmRSS:" { print $2 * 1024; found = 1 } END { exit !found }' "/proc/$1/status"; }
begin=$SECONDS
while [ $((SECONDS - begin)) -lt $seconds ]; do
  sleep 10
  if ! s=$(resident $server) || ! c=$(resident $client); then
    echo "tunnel-soak: an end of the tunnel has ended after $((SECONDS - begin)) s:" >&2
    cat server.log client.log >&2
    exit 1
  fi
  printf '%s\t%s\t%s\t%s\t%s\n' $((SECONDS - begin)) "$s" "$c" "$(cat up)" "$(cat down)" >> samples.tsv
done

awk -v minutes="$minutes" -v scheme="$scheme" '
  function mb(bytes) { return sprintf("%.1f", bytes / 1e6) }
  function gb(bytes) { return sprintf("%.1f", bytes / 1e9) }
  # Largest memory in each minute; a minute is numbered by its end.
  { minute = int(($1 + 59) / 60); if (minute > minutes) minute = minutes
    if ($2 > server[minute]) server[minute] = $2
    if ($3 > client[minute]) client[minute] = $3
    up[minute] = $4; down[minute] = $5 }
  END {
    printf "scheme %s, %d minutes; %.0f Mbit/s up, %.0f Mbit/s down on average\n", scheme, minutes,
      up[minutes] * 8 / 6e7 / minutes, down[minutes] * 8 / 6e7 / minutes
    print "| minute | server, MB | client, MB | carried up, GB | down, GB |"
    print "| --- | --- | --- | --- | --- |"
    count = split("1 5 15 30 60 " minutes, at, " ")
    for (i = 1; i <= count; i++) {
      m = at[i]
      if (m > minutes || m in shown) continue
      shown[m] = 1
      printf "| %d | %s | %s | %s | %s |\n", m, mb(server[m]), mb(client[m]), gb(up[m]), gb(down[m])
    }
    s = server[minutes] - server[5]; c = client[minutes] - client[5]
    carried = (up[minutes] > up[minutes - 1]) && (down[minutes] > down[minutes - 1])
    ok = carried && (s < 2e6) && (c < 2e6)
    printf "%s: growth since the fifth minute: server %s MB, client %s MB (below 2 MB was stated)%s\n",
      ok ? "HOLDS" : "FAILS", mb(s), mb(c), carried ? "" : "; nothing was carried in the last minute"
    exit !ok
  }' samples.tsv
