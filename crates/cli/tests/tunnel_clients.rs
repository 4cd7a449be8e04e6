//! `paceline tunnel server` and several clients, each in a network of its own: who may use which addresses inside.

#[allow(dead_code, reason = "only its folders are used here")]
mod common;
#[path = "common/alone.rs"]
mod network;

use network::{alone, lines, text};

/// Functions of the scripts. The script's own network is the server's; `office 3` makes three more, `at 1` to `at 3`,
/// each with an interface `e0` to the server (192.168.9.1, fd09::1).
const FUNCTIONS: &str = r#"
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

/// What a script has printed, and what went to standard error; `None` if it cannot run here.
fn run(test: &str, script: &str) -> Option<(Vec<String>, String)> {
    let output =
        alone(test, &["ping", "ip", "nsenter", "unshare"], &format!("{FUNCTIONS}{script}"))?;
    Some((lines(&output), text(&output.stderr)))
}

/// Finding A5 of the outside review: one packet with the source address of another client drew that client's traffic
/// to its sender.
#[test]
fn with_a_shared_key_the_address_of_a_connected_client_is_not_taken() {
    let script = r#"office 2; serve
        client 1 --key-file $TMPDIR/shared.key --address 10.77.0.2/24 --address fd77::2/64
        passes 1 10.77.0.1; passes 1 fd77::1
        client 2 --key-file $TMPDIR/shared.key --address 10.77.0.3/24 --address fd77::3/64
        passes 2 10.77.0.1
        at 2 ip addr add 10.77.0.2/32 dev paceline0; at 2 ip addr add fd77::2/128 dev paceline0 nodad
        at 2 ping -n -q -c 3 -i 0.2 -W 1 -I 10.77.0.2 10.77.0.1 | grep -o "3 packets transmitted, 0 received"
        at 2 ping -n -q -c 3 -i 0.2 -W 1 -I fd77::2 fd77::1 | grep -o "3 packets transmitted, 0 received"
        told server "warning: .*192.168.9.3.*: dropped packets from 10.77.0.2, which belongs to .*192.168.9.2"
        # The true client, which has been silent inside, still gets its packets.
        ping -n -q -c 5 -i 0.2 -W 5 10.77.0.2 | grep -o " 0% packet loss"
        ping -n -q -c 5 -i 0.2 -W 5 fd77::2 | grep -o " 0% packet loss"
        echo "client 2 got $(echoes 2) echo requests"
        # When it has gone, another one may use its address.
        kill ${C[1]}; wait ${C[1]}; told server "192.168.9.2.*ended: closed"
        passes 2 -I 10.77.0.2 10.77.0.1 && echo free
        stop; grep -c "from addresses of others" $TMPDIR/server; end"#;
    let test = "with_a_shared_key_the_address_of_a_connected_client_is_not_taken";
    let Some((seen, err)) = run(test, script) else { return };
    let nothing = "3 packets transmitted, 0 received";
    let expected = [
        nothing,
        nothing,
        " 0% packet loss",
        " 0% packet loss",
        "client 2 got 0 echo requests",
        "free",
        "server 0",
        "1",
    ];
    assert_eq!(seen, expected, "{err}");
    assert_eq!(err.matches("dropped packets from").count(), 1, "once a minute\n{err}");
}
