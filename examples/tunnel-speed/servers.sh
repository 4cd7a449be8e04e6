#!/bin/bash
# Gain of several event loops at the server of a tunnel. Bulk TCP runs between two clients and (a)
# one server with one loop, (b) one server with two loops, each with one client, and (c) two
# servers, each with its own device. Two servers share nothing, so they are the upper limit for two
# loops. Prints Mbit/s of both clients together, and the share of a processor that the servers use.
#
#   sudo examples/tunnel-speed/servers.sh [RUNS] [SECONDS]
#
# PACELINE is the program, AHEAD a command that runs it, such as "chrt -f 3". Runs in namespaces of
# its own, which end with it.
set -u
runs=${1:-3} seconds=${2:-5} ahead=${AHEAD:-}
paceline=$(realpath "${PACELINE:-target/release/paceline}")

if [ "${TUNNEL_SERVERS_INSIDE:-}" != yes ]; then
  for needed in ip unshare nsenter awk ping; do
    command -v "$needed" > /dev/null || { echo "tunnel-speed: $needed is missing" >&2; exit 1; }
  done
  TUNNEL_SERVERS_INSIDE=yes PACELINE=$paceline exec unshare --net "$0" "$@"
fi

files=$(mktemp -d)
cd "$files" || exit 1
networks="" tunnels="" traffic=""
end() { kill $traffic $tunnels $networks 2> /dev/null; wait 2> /dev/null; rm -rf "$files"; }
trap end EXIT
trap 'exit 1' INT TERM
ip link set lo up
for n in 1 2; do
  unshare --net sleep 100000 & client[n]=$!
  networks="$networks $!"
  until [ "$(readlink "/proc/${client[n]}/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
  ip link add v$n type veth peer name w$n netns "${client[n]}"
  ip addr add 192.168.$n.1/24 dev v$n
  ip link set v$n up
  nsenter --net --target "${client[n]}" ip addr add 192.168.$n.2/24 dev w$n
  nsenter --net --target "${client[n]}" ip link set w$n up
done
(umask 077; "$paceline" key new -o identity > key)

# client N: starts client N in place of the previous one.
client() {
  [ -z "${process[$1]:-}" ] || { kill "${process[$1]}"; wait "${process[$1]}" 2> /dev/null; }
  nsenter --net --target "${client[$1]}" $ahead "$paceline" tunnel client "192.168.$1.1:${port[$1]}" --key-file key \
    --address "${own[$1]}/24" --scheme cubic 2> "client$1" & process[$1]=$!
  tunnels="$tunnels $!"
  local _
  for _ in $(seq 60); do
    nsenter --net --target "${client[$1]}" ping -q -c 1 -W 1 "${base[$1]}" > /dev/null 2>&1 && return
    sleep 0.1
  done
  cat server* client* >&2
  exit 1
}
# loop_of N: prints the event loop that has the connection of client N.
loop_of() {
  "$paceline" tunnel status outer1 --json | awk -v from="192.168.$1.2" '/"event_loop"/ { number = $2 + 0 }
    /"remote"/ && index($2, from) { print number }'
}

# up SERVERS LOOPS: starts one or two servers, and both clients; with two loops or servers, one
# client at each.
up() {
  tunnels="" servers="" process=() base=(- 10.77.0.1 10.77.0.1) own=(- 10.77.0.2 10.77.0.3) port=(- 5312 5312)
  [ "$1" = 2 ] && base[2]=10.78.0.1 own[2]=10.78.0.2 port[2]=5313
  for n in $(seq "$1"); do
    $ahead "$paceline" tunnel server --listen 0.0.0.0:${port[n]} --address ${base[n]}/24 --device outer$n --loops "$2" \
      --key-file identity > /dev/null 2> server$n &
    tunnels="$tunnels $!" servers="$servers $!"
  done
  client 1
  client 2
  # The kernel chooses the loop by the client's port.
  for _ in $(seq 60); do
    case "$2 $(loop_of 1) $(loop_of 2)" in 1*|"2 0 1"|"2 1 0") return ;; esac
    client 2
  done
  echo "tunnel-speed: both clients stay at one loop" >&2
  exit 1
}

# Prints the processor time of the servers so far, in clock ticks.
ticks() { local pid; for pid in $servers; do awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$pid/stat"; done | awk '{ s += $1 } END { printf "%.0f\n", s }'; }
carried() { awk '{ s += $1 } END { printf "%.0f\n", s }' bytes1 bytes2; }

# measure SERVERS LOOPS up|down
measure() {
  traffic="" receivers="1 2"
  rm -f bytes1 bytes2
  if [ "$3" = up ]; then
    # Both clients of a single server send to one address.
    [ "$1" = 1 ] && receivers=1 && echo 0 > bytes2
    for n in $receivers; do
      PACELINE_BASE=${base[n]} $ahead "$paceline" traffic receive --bytes bytes$n & traffic="$traffic $!"
    done
  else
    for n in 1 2; do
      PACELINE_BASE=${own[n]} nsenter --net --target "${client[n]}" $ahead "$paceline" traffic receive --bytes bytes$n &
      traffic="$traffic $!"
    done
  fi
  for _ in $(seq 100); do [ -e bytes1 ] && [ -e bytes2 ] && break; sleep 0.05; done
  for n in 1 2; do
    if [ "$3" = up ]; then
      PACELINE_BASE=${base[n]} nsenter --net --target "${client[n]}" \
        $ahead "$paceline" traffic send cubic --duration $((seconds + 4))s --counts counts$n 2> /dev/null &
    else
      PACELINE_BASE=${own[n]} $ahead "$paceline" traffic send cubic --duration $((seconds + 4))s --counts counts$n \
        2> /dev/null &
    fi
    traffic="$traffic $!"
  done
  sleep 2
  local bytes used start
  bytes=$(carried) used=$(ticks) start=$(date +%s%N)
  sleep "$seconds"
  awk -v servers="$1" -v loops="$2" -v way="$3" -v bytes=$(($(carried) - bytes)) -v used=$(($(ticks) - used)) \
    -v ns=$(($(date +%s%N) - start)) -v hz="$(getconf CLK_TCK)" 'BEGIN {
      printf "%d server(s), %d loop(s), %-4s %.0f Mbit/s, %.2f of a processor\n", servers, loops, way, bytes * 8e3 / ns, used / hz / ns * 1e9 }'
  kill $traffic 2> /dev/null
  wait $traffic 2> /dev/null
}

for _ in $(seq "$runs"); do
  for kind in "1 1" "1 2" "2 1"; do
    up $kind
    measure $kind up
    measure $kind down
    kill $tunnels 2> /dev/null
    wait $tunnels 2> /dev/null
  done
done
