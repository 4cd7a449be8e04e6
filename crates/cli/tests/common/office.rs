//! Functions of scripts with a tunnel's server and several clients, each in its own network.

/// Functions of the scripts. The script's own network is the server's; `office 3` makes three more, `at 1` to `at 3`,
/// each with an interface `e0` to the server (192.168.9.1, fd09::1).
pub(crate) const FUNCTIONS: &str = r#"
apart() { until [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done; }
at() { local n=$1; shift; nsenter --net --target ${K[n]} "$@"; }
office() {
    ip link set lo up
    ip link add office type bridge
    ip addr add 192.168.9.1/24 dev office; ip addr add fd09::1/64 dev office nodad; ip link set office up
    for n in $(seq $1); do
        unshare --net sleep 1000 & K[n]=$!
        apart ${K[n]}
        ip link add v$n type veth peer name e0 netns ${K[n]}
        ip link set v$n master office up
        at $n ip link set lo up; at $n ip link set e0 up
        at $n ip addr add 192.168.9.$((n + 1))/24 dev e0
        at $n ip addr add fd09::$((n + 1))/64 dev e0 nodad
    done
}
# Waits until a file has a line.
told() { for i in $(seq 1200); do grep -q -e "$2" $TMPDIR/$1 2> /dev/null && return; sleep 0.1; done; echo "not told: $2"; }
# A server with these options; returns when it listens.
serve() {
    test -e $TMPDIR/server.key || (umask 077; "$P" key new -o $TMPDIR/server.key > $TMPDIR/shared.key)
    local before=$(grep -c "^listening at" $TMPDIR/server 2> /dev/null)
    "$P" tunnel server --listen "[::]:5312" --address 10.77.0.1/24 --address fd77::1/64 --device outer \
        --key-file $TMPDIR/server.key "$@" > $TMPDIR/printed 2>> $TMPDIR/server & S=$!
    for i in $(seq 1200); do
        test "$(grep -c "^listening at" $TMPDIR/server)" -gt ${before:-0} && return; sleep 0.1
    done
    echo "the server does not listen"
}
# A client of a network, with these options.
client() {
    local n=$1; shift
    nsenter --net --target ${K[n]} "$P" tunnel client "${TO:-192.168.9.1:5312}" --scheme cubic "$@" \
        2>> $TMPDIR/client$n & C[n]=$!
}
# Waits until a ping passes from a network to an address.
passes() {
    local n=$1; shift
    for i in $(seq 120); do at $n ping -n -q -c 1 -W 1 "$@" > /dev/null 2>&1 && return; sleep 0.1; done
    echo "nothing passes from $n to $*"; false
}
# Echo requests that a network has received over IPv4 since it was made.
echoes() { at $1 awk '$1 == "Icmp:" { split($0, row); for (i in row) if (name[i] == "InEchos") print row[i]; split($0, name) }' /proc/net/snmp; }
stop() { for n in ${!C[@]}; do kill ${C[n]} 2> /dev/null; wait ${C[n]} 2> /dev/null; done; kill $S; wait $S; echo "server $?"; }
end() {
    for file in $TMPDIR/server $TMPDIR/client*; do echo "== $file"; cat $file; done >&2
    rm -f $TMPDIR/*
    for n in ${!K[@]}; do kill ${K[n]}; wait ${K[n]} 2> /dev/null; ip link del v$n 2> /dev/null; done
    ip link del office; ip link set lo down
}
"#;

/// Functions of scripts whose clients have their own keys.
pub(crate) const KEYS: &str = r#"
# Keys of these clients and a list of them; the server need not run.
keys() {
    (umask 077; "$P" key new -o $TMPDIR/server.key > $TMPDIR/shared.key)
    for name in "$@"; do add $name --server-address 10.77.0.1/24 --server-address fd77::1/64; done
}
add() {
    local name=$1; shift
    "$P" tunnel clients add $name --key-file $TMPDIR/server.key --clients $TMPDIR/clients -o $TMPDIR/$name.key "$@" \
        >> $TMPDIR/added 2>> $TMPDIR/notes
}
status() { "$P" tunnel status outer --json; }
"#;
