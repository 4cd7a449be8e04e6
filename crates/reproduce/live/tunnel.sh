# A call and a small flow beside a download by TCP Cubic: directly over the link, or, with CASE=tunnel, through
# `paceline tunnel` (thesis section 2.4.7). Senders are inside of the emulation. Leaves
#
#   call.json                the call: `paceline send --scheme gcc` with video
#   ping                     round trips of 160 bytes, one every 50 ms
#   bytes.before bytes.after bytes at the download's receiver at the measurement's begin and end
inside() {
    base=$PACELINE_BASE
    if [ "$CASE" = tunnel ]; then
        $ahead "$P" tunnel client -q "$base:5312" --key-file "$OUT/tunnel.key" --scheme sprout \
            --address 10.77.0.2/24 & client=$!
        sleep 2
        base=10.77.0.1
    fi
    # System buffers: with larger ones the queue would grow beyond a user's.
    PACELINE_BASE=$base "$P" traffic send cubic --system-buffers --duration $((LENGTH + 8))s \
        --counts "$OUT/counts" & bulk=$!
    # Waits until the download has left slow start and the call's handshake is over.
    sleep 4
    ping -q -c 1 -W 20 "$base" > /dev/null
    cat "$OUT/bytes" > "$OUT/bytes.before"
    $ahead "$P" send -q "$base:5311" --key "$(key "$OUT/key")" --scheme gcc --duration "${LENGTH}s" \
        --workload 'video = {}' --mtu 1400 --timeout 60s --json > "$OUT/call.json" & call=$!
    $ahead ping -n -i 0.05 -s 160 -c $((LENGTH * 20)) -W 20 "$base" > "$OUT/ping" & ping=$!
    sleep "$LENGTH"
    cat "$OUT/bytes" > "$OUT/bytes.after"
    # Killing the receiver ends the download at once; data in the sender's buffers is not sent any
    # more.
    kill "$(cat "$OUT/receiver")" $bulk
    wait $call || { echo "the call has failed" >&2; exit 1; }
    wait $ping
    [ "$CASE" != tunnel ] || kill $client
    wait
}
export -f inside
if [ "$CASE" = tunnel ]; then
    $ahead "$P" tunnel server --listen 0.0.0.0:5312 --address 10.77.0.1/24 > "$OUT/tunnel.key" 2> "$OUT/tunnel.said" &
    await "$OUT/tunnel.key" || exit 1
fi
PACELINE_BASE=0.0.0.0 "$P" traffic receive --bytes "$OUT/bytes" &
echo $! > "$OUT/receiver"
$ahead "$P" recv --listen 0.0.0.0:5311 -o /dev/null --timeout 60s > "$OUT/key" 2> "$OUT/said" &
await "$OUT/key" || exit 1
around -- bash -c inside
