#!/bin/bash
# What a small flow's packets wait beside a download by TCP Cubic, directly over a cellular link and through
# `paceline tunnel` over the same link (thesis section 2.4.7). As root:
#
#   tests/tunnel_beside_bulk.sh [UP DOWN [SECONDS [BUFFER [SCHEME]]]]
#
# UP and DOWN are traces, by default the built-in lte-driving both ways; BUFFER is that of the link in
# each direction, by default inf, as deep as the thesis' links. The round-trip time is 40 ms. The small
# flow is 160 bytes of ping every 50 ms. Both cases run one after the other, in networks of their own,
# and the link begins at the same place of its traces. Ends with 1 if the 95th percentile falls by less
# than 90 % (lost packets count as infinitely late).
set -u
up=${1:-lte-driving}; down=${2:-lte-driving}; seconds=${3:-60}; buffer=${4:-inf}; scheme=${5:-sprout}
P=${PACELINE:-$(dirname "$0")/../target/release/paceline}
# Everything runs ahead of the machine's other programs where that is allowed: who waits for a processor
# waits longer than in the network.
ahead=; realtime=
if chrt -f 1 true 2> /dev/null; then ahead='chrt -f 1'; realtime=--realtime; fi
export P seconds scheme ahead realtime
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
export folder

# Inside: download (the thesis' is TCP Cubic, which may not be what this system uses) and ping at the same time. $1 is the other end, $2 the case.
inside() {
    iperf3 -c "$1" -R -C cubic -t $((seconds + 4)) -J > "$folder/$2.bulk" &
    sleep 4
    ping -q -c 1 "$1" > /dev/null
    $ahead ping -n -i 0.05 -s 160 -c $((seconds * 20)) -W 20 "$1" > "$folder/$2.ping"
    wait
}
direct() { inside "$PACELINE_BASE" direct; }
tunnel() {
    $ahead "$P" tunnel client -q "$PACELINE_BASE:5312" --key-file "$folder/key" --scheme "$scheme" \
        --address 10.77.0.2/24 & client=$!
    sleep 2
    inside 10.77.0.1 tunnel
    kill $client; wait $client
}
case_of() {
    ip link set lo up
    if [ "$1" = tunnel ]; then
        $ahead "$P" tunnel server -q --listen 0.0.0.0:5312 --address 10.77.0.1/24 > "$folder/key" &
        server=$!
    fi
    iperf3 -s -1 > /dev/null & iperf=$!
    sleep 1
    timeout $((seconds + 60)) "$P" delay -q $realtime 20ms -- "$P" link -q $realtime --up "$up" --down "$down" \
        --buffer "$buffer" -- bash -c "$1"
    kill $iperf ${server:-} 2> /dev/null
    wait
}
export -f inside direct tunnel case_of
export up down buffer
for name in direct tunnel; do
    timeout $((seconds + 90)) unshare --net --mount bash -c "case_of $name" || exit 1
done

# The q-th quantile of all packets that were sent, in milliseconds.
quantile() {
    sent=$(sed -n 's/^\([0-9]*\) packets transmitted.*/\1/p' "$folder/$1.ping")
    sed -n 's/.*time=\([0-9.]*\).*/\1/p' "$folder/$1.ping" | sort -n |
        awk -v sent="$sent" -v q="$2" '{ t[NR] = $1 } END {
            rank = int(q * sent + 0.999999); print rank <= NR ? t[rank] : "inf" }'
}
received() {
    sed -n 's/.*"bits_per_second":[^0-9]*\([0-9.e+]*\).*/\1/p' "$folder/$1.bulk" | tail -1 |
        awk '{ printf "%.2f", $1 / 1e6 }'
}
lost() { sed -n 's/.* \([0-9.]*%\) packet loss.*/\1/p' "$folder/$1.ping"; }
echo "link $up / $down, buffer $buffer, RTT 40 ms, $seconds s, scheme of the tunnel: $scheme"
echo "case    p50 ms    p95 ms    lost    TCP Mbit/s"
for name in direct tunnel; do
    echo "$name  $(quantile $name 0.5)  $(quantile $name 0.95)  $(lost $name)  $(received $name)"
done
awk -v a="$(quantile direct 0.95)" -v b="$(quantile tunnel 0.95)" 'BEGIN {
    if (b == "inf") { print "too many packets of the small flow were lost"; exit 1 }
    if (a == "inf") { print "direct: more than 5 % were lost, so that there is no 95th percentile"; exit 1 }
    printf "the 95th percentile changes by %.1f %%\n", (b / a - 1) * 100; exit b > 0.1 * a }'
