# Shared by the scripts of live experiments. Each runs as `bash -c` in networks of its own, with
#
#   P          the program
#   OUT        a folder for its files
#   DATA BACK  the traces of the data's direction and of the way back
#   LENGTH     length of the measurement in seconds
#   STRICT     --strict if a late link is a failure
#
# Everything runs with a higher priority than the machine's other programs where that is allowed: a
# program that waits for a processor adds that wait to the network's delay.
set -u
ahead=; realtime=
if chrt -f 1 true 2> /dev/null; then ahead='chrt -f 1'; realtime=--realtime; fi
export ahead realtime
ip link set lo up || exit 1

# The output of servers has keys in it.
umask 077

# Waits at most 60 s until a file is not empty.
await() {
    for _ in $(seq 600); do test -s "$1" && return; sleep 0.1; done
    echo "$1 is still empty" >&2
    return 1
}
# Prints the key that a server has printed into a file.
key() { sed 's/^key //' "$1"; }
# Runs a command behind the link in both directions, with unlimited queues and a delay of 20 ms each
# way.
around() {
    "$P" delay -q $realtime 20ms -- "$P" link -q $realtime --up "$DATA" --down "$BACK" --buffer inf \
        $STRICT "$@"
}
export -f await key
