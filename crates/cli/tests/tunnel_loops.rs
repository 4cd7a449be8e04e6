//! `paceline tunnel server --loops 2`: clients whose connections belong to different event loops.

#[path = "common/alone.rs"]
mod network;
#[path = "common/office.rs"]
mod office;
#[path = "common/streams.rs"]
mod streams;

use network::{alone_within, lines, text};
use office::{FUNCTIONS, KEYS};
use streams::STREAMS;

/// The kernel chooses a connection's loop by the client's address and port, so the script restarts
/// a client until its connection is at the loop that it needs.
const PLACES: &str = r#"
# The event loop that has the connection of a network's client, while its ping is answered.
loop_of() {
    status | awk -v from="192.168.9.$(($1 + 1))" '/"event_loop"/ { number = $2 + 0 }
        /"remote"/ && $2 ~ from "(\\]?:|\\])" { found = number } END { print found }'
}
# A client of a network, with these options, whose connection is at a loop.
client_at() {
    local n=$1 number=$2; shift 2
    for attempt in $(seq 60); do
        client $n "$@"; passes $n 10.77.0.1 || return
        test "$(loop_of $n)" = $number && return
        kill ${C[n]}; wait ${C[n]} 2> /dev/null
    done
    echo "client $n is never at loop $number"
}
field() { status | awk -v name="\"$1\":" '$1 == name { print $2 + 0; exit }'; }
forward() {
    before6=$(grep -H . /proc/sys/net/ipv6/conf/*/forwarding)
    echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
}
forward_no_more() {
    echo 0 > /proc/sys/net/ipv4/ip_forward; echo 0 > /proc/sys/net/ipv6/conf/all/forwarding
    while IFS=: read file value; do test -e $file && echo $value > $file; done <<< "$before6"
}
"#;

/// Runs a script. Returns its lines and its standard error; `None` if it cannot run here.
fn run(test: &str, script: &str) -> Option<(Vec<String>, String)> {
    let needs = ["ping", "ip", "nsenter", "unshare"];
    let script = format!("{FUNCTIONS}{KEYS}{PLACES}{STREAMS}{script}");
    let output = alone_within(test, &needs, &script, 600)?;
    Some((lines(&output), text(&output.stderr)))
}

#[test]
fn clients_of_all_loops_reach_each_other_and_the_server() {
    let script = r#"office 3; keys ada bob carl; serve --loops 2 --clients $TMPDIR/clients; forward
        ada() { at 1 "$@"; }; bob() { at 2 "$@"; }; carl() { at 3 "$@"; }; server() { "$@"; }
        client_at 1 0 --key-file $TMPDIR/ada.key
        client_at 2 1 --key-file $TMPDIR/bob.key
        client_at 3 1 --key-file $TMPDIR/carl.key
        for from in 1 2 3; do for to in 2 3 4; do
            test $to = $((from + 1)) || { passes $from 10.77.0.$to && passes $from fd77::$to && echo "$from $to"; }
        done; done
        # Nothing has gone from the kernel to a client of another loop's queue unless it was handed over.
        stream ada bob 10.77.0.3 5300 10000001; stream bob ada 10.77.0.2 5301 10000001
        stream bob carl fd77::4 5302 10000001; stream carl ada fd77::2 5303 10000001
        stream server bob 10.77.0.3 5304 10000001; stream ada server 10.77.0.1 5305 10000001
        test $(field handed_over) -gt 100 && echo "handed over"
        echo "loops $(field loops), dropped between them $(field handover_dropped)"
        status | grep -c '"connected": true'
        for n in 1 2 3; do loop_of $n; done
        # A signal ends all loops, and each tells its clients.
        kill $S; wait $S; echo "server $?"
        for n in 1 2 3; do told client$n "ended: the server of the tunnel was stopped"; kill ${C[n]}; wait ${C[n]} 2> /dev/null; done
        forward_no_more
        end"#;
    let test = "clients_of_all_loops_reach_each_other_and_the_server";
    if !network::has("python3") {
        return network::skip(test, "python3 is missing");
    }
    let Some((seen, err)) = run(test, script) else { return };
    let pairs = ["1 3", "1 4", "2 2", "2 4", "3 2", "3 3"];
    let streams = ["equal 10000001"; 6];
    let rest = ["handed over", "loops 2, dropped between them 0", "3", "0", "1", "1", "server 0"];
    let expected: Vec<&str> = pairs.into_iter().chain(streams).chain(rest).collect();
    assert_eq!(seen, expected, "{err}");
}

#[test]
fn clients_are_turned_out_and_replaced_whichever_loop_has_them() {
    let script = r#"office 3; keys ada bob; serve --loops 2 --clients $TMPDIR/clients --timeout 10min
        client_at 1 0 --key-file $TMPDIR/ada.key
        client_at 2 1 --key-file $TMPDIR/bob.key
        # The control socket's loop reads the list; the others follow.
        "$P" tunnel clients revoke bob --clients $TMPDIR/clients 2>> $TMPDIR/notes; echo "revoked $?"
        told client2 "ended: this client's key was taken off the server's list of clients"
        told client2 "not on the server's list of clients"
        kill ${C[2]}; wait ${C[2]} 2> /dev/null
        # A client that was killed comes again at another loop, and has its addresses at once.
        kill -9 ${C[1]}; wait ${C[1]} 2> /dev/null
        client_at 3 1 --key-file $TMPDIR/ada.key
        told server "(ada): ended: a newer connection of this client has taken its place"
        ping -n -q -c 3 -i 0.2 -W 5 10.77.0.2 | grep -o " 0% packet loss"
        for i in $(seq 600); do test $(status | grep -c '"connected": true') = 1 && break; sleep 0.1; done
        status | grep -c '"connected": true'
        # Bob is listed again with another address, which all loops admit.
        rm $TMPDIR/bob.key; add bob --address 10.77.0.9
        client_at 2 0 --key-file $TMPDIR/bob.key; ping -n -q -c 3 -i 0.2 -W 5 10.77.0.9 | grep -o " 0% packet loss"
        # A server that was killed tells the clients of all its former loops that it was, also if it has fewer loops now.
        for loops in 2 1; do
            kill -9 $S; wait $S 2> /dev/null; serve --loops $loops --clients $TMPDIR/clients --timeout 10min
            passes 2 10.77.0.1; passes 3 10.77.0.1; echo "again $loops"
        done
        grep -c "ended: the server was restarted" $TMPDIR/client2
        stop; end"#;
    let test = "clients_are_turned_out_and_replaced_whichever_loop_has_them";
    let Some((seen, err)) = run(test, script) else { return };
    let expected = [
        "revoked 0",
        " 0% packet loss",
        "1",
        " 0% packet loss",
        "again 2",
        "again 1",
        "2",
        "server 0",
    ];
    assert_eq!(seen, expected, "{err}");
}

#[test]
fn the_address_of_a_client_of_another_loop_is_not_taken() {
    let script = r#"office 2; serve --loops 2
        client_at 1 0 --key-file $TMPDIR/shared.key --address 10.77.0.2/24
        client_at 2 1 --key-file $TMPDIR/shared.key --address 10.77.0.3/24
        at 2 ip addr add 10.77.0.2/32 dev paceline0
        at 2 ping -n -q -c 3 -i 0.2 -W 1 -I 10.77.0.2 10.77.0.1 | grep -o "3 packets transmitted, 0 received"
        told server "warning: .*192.168.9.3.*: dropped packets from 10.77.0.2, which belongs to .*192.168.9.2"
        ping -n -q -c 5 -i 0.2 -W 5 10.77.0.2 | grep -o " 0% packet loss"
        echo "client 2 got $(echoes 2) echo requests"
        # When it has gone, the other one may use its address.
        kill ${C[1]}; wait ${C[1]}; told server "192.168.9.2.*ended: closed"
        passes 2 -I 10.77.0.2 10.77.0.1 && echo free
        stop; end"#;
    let test = "the_address_of_a_client_of_another_loop_is_not_taken";
    let Some((seen, err)) = run(test, script) else { return };
    let expected = [
        "3 packets transmitted, 0 received",
        " 0% packet loss",
        "client 2 got 0 echo requests",
        "free",
        "server 0",
    ];
    assert_eq!(seen, expected, "{err}");
}
