# Sprout over UDP; each packet is lost with probability LOSS, in each direction (thesis section
# 2.4.6). Leaves run.json: `paceline send --json`.
$ahead "$P" recv --listen 0.0.0.0:5311 -o /dev/null --timeout 30s > "$OUT/key" 2> "$OUT/said" &
await "$OUT/key" || exit 1
send() {
    $ahead "$P" send -q "$PACELINE_BASE:5311" --key "$(key "$OUT/key")" --scheme sprout --duration "${LENGTH}s" \
        --timeout 30s --json > "$OUT/run.json"
}
export -f send around
"$P" loss -q $realtime up "$LOSS" -- "$P" loss -q $realtime down "$LOSS" -- bash -c 'around -- bash -c send'
