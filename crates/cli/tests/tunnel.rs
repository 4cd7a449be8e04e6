//! `paceline tunnel` in the test's own networks.

#[path = "common/alone.rs"]
mod network;
#[path = "common/streams.rs"]
mod streams;

use network::{alone, lines, text};
use streams::STREAMS;

// On a busy machine a process may have to wait for seconds, so the ends give a connection up only
// after ten seconds, or after six where a test waits for that.

/// Functions of the scripts. They make a second network with a cable to the first, start a server
/// in the first and clients in the second, and wait until packets pass the tunnel, or until a file
/// has a line.
const FUNCTIONS: &str = r#"
# Waits until a process has a network of its own.
apart() { until [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done; }
# Waits until somebody listens at this TCP port.
listening() { until grep -qi ":$(printf %04X $1) 0*:0000 0A " /proc/net/tcp /proc/net/tcp6; do sleep 0.02; done; }
join() {
    ip link set lo up
    unshare --net sleep 1000 & N=$!
    apart $N
    ip link add v0 type veth peer name v1 netns $N
    ip addr add 192.168.9.1/24 dev v0; ip addr add fd09::1/64 dev v0 nodad; ip link set v0 up
    inside ip link set lo up
    inside ip addr add 192.168.9.2/24 dev v1; inside ip addr add fd09::2/64 dev v1 nodad
    inside ip link set v1 up
    export N
}
inside() { nsenter --net --target $N "$@"; }
serve() {
    test -e $TMPDIR/identity || (umask 077; "$P" key new -o $TMPDIR/identity > $TMPDIR/key)
    local before=$(grep -c "^listening at" $TMPDIR/server 2> /dev/null)
    "$P" tunnel server --listen "${LISTEN:-0.0.0.0:5312}" --address 10.77.0.1/24 --address fd77::1/64 \
        --device outer --timeout ${TIMEOUT:-10s} --key-file $TMPDIR/identity "$@" \
        > $TMPDIR/printed 2>> $TMPDIR/server & S=$!
    for i in $(seq 3000); do
        test "$(grep -c "^listening at" $TMPDIR/server)" -gt ${before:-0} && return; sleep 0.1
    done
}
client() {
    # Without a function between: $! is the client itself.
    nsenter --net --target $N "$P" tunnel client "${TO:-192.168.9.1:5312}" --key-file $TMPDIR/key --address 10.77.0.2/24 \
        --address fd77::2/64 --timeout ${TIMEOUT:-10s} "$@" 2>> $TMPDIR/client & C=$!
}
up() {
    for i in $(seq 60); do inside ping -q -c 1 -W 1 10.77.0.1 > /dev/null 2>&1 && return; sleep 0.1; done
    echo "nothing goes through"; false
}
told() { for i in $(seq 1000); do grep -q "$2" $TMPDIR/$1 && return; sleep 0.1; done; echo "not told: $2"; }
# A download of so many bytes from the server, by TCP in the tunnel, from this address and port, at most
# with the bit rate $RATE; and how much of it has arrived.
download() {
    local port=${3:-5201}
    iperf3 -s -1 -p $port > /dev/null & I[port]=$!
    listening $port
    inside timeout 300 iperf3 -c ${2:-10.77.0.1} -p $port -R -n $1 ${RATE:+-b $RATE} -J > $TMPDIR/iperf$port &
    D[port]=$!
}
downloaded() {
    local port=${2:-5201}
    wait ${D[port]}; echo "tcp $?"
    sed -n '/"sum_received"/,/}/s/.*"bytes":[^0-9]*\([0-9]*\).*/\1/p' $TMPDIR/iperf$port |
        awk -v wanted=$1 '{ print ($1 >= wanted ? "all of it" : $1) }'
    wait ${I[port]}
}
# Each packet by itself on the cable, as between machines.
single() { ip link set v0 gso_max_segs 1; inside ip link set v1 gso_max_segs 1; }
# From now on packets with more bytes are dropped without a word, in both directions. The rule counts the
# 14 bytes of Ethernet, too.
narrow() {
    for dev in v0 v1; do
        in=; test $dev = v1 && in=inside
        $in nft add table netdev narrow
        $in nft "add chain netdev narrow in { type filter hook ingress device $dev priority 0; }"
        $in nft add rule netdev narrow in meta length gt $(($1 + 14)) drop
    done
}
end() { cat $TMPDIR/server $TMPDIR/client >&2; rm -f $TMPDIR/*; kill $N; wait $N 2> /dev/null; ip link del v0 2> /dev/null; ip link set lo down; }
devices() { echo "$1 $({ ip -o link; inside ip -o link; } | grep -c -e outer -e paceline0)"; }
"#;

/// Runs a script. Returns its lines and its standard error; `None` if it cannot run here.
fn run(test: &str, script: &str) -> Option<(Vec<String>, String)> {
    let needs = ["ping", "ip", "ss", "nft", "iperf3", "nsenter", "unshare"];
    let output = alone(test, &needs, &format!("{FUNCTIONS}{script}"))?;
    Some((lines(&output), text(&output.stderr)))
}

#[test]
fn packets_of_both_families_go_through_and_nothing_is_left() {
    let script = r#"join; serve; client --route 192.0.2.0/24; up
        inside ip route get 192.0.2.7 | grep -c paceline0
        (iperf3 -s -1; iperf3 -s -1) > /dev/null & I=$!
        for to in 10.77.0.1 fd77::1; do
            inside ping -n -q -c 5 -i 0.2 -W 5 $to | grep -c " 0% packet loss"
            listening 5201; inside timeout 300 iperf3 -c $to -R -n 300K > /dev/null; echo "tcp $?"
        done
        inside ip -o link show paceline0 | sed 's/.*mtu \([0-9]*\).*/mtu \1/'
        # The largest packet leaves as one datagram: nothing is cut on the way.
        inside ping -n -q -c 1 -W 5 -M do -s 1373 10.77.0.1 | grep -c " 0% packet loss"
        awk '$1 == "Ip:" { print "cut", $(NF - 1) }' /proc/$N/net/snmp | tail -1
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"
        devices left; kill $I; wait $I; end"#;
    let test = "packets_of_both_families_go_through_and_nothing_is_left";
    let Some((seen, err)) = run(test, script) else { return };
    let expected = [
        "1", "1", "tcp 0", "1", "tcp 0", "mtu 1401", "1", "cut 0", "client 0", "server 0", "left 0",
    ];
    assert_eq!(seen, expected, "{err}");
    assert!(err.contains("connected; packets inside have up to 1401 bytes"), "{err}");
}

#[test]
fn a_client_that_is_killed_is_missed() {
    let script = r#"join; TIMEOUT=6s; serve; client --route 192.0.2.0/24; up
        kill -9 $C; wait $C 2> /dev/null
        inside ip -o link | grep -c paceline0; inside ip route | grep -c -e 192.0.2 -e 10.77
        told server "ended: nothing has come.*: the other end has died, or the path is down"
        # The server goes on, and serves the next one; with --once a client ends with its connection.
        client --once; up; kill -9 $S; wait $S 2> /dev/null
        wait $C; echo "client $?"; grep -c "the other end has died, or the path is down" $TMPDIR/client
        devices left; end"#;
    let Some((seen, err)) = run("a_client_that_is_killed_is_missed", script) else { return };
    assert_eq!(seen, ["0", "0", "client 1", "1", "left 0"], "{err}");
}

#[test]
fn a_client_follows_changes_of_addresses_and_outlives_its_network_and_server() {
    let script = r#"join; TIMEOUT=6s; serve; client; up
        # Another address: the connection goes on.
        inside ip addr del 192.168.9.2/24 dev v1; inside ip addr add 192.168.9.3/24 dev v1; up
        told server "moved to 192.168.9.3"
        grep -c "connected; packets" $TMPDIR/client
        # No network for longer than the timeout, and then another one.
        inside ip link set v1 down; told client "ended: nothing has come"; told client "trying again"
        inside ip addr flush dev v1; inside ip addr add 192.168.9.4/24 dev v1
        inside ip link set v1 up; up; grep -c "connected; packets" $TMPDIR/client
        # Another server with the same keys.
        kill -9 $S; wait $S 2> /dev/null; ip -o link | grep -c outer; sleep 1; serve; up
        grep -c "connected; packets" $TMPDIR/client
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let test = "a_client_follows_changes_of_addresses_and_outlives_its_network_and_server";
    let Some((seen, err)) = run(test, script) else { return };
    assert_eq!(seen, ["1", "2", "0", "3", "client 0", "server 0", "left 0"], "{err}");
}

/// A restarted server answers the client's question with a reset, long before `--timeout` has
/// passed.
#[test]
fn a_client_connects_again_soon_after_its_server_was_restarted() {
    let script = r#"join; TIMEOUT=60s; serve; client; up
        kill -9 $S; wait $S 2> /dev/null; serve
        began=$(date +%s%N)
        until inside ping -q -c 1 -W 0.1 10.77.0.1 > /dev/null 2>&1 || test $(($(date +%s%N) - began)) -gt 100000000000; do :; done
        took=$((($(date +%s%N) - began) / 1000000))
        test $took -lt 50000 && echo "before the timeout"
        told client "ended: the server was restarted"; grep -c "connected; packets" $TMPDIR/client
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let test = "a_client_connects_again_soon_after_its_server_was_restarted";
    let Some((seen, err)) = run(test, script) else { return };
    assert_eq!(seen, ["before the timeout", "2", "client 0", "server 0", "left 0"], "{err}");
}

#[test]
fn a_default_route_through_the_tunnel_needs_an_interface_for_its_own_packets() {
    let script = r#"join; serve
        client --once --route 0.0.0.0/0; wait $C; echo "client $?"
        grep -c "say by which interface" $TMPDIR/client
        inside ip route add default via 192.168.9.1 metric 500
        client --outer v1 --route 0.0.0.0/0
        # The other default route would answer a ping before the tunnel has its own.
        for i in $(seq 1000); do inside ip route get 198.51.100.1 | grep -q paceline0 && break; sleep 0.1; done
        inside ip route get 198.51.100.1 | grep -c paceline0; up
        # Another scheme, whose window limits the queues.
        kill $C; wait $C; client --scheme cubic; up; echo "cubic $?"
        kill $C; wait $C; kill $S; wait $S; devices left; end"#;
    let test = "a_default_route_through_the_tunnel_needs_an_interface_for_its_own_packets";
    let Some((seen, err)) = run(test, script) else { return };
    assert_eq!(seen, ["client 1", "1", "1", "cubic 0", "left 0"], "{err}");
}

#[test]
fn a_download_goes_on_while_the_address_changes() {
    let script = r#"join; serve; client; up
        download 4M
        for n in 3 4 5 6 7; do
            inside ip addr del 192.168.9.$((n - 1))/24 dev v1
            inside ip addr add 192.168.9.$n/24 dev v1
            sleep 0.7
        done
        downloaded 4000000
        # One connection carried all of it, and the server has followed it.
        grep -c "connected; packets" $TMPDIR/client
        told server "moved to 192.168.9.7"
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let Some((seen, err)) = run("a_download_goes_on_while_the_address_changes", script) else {
        return;
    };
    let expected = ["tcp 0", "all of it", "1", "client 0", "server 0", "left 0"];
    assert_eq!(seen, expected, "{err}");
}

/// Simulates a machine that sleeps: its processes are stopped, and its clock has moved on when they
/// continue.
#[test]
fn a_client_that_slept_goes_on() {
    let script = r#"join; TIMEOUT=6s; serve; client --keepalive 0s; up
        download 2M
        # Shorter than the timeout: the connection is still there.
        kill -STOP $C; sleep 1; kill -CONT $C; up
        grep -c "connected; packets" $TMPDIR/client
        # Longer: both ends have given it up, and the client makes another.
        kill -STOP $C; told server "ended: nothing has come"; sleep 2; kill -CONT $C
        told client "ended: "; up
        grep -c "connected; packets" $TMPDIR/client
        downloaded 2000000
        # The server sleeps, too.
        kill -STOP $S; sleep 10; kill -CONT $S; up; grep -c "connected; packets" $TMPDIR/client
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let Some((seen, err)) = run("a_client_that_slept_goes_on", script) else { return };
    let expected = ["1", "2", "tcp 0", "all of it", "3", "client 0", "server 0", "left 0"];
    assert_eq!(seen, expected, "{err}");
}

const OUTAGE: &str = r#"join; TIMEOUT=2s; serve; client; up
    download 2M; sleep 0.5
    inside ip link set v1 down; sleep $OUTAGE; inside ip addr add 192.168.9.2/24 dev v1 2> /dev/null
    inside ip link set v1 up; up
    downloaded 2000000
    kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;

fn outage(test: &str, seconds: u32) {
    // TCP's own timer has grown to the length of the outage by the time the network is back.
    let script = format!("OUTAGE={seconds}; {OUTAGE}");
    let Some((seen, err)) = run(test, &script) else { return };
    assert_eq!(seen, ["tcp 0", "all of it", "client 0", "server 0", "left 0"], "{err}");
    assert!(err.contains("trying again"), "{err}");
}

#[test]
fn a_download_outlives_a_loss_of_the_network() {
    outage("a_download_outlives_a_loss_of_the_network", 5);
}

#[test]
#[ignore = "takes a minute and more: make tunnel-long"]
fn a_download_outlives_half_a_minute_without_network() {
    outage("a_download_outlives_half_a_minute_without_network", 30);
}

#[test]
fn ipv6_carries_both_families() {
    let script = r#"join; LISTEN=[::]:5312; serve; TO=[fd09::1]:5312; client; up
        for to in 10.77.0.1 fd77::1; do
            inside ping -n -q -c 3 -i 0.2 -W 5 $to | grep -c " 0% packet loss"
            download 200K $to; downloaded 200000
        done
        inside ip -o link show paceline0 | sed 's/.*mtu \([0-9]*\).*/mtu \1/'
        # The largest packet leaves as one datagram: nothing is cut on the way.
        inside ping -n -q -c 1 -W 5 -M do -s 1333 fd77::1 | grep -c " 0% packet loss"
        inside ip addr add fd09::3/64 dev v1 nodad; inside ip addr del fd09::2/64 dev v1; up
        told server "moved to \[fd09::3\]"
        grep -c "connected; packets" $TMPDIR/client
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let Some((seen, err)) = run("ipv6_carries_both_families", script) else { return };
    let expected = [
        "1",
        "tcp 0",
        "all of it",
        "1",
        "tcp 0",
        "all of it",
        "mtu 1381",
        "1",
        "1",
        "client 0",
        "server 0",
        "left 0",
    ];
    assert_eq!(seen, expected, "{err}");
}

/// The link changes to carry only smaller packets, by the commands `change` until the commands `back`:
/// the tunnel detects it, and its connections go on.
fn narrower(
    test: &str,
    (change, back): (&str, &str),
    then: &str,
    expected: &[&str],
) -> Option<String> {
    if !network::has("nft") {
        paceline_testing::skip(paceline_testing::Need::Programs, test, "there is no program nft");
        return None;
    }
    let script = format!(
        r#"join; serve; client; single; up
        # At this rate a download takes six seconds at least.
        RATE=16M; download 12M fd77::1 5202; download 12M 10.77.0.1; sleep 0.4
        {change}
        kill -0 ${{D[5202]}} && kill -0 ${{D[5201]}} && echo "in the middle"
        downloaded 12000000; downloaded 12000000 5202
        # The end that sends the data has found it out.
        ip -o link show outer | sed 's/.*mtu \([0-9]*\).*/mtu \1/'
        grep -c "connected; packets" $TMPDIR/client
        {then}
        {back}
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#
    );
    let (seen, err) = run(test, &script)?;
    let downloads = ["in the middle", "tcp 0", "all of it", "tcp 0", "all of it"];
    let end = ["client 0", "server 0", "left 0"];
    assert_eq!(seen, [&downloads, expected, &end].concat(), "{err}");
    Some(err)
}

/// Commands that drop longer packets on the link without any notice, and that undo it.
fn dropped_above(mtu: u32) -> (String, &'static str) {
    (format!("narrow {mtu}"), "nft delete table netdev narrow")
}

#[test]
fn a_path_that_becomes_narrower_is_followed() {
    let test = "a_path_that_becomes_narrower_is_followed";
    let (change, back) = dropped_above(1420);
    let Some(err) = narrower(test, (&change, back), "", &["mtu 1321", "1"]) else { return };
    assert!(err.contains("of another size now; packets inside have up to 1321 bytes"), "{err}");
}

/// The interfaces at both ends refuse longer packets themselves: the largest size that is tried and fits is found.
#[test]
fn an_interface_whose_mtu_falls_is_followed() {
    let test = "an_interface_whose_mtu_falls_is_followed";
    for (mtu, fits) in [(1300, 1181), (1430, 1321), (1492, 1393)] {
        let change = format!("ip link set v0 mtu {mtu}; inside ip link set v1 mtu {mtu}");
        let device = format!("mtu {}", fits.max(1280));
        let Some(err) = narrower(test, (&change, ""), "", &[&device, "1"]) else { return };
        let told = format!("of another size now; packets inside have up to {fits} bytes");
        assert!(err.contains(&told), "{err}");
        assert_eq!(err.matches(&told).count(), err.matches("of another size now").count(), "{err}");
    }
}

/// IPv6 inside needs 1280 bytes, which do not fit on this path: IPv4's senders are told the size,
/// and IPv6's packets are sent in parts.
#[test]
fn a_path_that_becomes_too_narrow_for_ipv6_carries_both_families() {
    let test = "a_path_that_becomes_too_narrow_for_ipv6_carries_both_families";
    let then =
        r#"ping -n -c 1 -W 2 -M do -s 1252 10.77.0.2 2>&1 | grep -q "mtu *= *1181" && echo told"#;
    let (change, back) = dropped_above(1280);
    let Some(err) = narrower(test, (&change, back), then, &["mtu 1280", "1", "told"]) else {
        return;
    };
    assert!(err.contains("of another size now; packets inside have up to 1181 bytes"), "{err}");
    assert!(err.contains("were refused as too long") && err.contains("went in parts"), "{err}");
}

#[test]
fn a_path_of_1280_bytes_carries_all_that_ipv6_needs() {
    let script = r#"join; serve; client --mtu 1280; up
        inside ip -o link show paceline0 | sed 's/.*mtu \([0-9]*\).*/mtu \1/'
        # Packets of 1280 bytes, in both families and directions.
        inside ping -n -q -c 3 -i 0.2 -W 5 -s 1232 fd77::1 | grep -c " 0% packet loss"
        inside ping -n -q -c 3 -i 0.2 -W 5 -M dont -s 1252 10.77.0.1 | grep -c " 0% packet loss"
        # Where they must not be divided, whoever sends them is told, and by then does with less.
        inside ping -n -c 1 -W 2 -M do -s 1252 10.77.0.1 2>&1 | grep -c "mtu *= *1181"
        inside ping -n -q -c 1 -W 5 -M do -s 1153 10.77.0.1 | grep -c " 0% packet loss"
        for to in 10.77.0.1 fd77::1; do download 200K $to; downloaded 200000; done
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let test = "a_path_of_1280_bytes_carries_all_that_ipv6_needs";
    let Some((seen, err)) = run(test, script) else { return };
    let downloads = ["tcp 0", "all of it", "tcp 0", "all of it"];
    let pings = ["mtu 1280", "1", "1", "1", "1"];
    let end = ["client 0", "server 0", "left 0"];
    assert_eq!(seen, [&pings[..], &downloads, &end].concat(), "{err}");
    // TCP learns at both ends which size fits, and its packets need no parts: the six are each
    // end's pings.
    assert_eq!(err.matches(", 1 were refused as too long, 6 went in parts").count(), 1, "{err}");
    assert!(
        err.contains("up to 1181 bytes, and IPv6, which needs 1280, is carried in parts"),
        "{err}"
    );
}

/// Two clients of one server; one of them has a path that carries only smaller packets.
#[test]
fn the_narrow_path_of_one_client_leaves_the_others_as_they_are() {
    let script = r#"join; serve --address 10.78.0.1/24; client; up
        nsenter --net --target $N "$P" tunnel client 192.168.9.1:5312 --key-file $TMPDIR/key --mtu 1280 \
            --device paceline0b --address 10.78.0.3/24 --timeout 10s 2>> $TMPDIR/client & B=$!
        for i in $(seq 60); do inside ping -q -c 1 -W 1 10.78.0.1 > /dev/null 2>&1 && break; sleep 0.1; done
        ip -o link show outer | sed 's/.*mtu \([0-9]*\).*/mtu \1/'
        ping -n -q -c 1 -W 5 -M do -s 1373 10.77.0.2 | grep -c " 0% packet loss"
        ping -n -c 1 -W 2 -M do -s 1373 10.78.0.3 | grep -c "From 10.78.0.3 .* (mtu = 1181)"
        # What TCP sends fits from the beginning, to addresses of which the kernel knows nothing.
        ip route flush cache
        download 200K 10.78.0.1; downloaded 200000
        kill $B; wait $B; kill $C; wait $C; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let test = "the_narrow_path_of_one_client_leaves_the_others_as_they_are";
    let Some((seen, err)) = run(test, script) else { return };
    assert_eq!(seen, ["mtu 1401", "1", "1", "tcp 0", "all of it", "server 0", "left 0"], "{err}");
    assert_eq!(err.matches(", 1 were refused as too long").count(), 1, "{err}");
    assert!(!err.contains("went in parts"), "{err}");
}

/// A host in a network behind the client; the client's kernel forwards its packets.
#[test]
fn a_host_behind_the_client_is_told_what_fits() {
    let script = r#"join; serve --route 192.168.7.0/24 --route fd07::/64; client --mtu 1280; up
        unshare --net sleep 1000 & H=$!; apart $H
        host() { nsenter --net --target $H "$@"; }
        inside ip link add h0 type veth peer name h1 netns $H
        inside ip addr add 192.168.7.1/24 dev h0; inside ip addr add fd07::1/64 dev h0 nodad
        inside ip link set h0 up
        inside sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
        host ip addr add 192.168.7.2/24 dev h1; host ip addr add fd07::2/64 dev h1 nodad
        host ip link set h1 up; host ip route add default via 192.168.7.1; host ip route add default via fd07::1
        # The kernel answers what is longer than the device's MTU, and the tunnel what is longer than fits.
        host ping -n -c 1 -W 2 -M do -s 1400 10.77.0.1 | grep -c "From 192.168.7.1 .* (mtu = 1280)"
        host ping -n -c 1 -W 2 -M do -s 1252 10.77.0.1 | grep -c "From 10.77.0.1 .* (mtu = 1181)"
        host ping -n -q -c 1 -W 5 -M do -s 1153 10.77.0.1 | grep -c " 0% packet loss"
        host ping -n -q -c 1 -W 5 -s 1232 fd77::1 | grep -c " 0% packet loss"
        # The tunnel is no hop of its own.
        host ping -n -c 1 -W 2 -t 1 10.77.0.1 | grep -c "From 192.168.7.1 .*Time to live exceeded"
        host ping -n -q -c 1 -W 2 -t 2 10.77.0.1 | grep -c " 0% packet loss"
        # TCP in both directions and families, from a host that believes in 1500 bytes.
        host ip route flush cache
        for to in 10.77.0.1 fd77::1; do for way in "" -R; do
            iperf3 -s -1 > /dev/null & I=$!; listening 5201
            host timeout 300 iperf3 -c $to $way -n 200K > /dev/null; echo "tcp $?"
            wait $I
        done; done
        kill $H; wait $H 2> /dev/null
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let Some((seen, err)) = run("a_host_behind_the_client_is_told_what_fits", script) else {
        return;
    };
    let tcp = ["tcp 0"; 4];
    let end = ["client 0", "server 0", "left 0"];
    assert_eq!(seen, [&["1"; 6][..], &tcp, &end].concat(), "{err}");
}

/// A client whose server has a name, with the client's own files for host names and name servers.
const NAMED: &str = r#"
named() {
    nsenter --net --target $N unshare --mount sh -c '
        mount --bind $TMPDIR/hosts /etc/hosts; mount --bind $TMPDIR/resolv /etc/resolv.conf
        exec "$P" tunnel client server.test:5312 --key-file $TMPDIR/key --address 10.77.0.2/24 "$@"' \
        sh "$@" 2>> $TMPDIR/client & C=$!
}
"#;

#[test]
fn routes_are_checked_whenever_the_name_has_an_address() {
    let script = r#"join; serve; echo > $TMPDIR/hosts; echo nameserver 127.0.0.1 > $TMPDIR/resolv
        # The name server does not know the name at first, as when a machine boots.
        named --route 192.168.0.0/16; told client "trying again"
        inside ip -o link | grep -c paceline0
        echo "192.168.9.1 server.test" > $TMPDIR/hosts
        wait $C; echo "client $?"; grep -c "say by which interface" $TMPDIR/client
        kill $S; wait $S; echo "server $?"; devices left; end"#;
    let test = "routes_are_checked_whenever_the_name_has_an_address";
    let Some((seen, err)) = run(test, &format!("{NAMED}{script}")) else { return };
    assert_eq!(seen, ["1", "client 1", "1", "server 0", "left 0"], "{err}");
}

#[test]
fn a_name_server_that_is_silent_holds_up_neither_the_device_nor_signals() {
    let script = r#"join; serve; echo > $TMPDIR/hosts; echo nameserver 192.168.9.1 > $TMPDIR/resolv
        # Takes questions and answers none. A look-up then takes 150 s.
        "$P" recv -q --listen 192.168.9.1:53 --once > /dev/null & D=$!
        export RES_OPTIONS="timeout:30 attempts:5"
        named; for i in $(seq 600); do inside ip -o link | grep -q paceline0 && break; sleep 0.1; done
        inside ip -o link | grep -c paceline0
        told client "no name server has answered"
        T=$SECONDS; kill $C; wait $C; echo "client $?"; test $((SECONDS - T)) -lt 60 && echo "at once"
        kill $D; wait $D; kill $S; wait $S; echo "server $?"; devices left; end"#;
    let test = "a_name_server_that_is_silent_holds_up_neither_the_device_nor_signals";
    let Some((seen, err)) = run(test, &format!("{NAMED}{script}")) else { return };
    assert_eq!(seen, ["1", "client 0", "at once", "server 0", "left 0"], "{err}");
}

#[test]
fn a_client_raises_the_servers_packets_to_the_servers_own_limit_at_most() {
    let script = r#"join; ip link set v0 mtu 9000; inside ip link set v1 mtu 9000
        for limit in "" "--mtu 9000"; do
            serve $limit; client --mtu 9000; up
            ip -o link show outer | sed 's/.*mtu \([0-9]*\).*/mtu \1/'
            kill $C; wait $C; kill $S; wait $S; echo "server $?"
        done
        devices left; end"#;
    let test = "a_client_raises_the_servers_packets_to_the_servers_own_limit_at_most";
    let Some((seen, err)) = run(test, script) else { return };
    assert_eq!(seen, ["mtu 1401", "server 0", "mtu 8901", "server 0", "left 0"], "{err}");
}

#[test]
fn bulk_traffic_arrives_as_it_was_sent_with_and_without_offloads() {
    let script = r#"join; head -c 3000001 /dev/urandom > $TMPDIR/file
        here() { "$@"; }
        for ends in / --no-offload/ /--no-offload --no-offload/--no-offload; do
            serve ${ends%/*}; client --scheme cubic ${ends#*/}; up
            stream inside here 10.77.0.1 5300 20000001; stream here inside 10.77.0.2 5301 20000001
            stream inside here fd77::1 5302 20000001; stream here inside fd77::2 5303 20000001
            # UDP, in pieces as well.
            "$P" recv --listen 10.77.0.1:5311 --once -o $TMPDIR/copy --key-file $TMPDIR/identity > /dev/null 2>&1 & R=$!
            inside "$P" send --key-file $TMPDIR/key $TMPDIR/file 10.77.0.1:5311 > /dev/null 2>&1; echo "send $?"
            wait $R; cmp $TMPDIR/file $TMPDIR/copy && echo "udp equal"; rm -rf $TMPDIR/copy
            kill $C; wait $C; kill $S; wait $S
        done
        devices left; end"#;
    let test = "bulk_traffic_arrives_as_it_was_sent_with_and_without_offloads";
    if !network::has("python3") {
        return network::skip(test, "python3 is missing");
    }
    let Some((seen, err)) = run(test, &format!("{STREAMS}{script}")) else { return };
    let each = [&["equal 20000001"; 4][..], &["send 0", "udp equal"]].concat();
    let expected = [each.repeat(4), vec!["left 0"]].concat();
    assert_eq!(seen, expected, "{err}");
}

/// Standard output and standard error of both ends are a full pipe that is not read.
#[test]
fn messages_that_nobody_reads_hold_up_no_packets() {
    let script = r#"join; (umask 077; "$P" key new -o $TMPDIR/identity > $TMPDIR/key)
        mkfifo $TMPDIR/pipe; exec 7<> $TMPDIR/pipe
        dd if=/dev/zero of=$TMPDIR/pipe bs=4096 count=1000 oflag=nonblock 2> /dev/null
        dd if=/dev/zero of=$TMPDIR/pipe bs=1 count=5000 oflag=nonblock 2> /dev/null
        "$P" tunnel server --listen 0.0.0.0:5312 --address 10.77.0.1/24 --device outer \
            --key-file $TMPDIR/identity >&7 2>&7 & S=$!
        # More than one connection, so that there are more messages.
        for n in 1 2 3; do
            nsenter --net --target $N "$P" tunnel client 192.168.9.1:5312 --key-file $TMPDIR/key \
                --address 10.77.0.2/24 >&7 2>&7 & C=$!
            up; echo "up $n"; kill $C; wait $C; echo "client $?"
        done
        kill $S; wait $S; echo "server $?"
        exec 7>&-; touch $TMPDIR/server $TMPDIR/client; end"#;
    let test = "messages_that_nobody_reads_hold_up_no_packets";
    let Some((seen, err)) = run(test, script) else { return };
    let round = |n| [format!("up {n}"), "client 0".into()];
    let mut wanted: Vec<String> = [1, 2, 3].into_iter().flat_map(round).collect();
    wanted.push("server 0".into());
    assert_eq!(seen, wanted, "{err}");
}

/// Packets that arrive while the client has no connection would be old when it has one.
#[test]
fn packets_from_before_the_connection_are_dropped() {
    let script = r#"join; (umask 077; "$P" key new -o $TMPDIR/identity > $TMPDIR/key)
        # One attempt, which lasts until the server is there.
        TIMEOUT=120s client; told client "device paceline0 is up"
        nft add table inet counts
        nft "add chain inet counts in { type filter hook input priority 0; }"
        nft add rule inet counts in iifname outer udp dport 9 counter
        arrived() { echo "arrived $(nft list ruleset | sed -n 's/.*dport 9 counter packets \([0-9]*\).*/\1/p')"; }
        inside bash -c 'for i in $(seq 100); do echo old > /dev/udp/10.77.0.1/9; sleep 0.02; done'
        serve; up; arrived
        inside bash -c 'echo new > /dev/udp/10.77.0.1/9'; up; arrived
        nft delete table inet counts
        kill $C; wait $C; kill $S; wait $S; end"#;
    let test = "packets_from_before_the_connection_are_dropped";
    let Some((seen, err)) = run(test, script) else { return };
    assert_eq!(seen, ["arrived 0", "arrived 1"], "{err}");
}

/// The kernel closes the server's socket once, as an administrator may request: the next `recvmmsg`
/// fails with ECONNABORTED.
#[test]
fn an_error_that_passes_does_not_end_the_server() {
    let script = r#"join; serve; client; up
        for n in 1 2 3; do
            ss -K -u -a "sport = 5312" | grep -c ":5312"
            up; inside ping -n -q -c 3 -i 0.2 -W 5 10.77.0.1 | grep -c " 0% packet loss"
        done
        kill $C; wait $C; echo "client $?"; kill $S; wait $S; echo "server $?"; end"#;
    let test = "an_error_that_passes_does_not_end_the_server";
    let Some((seen, err)) = run(test, script) else { return };
    if seen.first().is_some_and(|count| count == "0") {
        let why = "the kernel ends no sockets (CONFIG_INET_DIAG_DESTROY)";
        return paceline_testing::skip(paceline_testing::Need::Kernel, test, why);
    }
    assert_eq!(seen, ["1", "1", "1", "1", "1", "1", "client 0", "server 0"], "{err}");
}
