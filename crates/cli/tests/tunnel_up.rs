//! `paceline tunnel up` and `down` in the test's own networks.

#[allow(dead_code, reason = "only its folders are used here")]
mod common;
#[path = "common/alone.rs"]
mod network;

use common::paceline;
use network::{alone, lines, text};
use paceline_testing::Folder;

/// Functions of the scripts. There are the server's network (this one), a client's ($N), and a
/// network behind the server ($W), which has no route to the client or to the addresses inside.
/// `/etc` and `/run` are copies that other programs do not see.
const FUNCTIONS: &str = r#"
apart() { until [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done; }
inside() { nsenter --net --target $N "$@"; }
world() { nsenter --net --target $W "$@"; }
join() {
    mkdir $TMPDIR/etc $TMPDIR/run; cp -a /etc/. $TMPDIR/etc 2> /dev/null
    rm -rf $TMPDIR/etc/paceline; mkdir $TMPDIR/etc/paceline
    mount --bind $TMPDIR/etc /etc; mount --bind $TMPDIR/run /run
    rm -f /etc/resolv.conf; echo "nameserver 192.0.2.53" > /etc/resolv.conf
    ip link set lo up
    unshare --net sleep 1000 & N=$!
    unshare --net sleep 1000 & W=$!
    apart $N; apart $W
    ip link add v0 type veth peer name v1 netns $N; ip link add w0 type veth peer name w1 netns $W
    ip addr add 192.168.9.1/24 dev v0; ip addr add fd09::1/64 dev v0 nodad; ip link set v0 up
    ip addr add 198.51.100.1/24 dev w0; ip addr add fd55::1/64 dev w0 nodad; ip link set w0 up
    for d in lo v1; do inside ip link set $d up; done; for d in lo w1; do world ip link set $d up; done
    inside ip addr add 192.168.9.2/24 dev v1; inside ip addr add fd09::2/64 dev v1 nodad
    world ip addr add 198.51.100.2/24 dev w1; world ip addr add fd55::2/64 dev w1 nodad
    inside ip route add default via 192.168.9.1; inside ip -6 route add default via fd09::1
    # What comes from the server's own addresses, and what from others.
    world nft -f - << 'RULES'
table inet seen {
    counter four { }
    counter six { }
    counter other { }
    chain input {
        type filter hook input priority 0
        ip saddr 198.51.100.1 icmp type echo-request counter name "four"
        ip6 saddr fd55::1 icmpv6 type echo-request counter name "six"
        ip saddr != 198.51.100.1 icmp type echo-request counter name "other"
        ip6 saddr != fd55::1 icmpv6 type echo-request counter name "other"
    }
}
RULES
    # What passes the cable beside the tunnel.
    nft -f - << 'RULES'
table inet beside {
    counter passed { }
    chain input {
        type filter hook prerouting priority 0
        iifname "v0" icmp type echo-request counter name "passed"
        iifname "v0" icmpv6 type echo-request counter name "passed"
    }
}
RULES
    (umask 077; "$P" key new -o /etc/paceline/server.key > /etc/paceline/client.key)
    cat > /etc/paceline/server.toml << 'FILE'
[tunnel]
role = "server"
key-file = "server.key"
address = ["10.77.0.1/24", "fd77::1/64"]
nat = true
FILE
    state > $TMPDIR/before
}
# A client's file: these lines, and those that all have. Its server is ${TO}.
client_file() {
    { printf '[tunnel]\nrole = "client"\nkey-file = "client.key"\nserver = "%s"\n' "${TO:-192.168.9.1:5312}"
      printf 'address = ["10.77.0.2/24", "fd77::2/64"]\n'; printf '%s\n' "$@"; } > /etc/paceline/client.toml
}
serve() { "$P" tunnel up server 2>> $TMPDIR/server & S=$!; said server "^listening at"; }
client() { nsenter --net --target $N "$P" tunnel up client 2>> $TMPDIR/client & C=$!; said client "${1:-1}" "connected; packets"; }
# Waits until a log has so many lines (one, if not said) with this text.
said() {
    local count=1; test $# = 3 && count=$2
    for i in $(seq 600); do test "$(grep -c -e "${!#}" $TMPDIR/$1)" -ge $count && return; sleep 0.1; done
    echo "not said: ${!#}"
}
reach() { for i in $(seq 60); do inside ping -n -q -c 1 -W 1 $1 > /dev/null 2>&1 && echo "reached" && return; sleep 0.1; done; echo "not reached"; }
try() { inside ping -n -q -c 1 -W 1 $1 > /dev/null 2>&1 && echo "reached" || echo "not reached"; }
counted() { world nft reset counter inet seen $1 | grep -o 'packets [0-9]*' | awk '{ print ($2 > 0 ? "some" : "none") }'; }
passed() { nft reset counter inet beside passed | grep -o 'packets [0-9]*' | awk '{ print ($2 > 0 ? "some" : "none") }'; }
# All that a client changes.
state() {
    inside ip rule; inside ip -6 rule; inside ip -4 route show table all; inside ip -6 route show table all | grep -v -e fe80 -e ff00 | sort
    cat /etc/resolv.conf; ls /etc | grep resolv; inside cat /proc/sys/net/ipv4/conf/all/src_valid_mark
    inside nft list tables; inside ip -o link | cut -d: -f2
}
# Waits until everything is as it was.
restored() {
    for i in $(seq 600); do state > $TMPDIR/after; cmp -s $TMPDIR/before $TMPDIR/after && echo "as before" && return; sleep 0.1; done
    diff $TMPDIR/before $TMPDIR/after >&2; echo "changed"
}
children() { grep -l "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status 2> /dev/null | cut -d/ -f3; }
down() { "$P" tunnel down "$@" 2> $TMPDIR/down; echo "down $?: $(cat $TMPDIR/down)"; }
inside_down() { inside "$P" tunnel down "$@" 2> $TMPDIR/down; echo "down $?: $(cat $TMPDIR/down)"; }
end() {
    cat $TMPDIR/server $TMPDIR/client >&2
    nft delete table inet beside
    ip link del v0; ip link del w0; kill $N $W; wait $N $W 2> /dev/null; ip link set lo down
    umount /run /etc; rm -rf $TMPDIR/*
}
"#;

/// Runs a script. Returns its lines and its standard error; `None` if it cannot run here.
fn run(test: &str, script: &str) -> Option<(Vec<String>, String)> {
    let needs = ["ping", "ip", "nft", "nsenter", "unshare"];
    let output = alone(test, &needs, &format!("{FUNCTIONS}{script}"))?;
    Some((lines(&output), text(&output.stderr)))
}

/// All traffic goes through the tunnel and none outside it; strict checks of source addresses
/// accept the tunnel's packets.
fn full_tunnel(test: &str, server: &str) {
    let script = format!(
        r#"join; TO='{server}'
        inside sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.v1.rp_filter=1
        client_file 'default-route = true' 'dns = ["10.77.0.1"]'
        serve; client; passed > /dev/null
        reach 198.51.100.2; reach fd55::2; try 198.51.100.2
        counted four; counted six; counted other; passed
        grep nameserver /etc/resolv.conf
        # Machines of the same network are reached directly.
        try 192.168.9.1
        inside_down client; wait $C; echo "client $?"; restored
        down server; wait $S; echo "server $?"; end"#
    );
    let Some((seen, err)) = run(test, &script) else { return };
    let expected = [
        "reached",
        "reached",
        "reached",
        "some",
        "some",
        "none",
        "none",
        "nameserver 10.77.0.1",
        "reached",
        "down 0: tunnel client is down",
        "client 0",
        "as before",
        "down 0: tunnel server is down",
        "server 0",
    ];
    assert_eq!(seen, expected, "{err}");
    assert!(!err.contains("warning"), "{err}");
}

#[test]
fn everything_goes_through_the_tunnel_over_ipv4() {
    full_tunnel("everything_goes_through_the_tunnel_over_ipv4", "192.168.9.1:5312");
}

#[test]
fn everything_goes_through_the_tunnel_over_ipv6() {
    full_tunnel("everything_goes_through_the_tunnel_over_ipv6", "[fd09::1]:5312");
}

#[test]
fn a_client_that_is_killed_leaves_nothing() {
    let script = r#"join; client_file 'default-route = true' 'dns = ["10.77.0.1", "fd77::1"]'
        serve; client; reach 198.51.100.2
        # The guard undoes it.
        kill -9 $C; wait $C 2> /dev/null; restored
        # Its guard is killed, too: `down` undoes it.
        client 2; reach 198.51.100.2; G=$(children $C)
        kill -9 $G; kill -9 $C; wait $C 2> /dev/null
        grep -c "nameserver 10.77.0.1" /etc/resolv.conf
        inside_down client; restored
        # The next start undoes it.
        client 3; G=$(children $C); kill -9 $G; kill -9 $C; wait $C 2> /dev/null
        client 4; reach fd55::2; inside ip rule | grep -c -e suppress -e unreachable
        inside "$P" tunnel up client 2> $TMPDIR/twice; echo "twice $?: $(grep -c "is up already" $TMPDIR/twice)"
        # A signal.
        kill $C; wait $C; echo "client $?"; restored
        inside_down client
        # A server that is killed.
        cat /proc/sys/net/ipv4/conf/*/forwarding | grep -c 1 > $TMPDIR/on; test $(cat $TMPDIR/on) -gt 0 && echo "forwards"
        kill -9 $S; wait $S 2> /dev/null; down server | cut -d: -f1
        cat /proc/sys/net/ipv4/conf/*/forwarding | grep -c 1; end"#;
    let Some((seen, err)) = run("a_client_that_is_killed_leaves_nothing", script) else { return };
    let expected = [
        "reached",
        "as before",
        "reached",
        "1",
        "down 0: tunnel client was not up",
        "as before",
        "reached",
        "2",
        "twice 1: 1",
        "client 0",
        "as before",
        "down 0: tunnel client was not up",
        "forwards",
        "down 0",
        "0",
    ];
    assert_eq!(seen, expected, "{err}");
}

#[test]
fn with_a_kill_switch_nothing_passes_beside_the_tunnel() {
    let script = r#"join
        client_file 'default-route = true' 'kill-switch = true'
        serve; client; reach 198.51.100.2; reach fd55::2; try 192.168.9.1; passed
        kill -9 $C; wait $C 2> /dev/null
        for to in 198.51.100.2 fd55::2 192.168.9.1 fd09::1; do try $to; done; passed
        # Through the next tunnel, and again nothing beside it once it has ended in good order.
        client 2; reach 198.51.100.2; kill $C; wait $C; echo "client $?"; try 192.168.9.1; passed
        grep -c "to lift it: paceline tunnel down client" $TMPDIR/client
        inside_down --keep-kill-switch client; try 192.168.9.1
        inside_down client; restored; reach 192.168.9.1; reach fd09::1
        # Networks that are left open.
        client_file 'default-route = true' 'kill-switch = true' 'allow = ["192.168.9.0/24"]'
        client 3; reach 198.51.100.2; kill $C; wait $C; try 192.168.9.1; try fd09::1
        inside_down client; restored
        # In the background, and down while it runs.
        inside "$P" tunnel up --detach -q client; echo "up $?"; try 198.51.100.2
        down client | grep -o "another network namespace"; inside_down client; restored
        down server; wait $S; end"#;
    let test = "with_a_kill_switch_nothing_passes_beside_the_tunnel";
    let Some((seen, err)) = run(test, script) else { return };
    let no = "not reached";
    let expected = [
        &["reached", "reached", no, "none"][..],
        &[no, no, no, no, "none"],
        &["reached", "client 0", no, "none", "1"],
        &["down 0: tunnel client was not up", no],
        &["down 0: tunnel client was not up; its kill switch is lifted", "as before"],
        &["reached", "reached"],
        &["reached", "reached", no],
        &["down 0: tunnel client was not up; its kill switch is lifted", "as before"],
        &["up 0", "reached", "another network namespace"],
        &["down 0: tunnel client is down; its kill switch is lifted", "as before"],
        &["down 0: tunnel server is down"],
    ]
    .concat();
    assert_eq!(seen, expected, "{err}");
}

/// SIGTERM arrives when `tunnel up` has just installed the kill switch, before its event loop runs.
#[test]
fn a_signal_during_the_start_ends_it_in_good_order_and_the_kill_switch_is_told() {
    let script = r#"join; client_file 'default-route = true' 'kill-switch = true'
        for i in 1 2 3 4 5 6; do
            nsenter --net --target $N "$P" tunnel up client 2>> $TMPDIR/client & C=$!
            until inside nft list tables | grep -q kill-switch; do kill -0 $C || break; done
            kill $C; wait $C; echo "client $?"; inside_down client
        done
        grep -c "to lift it: paceline tunnel down client" $TMPDIR/client; restored
        # The start fails after the kill switch was installed: no room for the record of changes.
        mkdir -p -m 700 /run/paceline/tunnels; mount -t tmpfs -o size=4k,mode=0700 none /run/paceline/tunnels
        head -c 4096 /dev/zero > /run/paceline/tunnels/full
        inside "$P" tunnel up client 2> $TMPDIR/failed; echo "full $?"
        inside nft list tables | grep -c kill-switch
        grep -c "No space.*; the kill switch of tunnel client stays; to lift it: " $TMPDIR/failed
        cat $TMPDIR/failed >> $TMPDIR/client; umount /run/paceline/tunnels; inside_down client; restored
        touch $TMPDIR/server; end"#;
    let test = "a_signal_during_the_start_ends_it_in_good_order_and_the_kill_switch_is_told";
    let Some((seen, err)) = run(test, script) else { return };
    let lifted = "down 0: tunnel client was not up; its kill switch is lifted";
    let expected = [
        &["client 0", lifted].repeat(6)[..],
        &["6", "as before", "full 1", "1", "1", lifted, "as before"],
    ]
    .concat();
    assert_eq!(seen, expected, "{err}");
}

/// The steps of docs/tunnel.md, "Ten laptops": a list that is empty at first, and a client without
/// addresses of its own. The client's tunnel has another name than its device.
#[test]
fn a_listed_client_gets_its_addresses_and_everything_goes_through_the_tunnel() {
    let script = r#"join; rm /etc/paceline/client.key; touch /etc/paceline/clients
        printf '%s\n' 'clients = "clients"' >> /etc/paceline/server.toml
        TO=192.168.9.1:5312 client_file 'device = "vpn0"' 'default-route = true' 'dns = ["10.77.0.1"]' 'kill-switch = true'
        sed -i '/^address/d' /etc/paceline/client.toml
        serve; for i in $(seq 600); do test -S /run/paceline/tunnel-server.sock && break; sleep 0.1; done
        "$P" tunnel clients add ada --key-file /etc/paceline/server.key --clients /etc/paceline/clients \
            -o /etc/paceline/client.key > $TMPDIR/added || echo "not added"
        client; reach 198.51.100.2; reach fd55::2; try 192.168.9.1
        counted four; counted six; counted other; passed
        # As `systemctl reload` does, after an edit by hand; a client goes on.
        printf '# by hand\n' >> /etc/paceline/clients
        kill -HUP $S $C; said server 2 "read again: 1 client"; said client "SIGHUP: there is no list"
        inside ip -o addr show vpn0 | grep -o -e "10.77.0.2/24" -e "fd77::2/64"
        grep nameserver /etc/resolv.conf
        # By name, by file and by device; also from another network.
        inside "$P" tunnel status client --json | grep -o '"device": "vpn0"'
        "$P" tunnel status /etc/paceline/client.toml --json | grep -o '"role": "client"'
        inside "$P" tunnel status vpn0 --json | grep -c '"role"'
        "$P" tunnel status server --json | grep -o -e '"role": ".*"' -e '"name": ".*"' -e '"connected": .*[^,]'
        # A killed tunnel leaves its socket, which is removed.
        kill -9 $C; wait $C 2> /dev/null; test -S /run/paceline/tunnel-vpn0.sock && echo "left"
        inside "$P" tunnel status client 2>&1 | grep -o "none of this name is up"
        test -e /run/paceline/tunnel-vpn0.sock || echo "removed"
        try 192.168.9.1; client 2; reach 198.51.100.2; inside "$P" tunnel status client | grep -c "^client to"
        inside_down client | cut -d";" -f2; restored
        down server; wait $S; ls /run/paceline | grep -c sock; end"#;
    let test = "a_listed_client_gets_its_addresses_and_everything_goes_through_the_tunnel";
    let Some((seen, err)) = run(test, script) else { return };
    let expected = [
        &["reached", "reached", "not reached"][..],
        &["some", "some", "none", "none"],
        &["10.77.0.2/24", "fd77::2/64", "nameserver 10.77.0.1"],
        &["\"device\": \"vpn0\"", "\"role\": \"client\"", "1"],
        &["\"role\": \"server\"", "\"name\": \"ada\"", "\"connected\": true"],
        &["left", "none of this name is up", "removed"],
        &["not reached", "reached", "1"],
        &[" its kill switch is lifted", "as before"],
        &["down 0: tunnel server is down", "0"],
    ]
    .concat();
    assert_eq!(seen, expected, "{err}");
}

/// A tunnel that carries one address family lets no packet of the other one leave outside it.
#[test]
fn a_family_that_the_tunnel_does_not_carry_is_unreachable() {
    let script = r#"join; client_file 'default-route = true'; sed -i 's/, "fd77::2.64"//' /etc/paceline/client.toml
        serve; client; reach 198.51.100.2
        inside ip -6 route get fd55::2 2>&1 | grep -c unreachable
        inside_down client; wait $C; inside ip -6 route get fd55::2 | grep -c fd09::1; restored
        down server; wait $S; end"#;
    let test = "a_family_that_the_tunnel_does_not_carry_is_unreachable";
    let Some((seen, err)) = run(test, script) else { return };
    let expected = [
        "reached",
        "1",
        "down 0: tunnel client is down",
        "1",
        "as before",
        "down 0: tunnel server is down",
    ];
    assert_eq!(seen, expected, "{err}");
}

/// A replacement for `resolvectl` records its arguments.
#[test]
fn where_systemd_resolved_answers_name_servers_belong_to_the_device() {
    let script = r#"join; mkdir $TMPDIR/bin; export PATH=$TMPDIR/bin:$PATH
        printf '#!/bin/sh\necho "$@" >> $TMPDIR/asked\n' > $TMPDIR/bin/resolvectl; chmod +x $TMPDIR/bin/resolvectl
        echo "nameserver 127.0.0.53" > /etc/resolv.conf; state > $TMPDIR/before
        client_file 'default-route = true' 'dns = ["10.77.0.1", "fd77::1"]'
        serve; client; reach 198.51.100.2; cat $TMPDIR/asked /etc/resolv.conf
        inside_down client; wait $C; restored
        # It does not work: the file names them.
        printf '#!/bin/sh\nexit 1\n' > $TMPDIR/bin/resolvectl
        client 2; reach 198.51.100.2; grep nameserver /etc/resolv.conf
        grep -c "warning: systemd-resolved takes no name servers for client" $TMPDIR/client
        inside_down client; wait $C; restored
        down server; wait $S; end"#;
    let test = "where_systemd_resolved_answers_name_servers_belong_to_the_device";
    let Some((seen, err)) = run(test, script) else { return };
    let expected = [
        "reached",
        "dns client 10.77.0.1 fd77::1",
        "domain client ~.",
        "default-route client yes",
        "nameserver 127.0.0.53",
        "down 0: tunnel client is down",
        "as before",
        "reached",
        "nameserver 10.77.0.1",
        "nameserver fd77::1",
        "1",
        "down 0: tunnel client is down",
        "as before",
        "down 0: tunnel server is down",
    ];
    assert_eq!(seen, expected, "{err}");
}

/// The script sets iptables up as Docker does.
#[test]
fn a_server_makes_exceptions_where_iptables_passes_nothing_on() {
    let script = r#"iptables -P FORWARD DROP && ip6tables -P FORWARD DROP || { echo none; exit; }
        join; { iptables -S; ip6tables -S; } > $TMPDIR/rules
        client_file 'default-route = true'; serve; client; reach 198.51.100.2; reach fd55::2
        inside_down client; wait $C; kill -9 $S; wait $S 2> /dev/null; down server | cut -d: -f1
        { iptables -S; ip6tables -S; } | cmp - $TMPDIR/rules && echo "as before"
        iptables -P FORWARD ACCEPT; ip6tables -P FORWARD ACCEPT
        for f in ip ip6; do nft delete table $f filter 2> /dev/null; done; end"#;
    let test = "a_server_makes_exceptions_where_iptables_passes_nothing_on";
    if !network::has("iptables") {
        return paceline_testing::skip(paceline_testing::Need::Programs, test, "no iptables");
    }
    let Some((seen, err)) = run(test, script) else { return };
    if seen == ["none"] {
        return network::skip(test, "iptables does not work here");
    }
    let expected = ["reached", "reached", "down 0: tunnel client is down", "down 0", "as before"];
    assert_eq!(seen, expected, "{err}");
}

/// The script has programs in place of iptables and ip6tables, whose lock another program holds at first.
#[test]
fn a_rule_behind_the_lock_of_iptables_is_removed_later() {
    let script = r#"join; mkdir $TMPDIR/bin; cat > $TMPDIR/bin/iptables << 'FAKE'
#!/bin/sh
echo "${0##*/} $*" >> $TMPDIR/calls
case "$*" in
    *-S*) echo "-P FORWARD DROP" ;;
    *-D*)
        test -e $TMPDIR/locked || exit 0
        echo "Another app is currently holding the xtables lock. Stopped waiting after 5s." >&2
        exit 4 ;;
esac
FAKE
        chmod +x $TMPDIR/bin/iptables; cp $TMPDIR/bin/iptables $TMPDIR/bin/ip6tables; PATH=$TMPDIR/bin:$PATH
        touch $TMPDIR/locked $TMPDIR/client; serve
        for i in $(seq 600); do test $(grep -c -e "-I" $TMPDIR/calls) = 4 && break; sleep 0.1; done
        down server > $TMPDIR/told; cut -d: -f1 $TMPDIR/told; wait $S
        grep -c "has held iptables' lock for 5 s.*stays: sudo iptables -w 5 -D FORWARD -i server" $TMPDIR/told
        rm $TMPDIR/locked; : > $TMPDIR/calls
        down server | cut -d: -f1; cut -d" " -f1-5 $TMPDIR/calls | sort
        down server | cut -d: -f1; wc -l < $TMPDIR/calls; end"#;
    let Some((seen, err)) = run("a_rule_behind_the_lock_of_iptables_is_removed_later", script)
    else {
        return;
    };
    let removed = ["ip6tables -w 5 -D FORWARD", "iptables -w 5 -D FORWARD"];
    let [six, four] = removed;
    let expected = ["down 1", "1", "down 0", six, six, four, four, "down 0", "4"];
    assert_eq!(seen, expected, "{err}");
}

#[test]
fn mistakes_in_the_file_end_it_before_anything_is_changed() {
    let folder = Folder::new("tunnel-up");
    let file = folder.write("office.toml", b"[tunnel]\nrole = \"client\"\nsever = \"host:1\"\n");
    let seen = paceline(&["tunnel", "up", &file]);
    assert_eq!(seen.code, 2, "{}", seen.err);
    assert!(seen.err.contains("office.toml:3:1") && seen.err.contains("`server`"), "{}", seen.err);
    let seen = paceline(&["tunnel", "up", &folder.path("missing.toml")]);
    assert_eq!(seen.code, 2, "{}", seen.err);
    assert!(seen.err.contains("cannot be read"), "{}", seen.err);
    for command in ["up", "down"] {
        let seen = paceline(&["tunnel", command, "no name"]);
        assert_eq!(seen.code, 2, "{}", seen.err);
        assert!(seen.err.contains("no name of a tunnel"), "{}", seen.err);
    }
}
