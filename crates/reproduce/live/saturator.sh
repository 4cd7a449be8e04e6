# The Saturator on both sides of the link, with a separate cable for feedback (thesis section
# 2.3.1). RULE is empty, or --thesis. Leaves result.json: `paceline saturate client --json`.
$ahead "$P" saturate server --listen 0.0.0.0:5313 --once > "$OUT/key" 2> "$OUT/server" &
await "$OUT/key" || exit 1
inside() {
    echo $$ > "$OUT/pid"
    for _ in $(seq 600); do ip link show v1 > /dev/null 2>&1 && break; sleep 0.1; done
    ip addr add 192.168.9.2/24 dev v1 && ip link set v1 up && ip route add default dev v1 metric 900 || exit 1
    sleep 0.5
    $ahead "$P" saturate client "$PACELINE_BASE:5313" --key "$(key "$OUT/key")" --link ingress --feedback v1 \
        --duration "${LENGTH}s" $RULE -o "$OUT/trace" --json > "$OUT/result.json"
}
export -f inside
around -- bash -c inside & all=$!
await "$OUT/pid" || exit 1
ip link add v0 type veth peer name v1 netns "$(cat "$OUT/pid")" || exit 1
ip addr add 192.168.9.1/24 dev v0; ip link set v0 up
wait $all
