//! Emulations of real programs on the running kernel: nested shells, signals, names, arguments.

#[path = "common/alone.rs"]
mod alone;
mod common;

use std::io::Write;

use alone::{alone, lines, skip, text, times};
use paceline_testing::Folder;

#[test]
fn the_status_of_the_program_is_passed_on() {
    let script = "\
        $P delay 1ms -- sh -c 'exit 7'; echo $?\n\
        $P delay 1ms sh -c 'exit 9' --meter; echo $?\n\
        $P delay 1ms -- sh -c 'kill -TERM $$'; echo $?\n\
        $P delay 1ms -- sh -c 'kill -KILL $$'; echo $?\n\
        $P delay 1ms -- no-such-program; echo $?\n\
        $P delay 1ms -- /etc/passwd; echo $?";
    let Some(output) = alone("the_status_of_the_program_is_passed_on", &[], script) else { return };
    assert_eq!(lines(&output), ["7", "9", "143", "137", "127", "126"], "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no-such-program"));
}

#[test]
fn signals_are_passed_on() {
    // With job control bash does not make background programs ignore signals.
    let script = "\
        set -m\n\
        for signal in INT TERM HUP QUIT USR1; do\n\
            $P delay 1ms -- sh -c 'echo up; exec sleep 50' > up.$$ & emulator=$!\n\
            until [ -s up.$$ ]; do sleep 0.02; done\n\
            sleep 0.05; kill -$signal $emulator; wait $emulator; echo $signal $?; rm up.$$\n\
        done 2>/dev/null\n\
        $P delay 1ms -- sh -c 'trap \"exit 3\" TERM; echo up >&3; while :; do sleep 0.01; done' 3> up.$$ &\n\
        emulator=$!; until [ -s up.$$ ]; do sleep 0.02; done\n\
        kill -TERM $emulator; wait $emulator; echo caught $?; rm up.$$";
    let folder = Folder::new("signals");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let Some(output) = alone("signals_are_passed_on", &[], &script) else { return };
    let wanted = ["INT 130", "TERM 143", "HUP 129", "QUIT 131", "USR1 138", "caught 3"];
    assert_eq!(lines(&output), wanted, "{}", text(&output.stderr));
}

