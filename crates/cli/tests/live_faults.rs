//! Tests of emulations when something is missing, fails or is killed, and that nothing is left
//! behind.

#[path = "common/alone.rs"]
mod alone;

use alone::{PROGRAM, alone, lines, skip, text};
use paceline_testing::Folder;

#[test]
fn programs_left_over_end_with_the_shell() {
    let script = "$P delay 1ms -- sh -c 'sleep 1000 & setsid sleep 1000 &\n\
        (trap \"\" TERM HUP; sleep 1000) & exit 0'; echo $?";
    let Some(output) = alone("programs_left_over_end_with_the_shell", &[], script) else { return };
    assert_eq!(lines(&output), ["0"], "{}", text(&output.stderr));
}

#[test]
fn a_killed_program_leaves_nothing() {
    let script = "$P delay 1ms -- sh -c 'sleep 1000 & kill -KILL $$'; echo $?";
    let Some(output) = alone("a_killed_program_leaves_nothing", &[], script) else { return };
    assert_eq!(lines(&output), ["137"], "{}", text(&output.stderr));
}

#[test]
fn a_killed_emulator_leaves_nothing() {
    // The supervisor removes devices and rules when it notices the emulator's death.
    let script = "\
        set -m\n\
        $P delay 1ms -- sh -c 'sleep 1000 & setsid sleep 1000 & echo up >&3; sleep 1000' 3> up.$$ &\n\
        emulator=$!; until [ -s up.$$ ]; do sleep 0.02; done\n\
        kill -KILL $emulator; wait $emulator; echo $?; rm up.$$\n\
        for i in $(seq 2000); do [ \"$(look)\" = \"$before\" ] && break; sleep 0.05; done; sleep 0.2";
    let folder = Folder::new("killed");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let Some(output) = alone("a_killed_emulator_leaves_nothing", &[], &script) else { return };
    assert_eq!(lines(&output), ["137"], "{}", text(&output.stderr));
}

#[test]
fn the_emulator_alone_is_bound_and_put_ahead() {
    // The program's parent is the supervisor, whose parent is the emulator. /proc/PID/stat has,
    // after the name, the nice value (field 19) and the policy (41).
    let look = "emulator=$(sed -n \"s/^PPid:\\t//p\" /proc/$PPID/status)\n\
        of() { echo $(sed -n \"s/^Cpus_allowed_list:\\t//p\" /proc/$1/status) \
        $(cut -d\" \" -f19,41 /proc/$1/stat); }\n\
        for i in $(seq 3000); do [ \"$(of $emulator)\" = \"$WANTED\" ] && break; sleep 0.02; done\n\
        of $emulator; of self";
    let script = format!(
        "renice -n 0 -p $$ > /dev/null 2>&1; look='{look}'; all=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)\n\
         last=$(echo $all | grep -o '[0-9]*$'); echo $all $last\n\
         WANTED=\"$last -20 0\" $P delay 1ms --cpu $last -- sh -c \"$look\"\n\
         WANTED=\"$last 0 1\" $P delay 1ms --cpu $last --realtime -- sh -c \"$look\"\n\
         WANTED=\"$all 3 0\" nice -n 3 $P delay 1ms -- sh -c \"$look\"\n\
         WANTED=\"$all 3 1\" nice -n 3 $P delay 1ms --realtime -- sh -c \"$look\"\n\
         $P delay 1ms --cpu 1000 -- echo ran; echo $?"
    );
    let test = "the_emulator_alone_is_bound_and_put_ahead";
    let Some(output) = alone(test, &["sed", "seq", "nice", "renice"], &script) else { return };
    let err = text(&output.stderr);
    let lines = lines(&output);
    if err.contains("CAP_") {
        return skip(test, "no right to be put ahead (CAP_SYS_NICE, CAP_IPC_LOCK)");
    }
    let (all, last) = lines[0].split_once(' ').expect("two words");
    let wanted = [
        format!("{last} -20 0"),
        format!("{all} 0 0"),
        format!("{last} 0 1"),
        format!("{all} 0 0"),
        format!("{all} 3 0"),
        format!("{all} 3 0"),
        format!("{all} 3 1"),
        format!("{all} 3 0"),
        "2".into(),
    ];
    assert_eq!(lines[1..], wanted, "{err}");
    let refusal = "--cpu 1000: there is no such processor";
    assert!(err.contains(refusal) && err.contains(&format!("those are {all}")), "{err}");
}

