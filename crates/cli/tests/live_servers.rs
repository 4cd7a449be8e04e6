//! Emulations with a server outside: when the program inside starts, and which emulators lie
//! between both.

#[path = "common/alone.rs"]
mod alone;

use alone::{alone, lines, text};
use paceline_testing::Folder;

#[test]
fn a_program_waits_for_its_server() {
    // Without --wait-for the connection would be refused: the server needs a second to start.
    let folder = Folder::new("waits");
    let server = format!("sleep 1; exec $P traffic receive --bytes {}", folder.path("bytes"));
    let reach = "exec 3<>/dev/tcp/$PACELINE_BASE/5310 && echo reached";
    let script = format!(
        "export P\n\
         $P delay 1ms --outside '{server}' --wait-for 5310 -- bash -c '{reach}'; echo $?\n\
         $P delay 1ms --outside '{server}' --wait-for 5310/tcp -q -- bash -c '{reach}'; echo $?"
    );
    let test = "a_program_waits_for_its_server";
    let Some(output) = alone(test, &["bash"], &script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["reached", "0", "reached", "0"], "{err}");
}

#[test]
fn waiting_for_a_server_can_be_interrupted() {
    let script = "set -m\n\
        $P delay 1ms --outside 'echo up >&3; exec sleep 1000' --wait-for 9/udp -- echo ran 3> up.$$ & emulator=$!\n\
        until [ -s up.$$ ]; do sleep 0.02; done\n\
        kill -INT $emulator; wait $emulator; echo $?; rm up.$$";
    let folder = Folder::new("interrupted");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let test = "waiting_for_a_server_can_be_interrupted";
    let Some(output) = alone(test, &[], &script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["130"], "{err}");
}

#[test]
fn a_server_that_fails_is_not_waited_for() {
    let script = "date +%s\n\
        $P link --up 12Mbps --down 12Mbps --outside 'exit 3' --wait-for 5310 -- echo ran; echo $?\n\
        date +%s";
    let test = "a_server_that_fails_is_not_waited_for";
    let Some(output) = alone(test, &[], script) else { return };
    let (out, err) = (lines(&output), text(&output.stderr));
    assert_eq!((out.len(), &*out[1]), (3, "1"), "{out:?}{err}");
    let said = "the command of --outside has failed, and nothing listens at TCP port 5310";
    assert!(err.contains(said), "{err}");
    assert!(err.contains("has ended with status 3"), "{err}");
    let [from, until]: [u64; 2] = [&out[0], &out[2]].map(|time| time.parse().expect("seconds"));
    assert!(until - from < 20, "30 s is the time without a failure: {out:?}");
}

#[test]
fn an_inner_shells_outside_is_warned_of() {
    // Packets to the command of --outside do not pass the delay.
    let inner = "$P link --up 12Mbps --down 12Mbps --outside 'exec sleep 1000'";
    let script = format!(
        "$P delay 1ms -q -- {inner} -- true; echo $?\n\
         $P delay 1ms -q -- {inner} --strict -q -- true; echo $?\n\
         {inner} -- true 2>&1 | grep -c 'do not pass'"
    );
    let Some(output) = alone("an_inner_shells_outside_is_warned_of", &[], &script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["0", "1", "0"], "{err}");
    let warning = "warning: [delay 1ms] [link 12Mbps]: the command of --outside runs between this \
                   emulator and those around it, so that packets to it do not pass [delay 1ms]";
    assert_eq!(err.matches(warning).count(), 2, "{err}");
}

