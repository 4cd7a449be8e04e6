# What the scripts of live experiments share. Each runs as `bash -c` in networks of its own, with
#
#   P          the program
#   OUT        a folder for its files
#   DATA BACK  the traces of the link that data takes and of the way back
#   LENGTH     how long to measure, in seconds
#   STRICT     --strict if a link that was late is a failure
#
# Everything runs ahead of the machine's other programs where that is allowed: who waits for a processor
# waits longer than in the network.
set -u
ahead=; realtime=
if chrt -f 1 true 2> /dev/null; then ahead='chrt -f 1'; realtime=--realtime; fi
export ahead realtime
ip link set lo up || exit 1

# What servers print holds keys.
umask 077

# Waits until a file has something in it, 60 s at most.
await() {
    for _ in $(seq 600); do test -s "$1" && return; sleep 0.1; done
    echo "$1 is still empty" >&2
    return 1
}
# The key that a server has printed into a file.
key() { sed 's/^key //' "$1"; }
# The link in both directions, queues without a limit, and a delay of 20 ms each way around a command.
around() {
    "$P" delay -q $realtime 20ms -- "$P" link -q $realtime --up "$DATA" --down "$BACK" --buffer inf \
        $STRICT "$@"
}
export -f await key
