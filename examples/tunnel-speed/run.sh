#!/bin/bash
# Throughput of `paceline tunnel`: bulk TCP (Linux' own Cubic) through a tunnel between two network
# namespaces, and directly over the cable. Prints Mbit/s, and the processor seconds per gigabyte of
# both ends.
#
#   sudo examples/tunnel-speed/run.sh [SCHEME] [RUNS] [SECONDS]
#
# PACELINE is the program; SERVER and CLIENT are further options of the two ends; FLOWS is the
# number of TCP connections; FAMILY=6 measures IPv6 inside the tunnel. The cable delays packets by
# .1 ms if the kernel has netem, and MTU is its MTU. Runs in namespaces of its own, which end with
# it.
set -u
scheme=${1:-cubic} runs=${2:-3} seconds=${3:-10}
paceline=$(realpath "${PACELINE:-target/release/paceline}")

if [ "${TUNNEL_SPEED_INSIDE:-}" != yes ]; then
  for needed in ip unshare nsenter awk; do
    command -v "$needed" > /dev/null || { echo "tunnel-speed: $needed is missing" >&2; exit 1; }
  done
  TUNNEL_SPEED_INSIDE=yes PACELINE=$paceline exec unshare --net "$0" "$@"
fi

files=$(mktemp -d)
ip link set lo up
unshare --net sleep 100000 & other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
inside() { nsenter --net --target $other "$@"; }
end() { kill $other ${server:-} ${client:-} ${receiver:-} 2> /dev/null; wait 2> /dev/null; rm -rf "$files"; }
trap end EXIT
trap 'exit 1' INT TERM

ip link add v0 type veth peer name v1 netns $other
ip addr add 192.168.9.1/24 dev v0
inside ip addr add 192.168.9.2/24 dev v1
ip link set v0 mtu "${MTU:-1500}" up
inside ip link set v1 mtu "${MTU:-1500}" up
delay="no netem: without a delay"
tc qdisc add dev v0 root netem delay 50us limit 100000 2> /dev/null &&
  inside tc qdisc add dev v1 root netem delay 50us limit 100000 2> /dev/null && delay=".1 ms of netem"

(umask 077; "$paceline" key new -o "$files/identity" > "$files/key")
"$paceline" tunnel server --listen 192.168.9.1:5312 --address 10.77.0.1/24 --address fd77::1/64 --device outer \
  --mtu "${MTU:-1500}" --key-file "$files/identity" ${SERVER:-} > /dev/null 2> "$files/server.log" & server=$!
nsenter --net --target $other "$paceline" tunnel client 192.168.9.1:5312 --key-file "$files/key" \
  --address 10.77.0.2/24 --address fd77::2/64 --mtu "${MTU:-1500}" --scheme "$scheme" ${CLIENT:-} \
  2> "$files/client.log" & client=$!
for i in $(seq 600); do grep -q ": connected" "$files/server.log" "$files/client.log" && break; sleep 0.1; done
grep -q ": connected" "$files/client.log" || { cat "$files/server.log" "$files/client.log" >&2; exit 1; }

# Prints the processor time of a process so far, user and system, in clock ticks.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2> /dev/null || echo 0; }
# measure NAME BASE: sends TCP from the client's namespace to BASE for $seconds. Prints Mbit/s, and
# the processor seconds per gigabyte of server and client.
measure() {
  PACELINE_BASE=$2 "$paceline" traffic receive --bytes "$files/bytes" & receiver=$!
  for i in $(seq 100); do [ -e "$files/bytes" ] && break; sleep 0.05; done
  local flows=() i
  for i in $(seq "${FLOWS:-1}"); do flows+=(cubic); done
  PACELINE_BASE=$2 inside "$paceline" traffic send "${flows[@]}" --duration $((seconds + 2))s \
    --counts "$files/counts" & local sender=$!
  sleep 1.5
  local bytes=$(cat "$files/bytes") s=$(ticks $server) c=$(ticks $client) t=$(date +%s%N)
  sleep "$seconds"
  local now=$(cat "$files/bytes") s1=$(ticks $server) c1=$(ticks $client) t1=$(date +%s%N)
  wait $sender
  kill $receiver; wait $receiver 2> /dev/null; rm -f "$files/bytes"
  awk -v name="$1" -v bytes=$((now - bytes)) -v ns=$((t1 - t)) -v s=$((s1 - s)) -v c=$((c1 - c)) \
    -v hz="$(getconf CLK_TCK)" 'BEGIN {
      gb = bytes / 1e9; if (gb == 0) gb = 1e-9
      printf "%s\t%.0f\t%.2f\t%.2f\n", name, bytes * 8e3 / ns, s / hz / gb, c / hz / gb }'
}

case ${FAMILY:-4} in 6) to=fd77::1 ;; *) to=10.77.0.1 ;; esac
for run in $(seq "$runs"); do
  measure tunnel $to
  measure direct 192.168.9.1
done > "$files/figures"
echo "scheme $scheme, ${FLOWS:-1} flow(s), $delay, $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg)"
for name in tunnel direct; do
  for column in 2 3 4; do
    what=$(printf '%s' "Mbit/s,server CPU s/GB,client CPU s/GB" | cut -d, -f$((column - 1)))
    [ $name = direct ] && [ $column -gt 2 ] && continue
    awk -v name=$name '$1 == name' "$files/figures" | cut -f$column | sort -g | awk -v name="$name" -v what="$what" '
      { a[NR] = $1 } END { printf "%-7s %-16s min %s median %s max %s\n", name, what, a[1], a[int((NR + 1) / 2)], a[NR] }'
  done
done