#[test]
fn the_outside_answers_in_both_families() {
    let script = "$P delay $REALTIME 20ms -- sh -c '\
        echo $PACELINE_BASE $MAHIMAHI_BASE $PACELINE_BASE6\n\
        $AHEAD ping -n -i 0.02 -c 25 -W 10 $PACELINE_BASE\n\
        $AHEAD ping -6 -n -i 0.02 -c 25 -W 10 $PACELINE_BASE6'";
    let test = "the_outside_answers_in_both_families";
    let Some(output) = alone(test, &["ping"], script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(lines(&output)[0], "100.64.0.1 100.64.0.1 fd6e:a13c:52d4::6440:1");
    let (four, six) = out.rsplit_once("PING").unwrap_or_else(|| panic!("{out}{err}"));
    for family in [four, six] {
        let times = times(family);
        assert_eq!(times.len(), 25, "{out}{err}");
        // No packet may be early. A busy machine makes some late, but hardly all of them by as much
        // as a third delay.
        assert!((40.0..60.0).contains(&times[0]), "the fastest took {} ms", times[0]);
    }
}

#[test]
fn a_delay_follows_a_recording() {
    // The recorded delay is 30 ms each way for half a second, then 5 ms; the recording repeats
    // after a second.
    let folder = Folder::new("recording");
    let lines = "30\n".repeat(50) + &"5\n".repeat(50);
    let trace = folder.write("delays", lines.as_bytes());
    let script = format!(
        "$P delay $REALTIME --trace {trace} --json {sum} -- ping -n -i 0.02 -c 100 $PACELINE_BASE\n\
         $P delay 10ms --trace {trace} -- ping -n -c 1 $PACELINE_BASE | head -1",
        sum = folder.path("sum")
    )
    .replace("ping -n", "sh -c '$AHEAD ping -n")
    .replace("$PACELINE_BASE", "$PACELINE_BASE'");
    let test = "a_delay_follows_a_recording";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    let times = times(&text(&output.stdout));
    assert_eq!(times.len(), 100, "{}{err}", text(&output.stdout));
    // Each delay is in effect for half of each second. A ping between them meets both, 35 ms in
    // all. A busy machine adds to the times.
    let long = times.iter().filter(|time| **time >= 60.0).count();
    let short = times.iter().filter(|time| **time < 35.0).count();
    assert!(long >= 30 && short >= 30, "{times:?} {err}");
    assert!(times[0] >= 10.0, "{times:?}");
    let refused = common::paceline(&["delay", "--trace", "/no/such", "--", "true"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("/no/such: no such file"), "{}", refused.err);
}

#[test]
fn shells_nest() {
    // The innermost shell reaches the outermost's base only through two translations.
    let script = "$P delay 1ms -- $P loss uplink 0 -- $P meter -- sh -c '\
        echo $PACELINE_BASE $PACELINE_BASE6\n\
        for to in 100.64.0.1 100.64.0.3 100.64.0.5; do\n\
            ping -n -c 1 -W 5 $to > /dev/null && echo $to; done\n\
        for to in 1 3 5; do\n\
            ping -6 -n -c 1 -W 5 fd6e:a13c:52d4::6440:$to > /dev/null && echo $to; done\n\
        exit 5'; echo $?";
    let Some(output) = alone("shells_nest", &["ping"], script) else { return };
    // The address is the outermost shell's, so packets to it pass all shells.
    let wanted = [
        "100.64.0.1 fd6e:a13c:52d4::6440:1",
        "100.64.0.1",
        "100.64.0.3",
        "100.64.0.5",
        "1",
        "3",
        "5",
        "5",
    ];
    assert_eq!(lines(&output), wanted, "{}", text(&output.stderr));
}

#[test]
fn a_nested_companion_is_the_one_that_is_named() {
    let script = "$P delay 20ms -- $P delay 1ms --outside 'echo outside $PACELINE_BASE; \
        touch $TMPDIR/told; sleep 1000' -- sh -c 'echo inside $PACELINE_BASE $MAHIMAHI_BASE\n\
        until [ -e $TMPDIR/told ]; do sleep 0.02; done; rm $TMPDIR/told\n\
        ping -n -i 0.05 -c 5 -W 5 $PACELINE_BASE; echo behind both\n\
        ping -n -i 0.05 -c 5 -W 5 $MAHIMAHI_BASE'";
    let test = "a_nested_companion_is_the_one_that_is_named";
    let Some(output) = alone(test, &["ping"], script) else { return };
    let err = text(&output.stderr);
    let lines = lines(&output);
    for line in ["inside 100.64.0.3 100.64.0.1", "outside 100.64.0.3"] {
        assert!(lines.iter().any(|found| found == line), "{lines:?} {err}");
    }
    // The companion runs between the shells; the outermost shell's end lies behind both.
    let out = text(&output.stdout);
    let (one, both) = out.split_once("behind both").unwrap_or_else(|| panic!("{out}{err}"));
    let (one, both) = (times(one), times(both));
    assert!((one.len(), both.len()) == (5, 5) && one[0] < 40.0 && both[0] >= 42.0, "{out} {err}");
}

#[test]
fn two_at_a_time_share_the_settings() {
    // The outer shell has an interface with a default route, which must forward the answers.
    let script = "$P meter -- bash -c '\
        look() { cat /proc/sys/net/ipv4/conf/ingress/forwarding /proc/sys/net/ipv4/ip_forward; }\n\
        echo 0 > /proc/sys/net/ipv4/ip_forward; look | xargs\n\
        cd $TMPDIR; await() { until [ -e $1 ]; do sleep 0.02; done; }; export -f await\n\
        $P delay 1ms -- bash -c \"touch up1; await end1\" & first=$!; await up1\n\
        $P delay 1ms -- bash -c \"ip -4 -o address show to 100.64.0.6; touch up2; await end2\" &\n\
        second=$!; await up2; touch end1; wait $first; look | xargs\n\
        touch end2; wait $second; look | xargs; rm up1 up2 end1 end2'";
    let test = "two_at_a_time_share_the_settings";
    let Some(output) = alone(test, &["ip", "xargs"], script) else { return };
    let err = text(&output.stderr);
    let lines = lines(&output);
    assert_eq!([&lines[0], &lines[2], &lines[3]], ["0 0", "1 0", "0 0"], "{lines:?} {err}");
    assert!(lines[1].contains("100.64.0.6"), "{lines:?} {err}");
}

#[test]
fn names_are_asked_for_outside() {
    // A loopback address would lead to the inner network, where no name server runs, so the outer
    // end takes its place.
    let folder = Folder::new("names");
    let file = folder.write("resolv.conf", b"nameserver 127.0.0.53\nsearch example.org\n");
    let script = format!(
        "mount --bind {file} /etc/resolv.conf || {{ echo cannot mount; exit 0; }}\n\
         $P delay 1ms -- cat /etc/resolv.conf\n\
         $P delay 1ms -- $P delay 1ms -- cat /etc/resolv.conf\n\
         cat /etc/resolv.conf; umount /etc/resolv.conf"
    );
    let test = "names_are_asked_for_outside";
    let Some(output) = alone(test, &["mount"], &script) else { return };
    if lines(&output) == ["cannot mount"] {
        return skip(test, "/etc/resolv.conf cannot be covered");
    }
    let inside = ["nameserver 100.64.0.1", "search example.org"];
    let outside = ["nameserver 127.0.0.53", "search example.org"];
    assert_eq!(lines(&output), [inside, inside, outside].concat(), "{}", text(&output.stderr));
}

/// Not a test: answers every question at 127.0.0.53 with 192.0.2.7, for the test below.
#[test]
#[ignore = "a name server for another test"]
fn name_server() {
    if std::env::var_os("PACELINE_TEST").is_none() {
        return;
    }
    let socket = std::net::UdpSocket::bind("127.0.0.53:53").expect("a socket");
    let _ = writeln!(std::io::stdout(), "ready");
    let mut question = [0; 512];
    while let Ok((length, from)) = socket.recv_from(&mut question) {
        // A header of 12 bytes, then the name's labels, then type and class.
        let labels = question[12..length].iter().position(|&byte| byte == 0).expect("a name");
        let end = 12 + labels + 5;
        let asks_for_ipv4 = question[end - 3] == 1;
        let mut answer = question[..end].to_vec();
        answer[2..4].copy_from_slice(&[0x81, 0x80]);
        answer[4..12].copy_from_slice(&[0, 1, 0, asks_for_ipv4.into(), 0, 0, 0, 0]);
        if asks_for_ipv4 {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
        }
        socket.send_to(&answer, from).expect("sent");
    }
}

#[test]
fn names_are_found_inside() {
    let test = "names_are_found_inside";
    let folder = Folder::new("server");
    let resolver = folder.write("resolv.conf", b"nameserver 127.0.0.53\n");
    let hosts = folder.write("nsswitch.conf", b"hosts: dns\n");
    let script = format!(
        "ip link set lo up; mount --bind {resolver} /etc/resolv.conf || {{ echo none; exit 0; }}\n\
         if [ -e /etc/nsswitch.conf ]; then mount --bind {hosts} /etc/nsswitch.conf; fi\n\
         {server} --ignored --exact name_server --nocapture > {out} & server=$!\n\
         until grep -q ready {out}; do sleep 0.02; done\n\
         $P delay 20ms -- sh -c 'getent ahostsv4 a.example; getent ahostsv4 b.example'\n\
         $P delay 1ms -- $P delay 1ms -- getent ahostsv4 c.example\n\
         kill $server; umount /etc/resolv.conf\n\
         if [ -e /etc/nsswitch.conf ]; then umount /etc/nsswitch.conf; fi; wait; ip link set lo down",
        server = std::env::current_exe().expect("this program").display(),
        out = folder.path("out"),
    );
    let Some(output) = alone(test, &["mount", "ip", "getent"], &script) else { return };
    if lines(&output) == ["none"] {
        return skip(test, "/etc/resolv.conf cannot be covered");
    }
    let names = lines(&output);
    for name in ["a", "b", "c"] {
        let found = names.iter().find(|line| line.ends_with(&format!("{name}.example")));
        let found =
            found.unwrap_or_else(|| panic!("no {name}: {names:?} {}", text(&output.stderr)));
        assert!(found.starts_with("192.0.2.7 "), "{found}");
    }
}

#[test]
fn mahimahis_names_and_arguments_work() {
    let folder = Folder::new("mahimahi");
    let trace = folder.write("12mbps", b"1\n");
    let log = folder.path("log");
    let links = folder.path("links");
    let script = format!(
        "$P mahimahi install {links} 2>/dev/null; PATH={links}:$PATH\n\
         mm-delay 3 mm-loss uplink 0 mm-onoff downlink 10000 0 mm-link {trace} {trace} \
         --uplink-log={log} --downlink-queue=droptail --downlink-queue-args=packets=100 -- \
         sh -c 'echo \"$MAHIMAHI_SHELL_PREFIX\"; ping -n -c 3 -i 0.05 $MAHIMAHI_BASE >/dev/null; exit 4'\n\
         echo $?; head -c 11 {log}; echo; mm-link {trace}; echo $?\n\
         mm-link {trace} {trace} --uplink-queue=nope -- true; echo $?"
    );
    let test = "mahimahis_names_and_arguments_work";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    let prompt = "[delay 3 ms] [loss up=0] [onoff (down) on=10000s off=0s] [link] ";
    assert_eq!(lines(&output), [prompt, "4", "# mahimahi ", "1", "1"], "{err}");
    assert!(err.contains("usage: mm-link") && err.contains("nope"), "{err}");
}

#[test]
fn a_script_for_mahimahi_runs_unchanged() {
    let folder = Folder::new("pantheon");
    let trace = folder.write("12mbps", b"1\n");
    let results = folder.path("results");
    let script = format!(
        "$P mahimahi install {links} 2>/dev/null; PATH={links}:$PATH; RUNS=2 DELAY=5 \
         sh {example} {trace} {trace} {results} \
         'ping -q -n -c 40 -i 0.01 -s 1200 $MAHIMAHI_BASE; echo done' 2>/dev/null; echo $?\n\
         cat {results}/run2.out | tail -1; mm-delay-graph < {results}/run1.downlink.log 2>&1 | tail -c 7\n\
         mm-throughput-graph 0 {results}/run1.uplink.log 2>/dev/null; echo $?",
        links = folder.path("links"),
        example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/pantheon-style.sh"),
    );
    let test = "a_script_for_mahimahi_runs_unchanged";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    let lines = lines(&output);
    let told = |part: &str| lines.iter().filter(|line| line.starts_with(part)).count();
    assert_eq!(told("Average capacity: 12.0"), 2, "{lines:?} {err}");
    assert_eq!(told("Average throughput: 0."), 2, "{lines:?} {err}");
    assert_eq!(told("95th percentile signal delay: "), 4, "{lines:?} {err}");
    assert_eq!(lines[lines.len() - 4..], ["0", "done", "</svg>", "1"], "{lines:?} {err}");
    let plot = std::fs::read_to_string(folder.path("results/run1.throughput.svg")).expect("a plot");
    assert!(plot.starts_with("<svg") && plot.contains("egress"));
    let both = folder.path("results/run1.uplink.log");
    let seen = common::paceline(&["log", &both, "--json"]);
    let told: serde_json::Value = serde_json::from_str(&seen.out).expect("JSON");
    assert_eq!(told["logs"][0]["packets"], 40, "{}{}", seen.out, seen.err);
    let seen = common::paceline(&["log", &both, &folder.path("no-such")]);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("no-such: cannot be read"), "{}", seen.err);
}

#[test]
fn mahimahis_once_ends_the_program_with_the_trace() {
    let folder = Folder::new("once");
    let up = folder.write("up", b"1\n300\n");
    let down = folder.write("down", b"1\n");
    let script = format!(
        "begin=$(date +%s%N); $P mm-link --once {up} {down} --uplink-log={log} -- sleep 10000; echo $?\n\
         end=$(date +%s%N); echo $(((end - begin) / 1000000))\n\
         $P mm-link --once {up} {down} -- sh -c 'exit 3'; echo $?",
        log = folder.path("log"),
    );
    let test = "mahimahis_once_ends_the_program_with_the_trace";
    let Some(output) = alone(test, &["date"], &script) else { return };
    let err = text(&output.stderr);
    let lines = lines(&output);
    assert_eq!((&*lines[0], &*lines[2]), ("0", "3"), "{err}");
    let took: u64 = lines[1].parse().expect("milliseconds");
    assert!(took >= 300, "{took} ms");
    assert_eq!(err.matches("trace is over").count(), 1, "{err}");
    let log = std::fs::read_to_string(folder.path("log")).expect("a log");
    assert_eq!(log.lines().filter(|line| line.ends_with(" # 1504")).count(), 2, "{log}");
}

#[test]
fn the_prompt_tells_where_one_is() {
    let script = "export PS1='> '; $P link --up 12mbps --down 12mbps -- $P delay 5ms -- \
        bash --norc -ic 'PS1=\"> \"; eval \"$PROMPT_COMMAND\"; echo \"$PS1\"' 2>/dev/null";
    let Some(output) = alone("the_prompt_tells_where_one_is", &[], script) else { return };
    assert_eq!(lines(&output), ["[link 12mbps] [delay 5ms] > "], "{}", text(&output.stderr));
}

/// Bash expands its prompt, after the variables in it have been replaced, too.
#[test]
fn the_name_of_a_trace_is_no_command_of_the_shell_inside() {
    let script = "cd $TMPDIR; seq 1 100 > 'a $(touch pwn)`touch pwn` b'; \
        $P link --up 'a $(touch pwn)`touch pwn` b' --down 12mbps -q -- \
        bash --norc -ic 'PS1=\"> \"; eval \"$PROMPT_COMMAND\"; echo \"${PS1@P}\"' 2>/dev/null; \
        ls | grep -c pwn; rm a*";
    let test = "the_name_of_a_trace_is_no_command_of_the_shell_inside";
    let Some(output) = alone(test, &["bash"], script) else { return };
    let prompt = "[link a ?(touch pwn)?touch pwn? b 12mbps] > ";
    // The file of the trace itself has the word in its name.
    assert_eq!(lines(&output), [prompt, "1"], "{}", text(&output.stderr));
}

#[test]
fn a_companion_runs_outside_meanwhile() {
    let script = "$P delay 1ms --outside 'echo $PACELINE_BASE; cat /proc/net/dev | grep -c delay; \
        touch $TMPDIR/told; sleep 1000' -- sh -c 'until [ -e $TMPDIR/told ]; do sleep 0.02; done; \
        rm $TMPDIR/told'";
    let Some(output) = alone("a_companion_runs_outside_meanwhile", &[], script) else { return };
    assert_eq!(lines(&output), ["100.64.0.1", "1"], "{}", text(&output.stderr));
}

#[test]
fn a_companion_that_fails_is_told_and_one_that_is_ended_is_not() {
    let script = "$P delay 1ms -q --outside 'exit 3' -- sleep 2; echo $?; \
        $P delay 1ms -q --outside 'exec sleep 1000' -- true; echo $?; \
        $P delay 1ms -q --strict --outside 'exit 3' -- sleep 2; echo $?; \
        $P delay 1ms -q --strict --fail-if 'loss>50%' --junit $TMPDIR/j.xml --outside 'exit 3' -- sleep 2; \
        grep -o 'the command of --outside has failed' $TMPDIR/j.xml; rm $TMPDIR/j.xml";
    let test = "a_companion_that_fails_is_told_and_one_that_is_ended_is_not";
    let Some(output) = alone(test, &[], script) else { return };
    let err = text(&output.stderr);
    let failed = "the command of --outside has failed";
    assert_eq!(lines(&output), ["0", "0", "1", failed], "{err}");
    assert_eq!(err.matches("the command of --outside has ended with status 3").count(), 3, "{err}");
    assert_eq!(err.matches("has ended with status").count(), 3, "{err}");
}

/// A router in front of the loopback device would limit all programs of the machine.
#[test]
fn a_router_refuses_the_loopback_device() {
    let script = "timeout 60 $P router lo --rate 20Mbps; echo $?; grep -c pl-lo /proc/net/dev";
    let Some(output) = alone("a_router_refuses_the_loopback_device", &[], script) else { return };
    let err = text(&output.stderr);
    assert!(err.contains("lo is no Ethernet device"), "{err}");
    assert_eq!(lines(&output)[..2], ["1", "0"], "{err}");
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_made() {
    let refused = |arguments: &[&str]| {
        let seen = common::paceline(arguments);
        assert_eq!(seen.code, 2, "{arguments:?}: {}", seen.err);
        seen.err
    };
    assert!(refused(&["delay", "fast"]).contains("fast"));
    assert!(refused(&["loss", "uplink", "1.5"]).contains("probability"));
    assert!(refused(&["link", "--up", "1mbps"]).contains("--down"));
    let queue = ["link", "--up", "1mbps", "--down", "1mbps", "--up-queue", "codle"];
    assert!(refused(&queue).contains("codel"));
    let cpu = ["delay", "5ms", "--cpu", "4444", "--", "true"];
    assert!(refused(&cpu).contains("--cpu 4444"));
    let folder = Folder::new("refused");
    let place = folder.path("no-such/x");
    for option in ["--summary", "--pcap", "--releases", "--log", "--junit"] {
        let line =
            ["link", "--preset", "3g", "--fail-if", "loss>50%", option, &place, "--", "true"];
        assert!(refused(&line).contains("cannot be written"), "{option}");
    }
    let file = folder.write("file", b"in the way");
    let line = ["link", "--preset", "3g", "-o", &file, "--", "true"];
    assert!(refused(&line).contains("cannot be written"));
    for (program, status) in [("delay", 2), ("mm-delay", 1)] {
        let seen = std::process::Command::new(alone::PROGRAM)
            .args([program, if program == "delay" { "5ms" } else { "5" }, "true"])
            .env("PACELINE_NETWORK", "bogus")
            .output()
            .expect("the program starts");
        let err = text(&seen.stderr);
        assert_eq!(seen.status.code(), Some(status), "{program}: {err}");
        assert!(err.contains("$PACELINE_NETWORK: expected an IPv4 network"), "{program}: {err}");
    }
    let none = common::paceline(&["link", "--up", "no-such", "--down", "1mbps", "--", "true"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("no-such") && none.out.is_empty(), "{}{}", none.err, none.out);
}

#[test]
fn the_path_of_a_scenario_is_emulated() {
    let folder = Folder::new("scenario");
    let scenario = b"duration = \"10s\"\n\
        [[link]]\nname = \"narrow\"\nrate = \"2Mbps\"\n\
        [[flow]]\nscheme = \"cubic\"\npath = [\"narrow\"]\nrtt = \"30ms\"\n\
        [[flow]]\nname = \"far\"\nscheme = \"cubic\"\npath = [\"narrow\"]\nrtt = \"60ms\"\n";
    let file = folder.write("two.toml", scenario);
    let script = format!(
        "$P link --scenario {file} -- true; echo $?\n\
         $P link --scenario {file} --flow far $REALTIME -- $AHEAD ping -n -i 0.05 -c 9 -W 5 100.64.0.1"
    );
    let test = "the_path_of_a_scenario_is_emulated";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    assert!(err.contains("--flow"), "{err}");
    let out = text(&output.stdout);
    assert!(out.starts_with("2\n"), "{out}");
    // 60 ms, and the time of 84 bytes at 2 Mbit/s: 0.336 ms.
    let times = times(&out);
    assert_eq!(times.len(), 9, "{out}{err}");
    assert!((60.3..90.0).contains(&times[0]), "{times:?}");
}