#[test]
fn a_link_has_delay_and_loss_of_its_own() {
    let script = "\
        $P link --up 12Mbps --down 12Mbps --delay 20ms -- ping -n -i 0.02 -c 5 -W 20 $PACELINE_BASE\n\
        for way in --loss --up-loss --down-loss; do\n\
            $P link --up 12Mbps --down 12Mbps $way 100% -q -- \
            sh -c 'ping -n -i 0.02 -c 3 -W 1 $PACELINE_BASE | grep -c ttl'\n\
        done\n\
        $P link --up 12Mbps --down 12Mbps --loss 100% --up-loss 0 --down-loss 0% -q -- \
            sh -c 'ping -n -c 1 -W 20 $PACELINE_BASE | grep -c ttl'"
        .replace("ping -n -i 0.02 -c 5 -W 20 $PACELINE_BASE", "sh -c 'ping -n -i 0.02 -c 5 -W 20 $PACELINE_BASE | grep -o time=.*'");
    let test = "a_link_has_delay_and_loss_of_its_own";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let (out, err) = (lines(&output), text(&output.stderr));
    assert_eq!(out.len(), 9, "{out:?}{err}");
    for line in &out[..5] {
        let ms: f64 = line["time=".len()..].trim_end_matches(" ms").parse().expect("a time");
        assert!(ms >= 40.0, "{out:?}");
    }
    assert_eq!(out[5..], ["0", "0", "0", "1"], "{out:?}{err}");
    assert!(err.contains("[link 12Mbps 20ms]: up "), "{err}");
}

#[test]
fn the_end_says_what_has_passed_and_what_was_written() {
    let folder = Folder::new("ending");
    let (page, log) = (folder.path("page"), folder.path("log"));
    let script = format!(
        "$P link --up 12Mbps --down 12Mbps -o {page} --log {log} -- \
            sh -c 'ping -n -c 1 -W 20 $PACELINE_BASE > /dev/null'\n\
         $P link --up 12Mbps --down 12Mbps -o {page} -q -- true\n\
         $P mm-delay 1 true"
    );
    let test = "the_end_says_what_has_passed_and_what_was_written";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    let said: Vec<&str> = err.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!(said.len(), 4, "{err}");
    assert!(said[0].starts_with("[link 12Mbps]: up 1 packet at "), "{err}");
    assert!(said[0].contains(" 0 lost; down 1 packet at "), "{err}");
    for (line, direction) in said[1..3].iter().zip(["up", "down"]) {
        assert!(line.starts_with(&format!("[link 12Mbps]: {direction} icmp ")), "{err}");
        assert!(line.ends_with(" 0 dropped"), "{err}");
    }
    assert_eq!(said[3], format!("wrote {page}/emulation.html, {log}.up, {log}.down"), "{err}");
}

#[test]
fn a_figure_beyond_its_bound_fails_the_run() {
    // At 1 Mbit/s 20 packets of 1500 bytes wait at least 120 ms.
    let pings = "ping -n -q -s 1472 -i 0.002 -c 20 -W 20 $PACELINE_BASE > /dev/null";
    let link = "$P link --up 1Mbps --down 50Mbps -q";
    let script = format!(
        "{link} --fail-if 'up.max>5ms' -- sh -c '{pings}'; echo $?\n\
         {link} --fail-if 'down.max>10s' --fail-if 'throughput>60Mbps' -- sh -c '{pings}'; echo $?\n\
         {link} --fail-if 'loss<0' -- sh -c 'exit 7'; echo $?\n\
         {link} --up-loss 100% --fail-if 'up.loss>1%' -- sh -c 'ping -n -c 1 -W 1 $PACELINE_BASE > /dev/null; true'; echo $?\n\
         $P delay 1ms -q --fail-if 'p95>1ms' -- true; echo $?\n\
         {link} --fail-if 'down.p95>10s' -- true; echo $?\n\
         {link} --warmup 30s --fail-if 'throughput>60Mbps' -- true; echo $?"
    );
    let test = "a_figure_beyond_its_bound_fails_the_run";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    assert_eq!(lines(&output), ["1", "0", "7", "1", "1", "1", "1"], "{err}");
    assert!(err.contains("failed: [link 1Mbps 50Mbps]: --fail-if up.max>5ms: "), "{err}");
    assert!(err.contains("--fail-if up.loss>1%: 100.00 % up"), "{err}");
    assert!(err.contains("--fail-if p95>1ms: there is no link with such a figure"), "{err}");
    assert!(err.contains("down.p95>10s: cannot be decided: no packet came down"), "{err}");
    assert!(err.contains("before the end of its warm-up of 30 s: its links' figures"), "{err}");
}