#[test]
fn packets_on_their_way_arrive_in_the_grace_period() {
    let folder = Folder::new("grace");
    let script = format!(
        "while read grace delay; do $P delay $delay --grace $grace --json {json}$grace -- bash -c '\
         for i in 1 2 3 4 5; do echo hello > /dev/udp/$PACELINE_BASE/4000; done; exit 3'; echo $?\n\
         done <<< $'0ms 60s\n3s 1s'\n\
         $P delay 1ms --grace 1h -- sh -c 'touch {ended}; exit 4' & emulator=$!\n\
         until [ -e {ended} ]; do sleep 0.02; done\n\
         sleep 1; kill -TERM $emulator; wait $emulator; echo $?",
        json = folder.path("sum"),
        ended = folder.path("ended"),
    );
    let test = "packets_on_their_way_arrive_in_the_grace_period";
    let Some(output) = alone(test, &[], &script) else { return };
    // A signal ends the wait of an hour.
    assert_eq!(lines(&output), ["3", "3", "4"], "{}", text(&output.stderr));
    let sent = |grace: &str| {
        let sum = std::fs::read_to_string(folder.path(&format!("sum{grace}"))).expect("a summary");
        let sum: serde_json::Value = serde_json::from_str(&sum).expect("JSON");
        sum["up"]["sent_packets"].as_u64()
    };
    // Without --grace the emulator may end before it has received them.
    assert_eq!((sent("0ms"), sent("3s")), (Some(0), Some(5)));
}

#[test]
fn a_summary_is_valid_however_the_emulator_ends() {
    let folder = Folder::new("complete");
    let script = format!(
        "set +m; for signal in TERM ALRM PROF KILL; do\n\
         $P delay 1ms --json {json}$signal -- sleep 50 & emulator=$!\n\
         until [ -s {json}$signal ]; do sleep 0.02; done; sleep 0.2\n\
         kill -$signal $emulator; wait $emulator; echo $?; done 2>/dev/null\n\
         for i in $(seq 2000); do [ \"$(look)\" = \"$before\" ] && break; sleep 0.05; done; sleep 0.2",
        json = folder.path("sum")
    );
    let test = "a_summary_is_valid_however_the_emulator_ends";
    let Some(output) = alone(test, &[], &script) else { return };
    assert_eq!(lines(&output), ["143", "143", "143", "137"], "{}", text(&output.stderr));
    let complete = |signal: &str| {
        let sum = std::fs::read_to_string(folder.path(&format!("sum{signal}"))).expect("a summary");
        let sum: serde_json::Value = serde_json::from_str(&sum).expect("JSON");
        sum["complete"].as_bool()
    };
    let told = ["TERM", "ALRM", "PROF", "KILL"].map(complete);
    assert_eq!(told, [Some(true), Some(true), Some(true), Some(false)]);
}

#[test]
fn what_realtime_needs_is_named() {
    let script = "ulimit -r 0; ulimit -l 0\n\
        for right in sys_nice ipc_lock; do\n\
            setpriv --inh-caps=-$right --bounding-set=-$right \
                $P delay 1ms --realtime -- echo ran; echo $?\n\
        done";
    let test = "what_realtime_needs_is_named";
    let Some(output) = alone(test, &["setpriv"], script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["1", "1"], "{err}");
    assert!(err.contains("setcap") && err.contains("CAP_IPC_LOCK"), "{err}");
    if err.matches("locking memory needs CAP_IPC_LOCK").count() == 2 {
        return skip(test, "its half about CAP_SYS_NICE: without root, memory cannot be locked");
    }
    assert!(err.contains("scheduling needs CAP_SYS_NICE"), "{err}");
}

#[test]
fn an_outage_of_an_hour_does_no_harm() {
    let folder = Folder::new("outage");
    // Ten opportunities, then nothing for an hour.
    let trace = folder.write("trace", b"1\n1\n1\n1\n1\n1\n1\n1\n1\n1\n3600001\n");
    let json = folder.path("sum");
    let script = format!(
        "$P link --up {trace} --down 12Mbps --log {log} --json {json} -- sh -c '\
         ping -n -c 20 -i 0.02 -s 1400 -W 1 $PACELINE_BASE > /dev/null; exit 3'; echo $?",
        log = folder.path("log"),
    );
    let test = "an_outage_of_an_hour_does_no_harm";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["3"], "{err}");
    let sum = std::fs::read_to_string(&json).expect("a summary");
    let sum: serde_json::Value = serde_json::from_str(&sum).expect("JSON");
    let log = std::fs::read_to_string(folder.path("log.up")).expect("a log");
    let count = |kind: &str| log.lines().filter(|line| line.contains(kind)).count();
    // The pings come after the last opportunity, or the first few just before it.
    assert!(count(" + ") >= 20 && count(" - ") <= 10, "{log}");
    assert_eq!(count(" # "), 10, "{log}");
    assert_eq!(sum["up"]["drops"].as_u64(), Some(0), "{sum}");
    // An outage does not count as lateness: a busy machine adds far less than an hour.
    assert!(sum["lateness_ms"]["max"].as_f64() < Some(60_000.0), "{sum}");
}

