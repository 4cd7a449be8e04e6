//! `paceline tunnel server` and several clients, each in its own network: which client may use
//! which addresses inside.

#[path = "common/alone.rs"]
mod network;
#[path = "common/office.rs"]
mod office;
#[path = "common/streams.rs"]
mod streams;

use network::{alone, lines, text};
use office::{FUNCTIONS, KEYS};
use streams::STREAMS;

/// Runs a script. Returns its lines and its standard error; `None` if it cannot run here.
fn run(test: &str, script: &str) -> Option<(Vec<String>, String)> {
    let output =
        alone(test, &["ping", "ip", "nsenter", "unshare"], &format!("{FUNCTIONS}{script}"))?;
    Some((lines(&output), text(&output.stderr)))
}

/// Finding A5 of the outside review: a packet with another client's source address redirected that
/// client's traffic to its sender.
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

fn run_with_keys(test: &str, script: &str) -> Option<(Vec<String>, String)> {
    run(test, &format!("{KEYS}{script}"))
}

/// Finding A5 of the outside review, with listed keys: addresses belong to the listed client,
/// whether it is connected or not.
#[test]
fn listed_clients_have_their_own_addresses_and_reach_each_other() {
    let script = r#"office 3; keys ada bob; serve --clients $TMPDIR/clients
        # The addresses come from the server, which passes packets on between its clients.
        before6=$(grep -H . /proc/sys/net/ipv6/conf/*/forwarding)
        echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
        client 1 --key-file $TMPDIR/ada.key
        TO=[fd09::1]:5312 client 2 --key-file $TMPDIR/bob.key
        passes 1 10.77.0.1; passes 2 fd77::1
        at 1 ip -o addr show paceline0 | grep -o -e "10.77.0.2/24" -e "fd77::2/64"
        at 2 ip -o addr show paceline0 | grep -o -e "10.77.0.3/24" -e "fd77::3/64"
        passes 1 10.77.0.3 && passes 2 fd77::2 && echo "each other"
        # Bob with ada's addresses, while ada is connected and when she is not.
        at 2 ip addr add 10.77.0.2/32 dev paceline0; at 2 ip addr add fd77::2/128 dev paceline0 nodad
        claims() {
            at 2 ping -n -q -c 3 -i 0.2 -W 1 -I 10.77.0.2 10.77.0.1 | grep -o "3 packets transmitted, 0 received"
            at 2 ping -n -q -c 3 -i 0.2 -W 1 -I fd77::2 fd77::1 | grep -o "3 packets transmitted, 0 received"
        }
        echoes_before=$(echoes 2); claims
        told server "warning: .*(bob): dropped packets from 10.77.0.2, which the list of clients does not give it"
        ping -n -q -c 5 -i 0.2 -W 5 10.77.0.2 | grep -o " 0% packet loss"
        ping -n -q -c 5 -i 0.2 -W 5 fd77::2 | grep -o " 0% packet loss"
        kill ${C[1]}; wait ${C[1]}; told server "(ada): ended: closed"
        claims; ping -n -q -c 3 -i 0.2 -W 1 10.77.0.2 | grep -o "3 packets transmitted, 0 received"
        echo "bob got $(($(echoes 2) - echoes_before)) echo requests"
        # The key that all clients share is no client's.
        client 3 --key-file $TMPDIR/shared.key --address 10.77.0.9/24; wait ${C[3]}; echo "stranger $?"
        grep -c "not on the server's list of clients" $TMPDIR/client3
        stop; echo 0 > /proc/sys/net/ipv4/ip_forward
        while IFS=: read file value; do test -e $file && echo $value > $file; done <<< "$before6"
        end"#;
    let test = "listed_clients_have_their_own_addresses_and_reach_each_other";
    let Some((seen, err)) = run_with_keys(test, script) else { return };
    let nothing = "3 packets transmitted, 0 received";
    let expected = [
        "10.77.0.2/24",
        "fd77::2/64",
        "10.77.0.3/24",
        "fd77::3/64",
        "each other",
        nothing,
        nothing,
        " 0% packet loss",
        " 0% packet loss",
        nothing,
        nothing,
        nothing,
        "bob got 0 echo requests",
        "stranger 1",
        "1",
        "server 0",
    ];
    assert_eq!(seen, expected, "{err}");
}

/// The server's kernel takes joined segments from its device and forwards them to the same device.
#[test]
fn bulk_traffic_between_two_clients_arrives_as_it_was_sent() {
    let script = r#"office 2; keys ada bob; ada() { at 1 "$@"; }; bob() { at 2 "$@"; }
        before6=$(grep -H . /proc/sys/net/ipv6/conf/*/forwarding)
        for ends in / --no-offload/ /--no-offload; do
            serve --clients $TMPDIR/clients ${ends%/*}
            echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
            client 1 --key-file $TMPDIR/ada.key ${ends#*/}; client 2 --key-file $TMPDIR/bob.key ${ends#*/}
            passes 1 10.77.0.1; passes 2 10.77.0.1
            passes 1 10.77.0.3; passes 2 fd77::2
            stream ada bob 10.77.0.3 5300 10000001; stream bob ada fd77::2 5301 10000001
            stop
        done
        echo 0 > /proc/sys/net/ipv4/ip_forward; echo 0 > /proc/sys/net/ipv6/conf/all/forwarding
        while IFS=: read file value; do test -e $file && echo $value > $file; done <<< "$before6"
        end"#;
    let test = "bulk_traffic_between_two_clients_arrives_as_it_was_sent";
    if !network::has("python3") {
        return network::skip(test, "python3 is missing");
    }
    let Some((seen, err)) = run_with_keys(test, &format!("{STREAMS}{script}")) else { return };
    assert_eq!(seen, ["equal 10000001", "equal 10000001", "server 0"].repeat(3), "{err}");
}

#[test]
fn clients_are_added_and_revoked_while_the_server_runs() {
    let script = r#"office 2; keys ada; serve --clients $TMPDIR/clients --client-route 192.0.2.0/24
        client 1 --key-file $TMPDIR/ada.key; passes 1 10.77.0.1
        at 1 ip route show dev paceline0 | grep -o "^192.0.2.0/24"
        # Free addresses are known from the running server.
        add bob; cut -d' ' -f1,3 $TMPDIR/added
        add bob; grep -c "bob is listed" $TMPDIR/notes; ls -l $TMPDIR/bob.key | cut -c1-10
        client 2 --key-file $TMPDIR/bob.key; passes 2 fd77::1
        "$P" tunnel clients list --clients $TMPDIR/clients | awk '{ print $1, $4 }' | grep -e ada -e bob
        "$P" tunnel clients list --clients $TMPDIR/clients --json |
            grep -o -e '"connected": true' -e '"running": true' -e '"key": "plc-' | sort
        # What the server refuses changes nothing.
        cp $TMPDIR/clients $TMPDIR/good
        add carl --address 10.77.0.1; echo "carl $?"
        add carl --address 10.77.0.1 --server-address 10.78.0.1/24; echo "carl $?"
        grep -c "the running server does not take the list: .*carl: 10.77.0.1/32 contains" $TMPDIR/notes
        cmp $TMPDIR/clients $TMPDIR/good; ls $TMPDIR | grep -c carl.key
        # A list that is wrong changes nothing.
        cp $TMPDIR/clients $TMPDIR/good; echo "carl nonsense" >> $TMPDIR/clients
        kill -HUP $S; told server "warning: the former list of clients stays: .*clients, line 4: carl: "
        passes 1 10.77.0.1; passes 2 10.77.0.1; cp $TMPDIR/good $TMPDIR/clients
        # An overlap by hand, and then what is right.
        echo "carl $(grep -o 'plc-[^ ]*' $TMPDIR/added | head -1) 10.77.0.2" >> $TMPDIR/clients
        kill -HUP $S; told server "stays: .*line 4: carl: line 2 has this key, too"
        cp $TMPDIR/good $TMPDIR/clients; kill -HUP $S; told server "read again: 2 clients"
        "$P" tunnel clients revoke bob --clients $TMPDIR/clients 2>> $TMPDIR/notes; echo "revoked $?"
        told client2 "ended: this client's key was taken off the server's list of clients"
        told client2 "not on the server's list of clients"
        at 2 ping -n -q -c 3 -i 0.2 -W 1 10.77.0.1 | grep -o "3 packets transmitted, 0 received"
        # Ada was not disturbed.
        passes 1 10.77.0.1; grep -c "connected; packets" $TMPDIR/client1
        "$P" tunnel clients revoke bob --clients $TMPDIR/clients 2>&1 | grep -c "no client is called bob"
        stop; end"#;
    let test = "clients_are_added_and_revoked_while_the_server_runs";
    let Some((seen, err)) = run_with_keys(test, script) else { return };
    let expected = [
        "192.0.2.0/24",
        "ada 10.77.0.2,fd77::2",
        "bob 10.77.0.3,fd77::3",
        "1",
        "-rw-------",
        "ada yes",
        "bob yes",
        "\"connected\": true",
        "\"connected\": true",
        "\"key\": \"plc-",
        "\"key\": \"plc-",
        "\"running\": true",
        "carl 2",
        "carl 1",
        "1",
        "0",
        "revoked 0",
        "3 packets transmitted, 0 received",
        "1",
        "1",
        "server 0",
    ];
    assert_eq!(seen, expected, "{err}");
}

/// The addresses and routes that the server assigns change, and the client's device with them. A
/// server cannot redirect all traffic into the tunnel unless the client asks for it.
#[test]
fn handed_out_addresses_change_with_the_list() {
    let script = r#"office 1; keys ada; serve --clients $TMPDIR/clients
        client 1 --key-file $TMPDIR/ada.key; passes 1 10.77.0.1
        sed -i 's/10.77.0.2,fd77::2/10.77.0.77,fd77::77,192.168.4.0\/24/' $TMPDIR/clients; kill -HUP $S
        told client1 "ended: the server has changed this client's addresses"
        passes 1 10.77.0.1; passes 1 -I fd77::77 fd77::1
        at 1 ip -o addr show paceline0 | grep -o -e "10.77.0.[0-9]*/[0-9]*" -e "fd77::[0-9]*/[0-9]*" -e "192.168.4.*"
        stop; serve --clients $TMPDIR/clients --client-route 0.0.0.0/0
        client 1 --key-file $TMPDIR/ada.key --once; wait ${C[1]}; echo "client $?"
        grep -c "the network 0.0.0.0/0, which would lead almost everything into the tunnel" $TMPDIR/client1
        at 1 ip -o link | grep -c paceline0
        # Without an address of its own and without a list.
        kill $S; wait $S; serve
        client 1 --key-file $TMPDIR/ada.key; wait ${C[1]}; echo "client $?"
        grep -c "the server hands out no addresses: name one with --address" $TMPDIR/client1
        stop; end"#;
    let Some((seen, err)) = run_with_keys("handed_out_addresses_change_with_the_list", script)
    else {
        return;
    };
    let expected = [
        "10.77.0.77/24",
        "fd77::77/64",
        "server 0",
        "client 1",
        "1",
        "0",
        "client 1",
        "1",
        "server 0",
    ];
    assert_eq!(seen, expected, "{err}");
}

/// A killed client connects again with the same key. It has its addresses immediately, and not only
/// after the server's timeout of the former connection.
#[test]
fn a_client_that_was_killed_has_its_addresses_again_at_once() {
    let script = r#"office 2; keys ada bob; serve --clients $TMPDIR/clients --timeout 10min
        client 1 --key-file $TMPDIR/ada.key; passes 1 10.77.0.1
        kill -9 ${C[1]}; wait ${C[1]} 2> /dev/null
        # In another place.
        client 2 --key-file $TMPDIR/ada.key; passes 2 10.77.0.1 && echo again
        ping -n -q -c 3 -i 0.2 -W 5 10.77.0.2 | grep -o " 0% packet loss"
        told server "(ada): ended: a newer connection of this client has taken its place"
        stop; end"#;
    let test = "a_client_that_was_killed_has_its_addresses_again_at_once";
    let Some((seen, err)) = run_with_keys(test, script) else { return };
    assert_eq!(seen, ["again", " 0% packet loss", "server 0"], "{err}");
}

#[test]
fn status_shows_both_ends() {
    let script = r#"office 1; keys ada bob; serve --clients $TMPDIR/clients
        "$P" tunnel status nosuch 2>&1 | grep -o "no tunnel of device nosuch answers"
        client 1 --key-file $TMPDIR/ada.key; passes 1 10.77.0.1
        at 1 ping -n -q -c 20 -i 0.05 -s 1000 10.77.0.1 > /dev/null
        status > $TMPDIR/status.json
        at 1 "$P" tunnel status paceline0 --json > $TMPDIR/client.json
        "$P" tunnel status outer | grep -o -e "^ *ada" -e "^ *bob" -e "^server listens at" | tr -d " "
        timeout 20 "$P" tunnel status outer --watch --json | head -2 | grep -c '"schema_version"'
        # Sockets that were left by a killed process are replaced, and go with the process.
        kill -9 $S; wait $S 2> /dev/null; serve --clients $TMPDIR/clients; status | grep -c '"role": "server"'
        cat $TMPDIR/status.json; echo; echo ====; cat $TMPDIR/client.json; echo; echo ====
        stop; end"#;
    let Some((seen, err)) = run_with_keys("status_shows_both_ends", script) else { return };
    let text = seen.join("\n");
    let begin = text.find("{\n").unwrap_or_else(|| panic!("{text}\n{err}"));
    let words: Vec<&str> = text[..begin].lines().collect();
    let first = ["no tunnel of device nosuch answers", "serverlistensat", "ada", "bob", "2", "1"];
    assert_eq!(words, first, "{err}");
    let mut documents = text[begin..].split("====").map(str::trim);
    let mut next = || -> serde_json::Value {
        serde_json::from_str(documents.next().unwrap_or("")).expect("JSON")
    };
    let (server, client) = (next(), next());
    let of = |document: &serde_json::Value| document["tunnels"][0].clone();
    let (server, client) = (of(&server), of(&client));
    assert_eq!((&server["role"], &client["role"]), (&"server".into(), &"client".into()), "{err}");
    assert_eq!(server["addresses"], serde_json::json!(["10.77.0.1/24", "fd77::1/64"]));
    assert_eq!(client["addresses"], serde_json::json!(["10.77.0.2/24", "fd77::2/64"]));
    let peers = server["peers"].as_array().expect("peers");
    let named = |name: &str| peers.iter().find(|peer| peer["name"] == name).expect("it is listed");
    let (ada, bob) = (named("ada"), named("bob"));
    assert_eq!((&ada["connected"], &bob["connected"]), (&true.into(), &false.into()));
    assert_eq!(ada["addresses"], serde_json::json!(["10.77.0.2/32", "fd77::2/128"]));
    assert!(ada["key"].as_str().is_some_and(|key| key.starts_with("plc-")), "{ada}");
    for (peer, which) in [(ada, "server"), (&client["peers"][0], "client")] {
        for field in ["srtt_ms", "min_rtt_ms", "connected_s", "sent_mbps", "received_mbps"] {
            assert!(
                peer[field].as_f64().is_some_and(|value| value > 0.0),
                "{which} {field} {peer}"
            );
        }
        for field in ["sent_bytes", "received_bytes"] {
            let bytes = peer[field].as_u64().expect("a number");
            assert!((20_000..200_000).contains(&bytes), "{which} {field} {peer}");
        }
        for field in ["deliverable_bytes", "cwnd_bytes", "mtu_bytes"] {
            assert!(
                peer[field].as_u64().is_some_and(|value| value > 1000),
                "{which} {field} {peer}"
            );
        }
        assert_eq!(peer["scheme"], "cubic");
        assert_eq!((&peer["dropped"], &peer["not_allowed"]), (&0.into(), &0.into()), "{which}");
    }
}

/// Twenty clients with their own keys, at 5 Mbit/s each, use one server with one event loop, and
/// then with two. One is revoked, one claims another's address, and the server is killed and
/// started again. Prints figures for docs/tunnel.md.
#[test]
#[ignore = "takes minutes: make tunnel-office"]
fn an_office_of_twenty_clients() {
    an_office(1);
    an_office(2);
}

#[allow(clippy::print_stderr, reason = "prints figures")]
fn an_office(loops: u32) {
    let script = r#"N=20; for n in $(seq $N); do names="$names c$n"; done
        office $N; keys $names; serve --loops $LOOPS --clients $TMPDIR/clients
        # Waits for the first answer to pings that leave each 20 ms.
        answered() { at $1 ping -n -q -i 0.02 -c 1 -w 120 10.77.0.1 > /dev/null; }
        for n in $(seq $N); do client $n --key-file $TMPDIR/c$n.key; done
        for n in $(seq $N); do passes $n 10.77.0.1; done
        for run in 1 2 3; do
            for n in $(seq $N); do
                iperf3 -s -1 -B 10.77.0.1 -p $((5200 + n)) > /dev/null 2>&1 & I[n]=$!
            done
            sleep 2
            for n in $(seq $N); do
                at $n timeout 40 iperf3 -c 10.77.0.1 -p $((5200 + n)) -R -b 5M -t 20 -J > $TMPDIR/iperf$n 2>&1 & D[n]=$!
            done
            sleep 5
            "$P" tunnel clients revoke c20 --clients $TMPDIR/clients 2>> $TMPDIR/notes
            # Client 19 claims the address of client 18 while both download.
            at 19 ip addr add 10.77.0.19/32 dev paceline0
            at 19 ping -n -q -c 10 -i 0.2 -W 1 -I 10.77.0.19 10.77.0.1 | grep -o "10 packets transmitted, [0-9]* received"
            at 19 ip addr del 10.77.0.19/32 dev paceline0
            for n in $(seq 19); do wait ${D[n]}; done
            # The revoked client's download ends by its time limit; the server of the download has no other end.
            wait ${D[20]}; kill ${I[20]} 2> /dev/null; wait ${I[@]} 2> /dev/null
            for n in $(seq 19); do
                sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[^0-9]*\([0-9.]*\).*/\1/p' $TMPDIR/iperf$n
            done | sort -n | awk '{ rate[NR] = $1 / 1e6; sum += rate[NR] }
                END { printf "run: clients %d, Mbit/s each: min %.2f, median %.2f, max %.2f; together %.1f\n",
                      NR, rate[1], rate[int((NR + 1) / 2)], rate[NR], sum }'
            "$P" tunnel status outer > $TMPDIR/status
            grep -c "^ *c[0-9]* .* no *$" $TMPDIR/status | sed 's/^/not connected: /'
            # The server is killed, and starts again with the same keys and list.
            kill -9 $S; wait $S 2> /dev/null; serve --loops $LOOPS --clients $TMPDIR/clients; begin=$(date +%s%N)
            for n in $(seq 19); do
                (answered $n && echo $((($(date +%s%N) - begin) / 1000000)) >> $TMPDIR/again$run) & W[n]=$!
            done
            wait ${W[@]}
            sort -n $TMPDIR/again$run | awk '{ ms[NR] = $1 } END { printf "restart: clients %d, seconds until a packet passes: min %.2f, median %.2f, max %.2f\n",
                NR, ms[1] / 1000, ms[int((NR + 1) / 2)] / 1000, ms[NR] / 1000 }'
            # For the next run, client 20 is listed again with a key of its own.
            rm -f $TMPDIR/c20.key; add c20 --address 10.77.0.21 --address fd77::15
            kill ${C[20]} 2> /dev/null; wait ${C[20]} 2> /dev/null
            client 20 --key-file $TMPDIR/c20.key; passes 20 10.77.0.1
        done
        stop; end"#;
    let script = format!("LOOPS={loops}\n{KEYS}{script}");
    let needs = ["ping", "ip", "nsenter", "unshare", "iperf3"];
    let script = format!("{FUNCTIONS}{script}");
    let Some(output) = network::alone_within("an_office", &needs, &script, 1200) else { return };
    let (seen, err) = (lines(&output), text(&output.stderr));
    eprintln!("event loops: {loops}\n{}", seen.join("\n"));
    let count = |part: &str| seen.iter().filter(|line| line.contains(part)).count();
    assert_eq!(count("10 packets transmitted, 0 received"), 3, "{seen:#?}\n{err}");
    assert_eq!(count("run: clients 19"), 3, "{seen:#?}\n{err}");
    assert_eq!(count("not connected: 0"), 3, "the revoked client is not listed\n{seen:#?}\n{err}");
    assert_eq!(count("restart: clients 19"), 3, "{seen:#?}\n{err}");
    assert_eq!(count("server 0"), 1, "{seen:#?}\n{err}");
}