#[test]
fn without_root_a_network_of_ones_own_lies_outside() {
    let test = "without_root_a_network_of_ones_own_lies_outside";
    let copy = Folder::new("unprivileged");
    let program = copy.path("paceline");
    std::fs::copy(PROGRAM, &program).expect("a copy that everybody may execute");
    // Other users must be able to read the folder and to open the tun device. If only root can open
    // the system's device, the script mounts a second node of it over it, in this mount namespace
    // only.
    let script = format!(
        "chmod 755 {folder} {program}\n\
         as() {{ setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; }}\n\
         [ $(id -u) = 0 ] && as true 2>/dev/null || as() {{ \"$@\"; }}\n\
         as unshare --user true 2>/dev/null || {{ echo no user namespaces here; exit 0; }}\n\
         mknod -m 666 {folder}/tun c 10 200 2>/dev/null && mount --bind {folder}/tun /dev/net/tun && over=yes\n\
         as sh -c 'exec 3<>/dev/net/tun' || {{ echo /dev/net/tun is for root alone; exit 0; }}\n\
         as {program} delay 1ms -- sh -c 'id -u; ping -n -c 1 -W 5 $PACELINE_BASE >/dev/null && echo four\n\
         ping -6 -n -c 1 -W 5 $PACELINE_BASE6 >/dev/null && echo six\n\
         {program} delay 1ms -- ping -n -c 1 -W 5 100.64.0.1 >/dev/null && echo nested; exit 6'\n\
         echo $?; [ -z \"$over\" ] || umount /dev/net/tun\n\
         rm -f {folder}/tun",
        folder = copy.path(""),
    );
    let Some(output) = alone(test, &["ping", "setpriv"], &script) else { return };
    let lines = lines(&output);
    let err = text(&output.stderr);
    if let [why] = &lines[..] {
        assert!(
            why == "no user namespaces here" || why == "/dev/net/tun is for root alone",
            "{err}"
        );
        return skip(test, why);
    }
    assert_eq!(lines[1..], ["four", "six", "nested", "6"], "{err}");
    if lines[0] != "0" {
        assert!(err.contains("--outside"), "the limits are not told: {err}");
    }
}

#[test]
fn a_missing_right_is_named_with_its_remedy() {
    let test = "a_missing_right_is_named_with_its_remedy";
    // Runs in a user namespace that allows no further ones, and without any capability.
    let script = "unshare --map-root-user sh -c '\
        echo 0 > /proc/sys/user/max_user_namespaces || exit 99\n\
        exec setpriv --inh-caps=-all --bounding-set=-all $P delay 1ms -- true'; echo $?";
    let Some(output) = alone(test, &["setpriv"], script) else { return };
    if lines(&output) == ["99"] {
        return skip(test, "user namespaces cannot be limited here");
    }
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["1"], "{err}");
    for part in ["CAP_NET_ADMIN", "CAP_SYS_ADMIN", "setcap", "max_user_namespaces"] {
        assert!(err.contains(part), "no {part} in: {err}");
    }
}

#[test]
fn a_firewall_that_passes_nothing_on_gets_an_exception() {
    let test = "a_firewall_that_passes_nothing_on_gets_an_exception";
    let script = "$P meter -- sh -c '\
        iptables -P FORWARD DROP && ip6tables -P FORWARD DROP || { echo none; exit; }\n\
        iptables -S > before; ip6tables -S >> before\n\
        $P meter -- ping -n -c 1 -W 5 100.64.0.1 > /dev/null && echo four\n\
        $P meter -- ping -6 -n -c 1 -W 5 fd6e:a13c:52d4::6440:1 > /dev/null && echo six\n\
        iptables -S > after; ip6tables -S >> after; cmp before after && echo restored'";
    let folder = Folder::new("firewall");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let Some(output) = alone(test, &["ping", "iptables"], &script) else { return };
    if lines(&output) == ["none"] {
        return skip(test, "iptables does not work here");
    }
    assert_eq!(lines(&output), ["four", "six", "restored"], "{}", text(&output.stderr));
}

#[test]
fn a_device_taken_away_ends_the_program() {
    let script = "$P delay 1ms -- sh -c 'trap \"\" TERM HUP; ip link delete ingress; sleep 1000'\n\
        echo $?";
    let test = "a_device_taken_away_ends_the_program";
    let Some(output) = alone(test, &["ip"], script) else { return };
    assert_eq!(lines(&output), ["137"], "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("taken away"), "{}", text(&output.stderr));
}

#[test]
fn a_file_that_cannot_be_written_is_told_of_before_anything_runs() {
    let test = "a_file_that_cannot_be_written_is_told_of_before_anything_runs";
    let script = "for option in --json --pcap --report --log; do\n\
        $P link --up 1mbps --down 1mbps $option /proc/no/such -- echo ran; echo $?; done";
    let Some(output) = alone(test, &[], script) else { return };
    assert_eq!(lines(&output), ["2", "2", "2", "2"], "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).matches("/proc/no/such").count(), 4);
}
