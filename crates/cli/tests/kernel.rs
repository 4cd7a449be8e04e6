//! `paceline kernel` as a program: its output, and loaders that are killed.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use paceline_testing::{Need, skip, this_test};

/// All tests share the kernel's list of congestion controls, so they run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn paceline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_paceline")).args(args).output().expect("runs")
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = paceline(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns the row of `abc` in `paceline kernel list --json`.
fn abc() -> serde_json::Value {
    let list = json(&["kernel", "list", "--json"]);
    let rows = list["programs"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == "abc").expect("a row of abc").clone()
}

/// Waits until the row of `abc` fulfils a condition, and returns it: the kernel frees the resources
/// of a process a moment after its end.
fn abc_once(what: &str, is_so: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let state = abc();
        if is_so(&state) {
            return state;
        }
        assert!(Instant::now() < end, "{what}: {state}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns true if this machine can load programs; otherwise reports the test as skipped.
fn can_load() -> bool {
    let status = json(&["kernel", "status", "--json"]);
    let taken = abc()["available"] == true;
    let why = status["missing"].as_str().map(String::from);
    let why = why.or_else(|| taken.then(|| "`abc` is loaded already; unload it".into()));
    if let Some(why) = &why {
        skip(Need::Kernel, &this_test(), why);
    }
    why.is_none()
}

#[test]
fn what_is_missing_is_one_clear_sentence() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let status = json(&["kernel", "status", "--json"]);
    if let Some(missing) = status["missing"].as_str() {
        let output = paceline(&["kernel", "load", "abc"]);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(missing), "{said}");
    }
    let output = paceline(&["kernel", "load", "nosuch"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("`nosuch`") && said.contains("abc"),
        "{said}"
    );
}

/// Root of a new user namespace and a user without rights get an error that names the missing
/// right.
#[test]
fn without_the_rights_one_sentence_says_so() {
    let ways: [&[&str]; 2] =
        [&["unshare", "-r"], &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]];
    for way in ways {
        let run = |args: &[&str]| {
            let mut command = Command::new(way[0]);
            command.args(&way[1..]).arg(env!("CARGO_BIN_EXE_paceline")).args(args);
            command.output()
        };
        // Some containers allow neither, and some folders are accessible only to root.
        if !run(&["--version"]).is_ok_and(|output| output.status.success()) {
            skip(Need::Programs, &this_test(), &way.join(" "));
            continue;
        }
        for args in [["kernel", "load", "abc"], ["kernel", "load", "remy"]] {
            let output = run(&args).expect("runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let clear = said.contains("sudo") || said.contains("built without");
            assert!(!output.status.success() && clear && said.lines().count() == 1, "{said}");
        }
    }
}

#[test]
fn a_killed_loader_leaves_nothing_or_what_can_be_unloaded() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    // Measures how long loading takes here, so that loaders are killed before, during and after it.
    let begun = Instant::now();
    assert!(paceline(&["kernel", "load", "abc"]).status.success());
    let whole = begun.elapsed();
    assert!(paceline(&["kernel", "unload", "abc"]).status.success());
    let mut outcomes = [0; 2];
    let loaders = match std::env::var("PACELINE_KERNEL_LOADS") {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => 24,
    };
    // The last loaders get twice the measured time, and further ones still more, until one has come
    // to its end: otherwise the test would prove nothing about complete loads.
    let mut steps = (0..24).cycle().take(loaders).chain((1..=10).map(|more| 24 << more));
    while outcomes[1] == 0 || outcomes[0] + outcomes[1] < loaders {
        let step = steps.next().expect("a loader comes to its end");
        let mut loader = Command::new(env!("CARGO_BIN_EXE_paceline"))
            .args(["kernel", "load", "abc"])
            .stderr(Stdio::null())
            .spawn()
            .expect("runs");
        thread::sleep(whole * step / 12);
        loader.kill().expect("is ours");
        loader.wait().expect("is ours");
        // Before the killed process's descriptors are closed, the state may still change.
        thread::sleep(Duration::from_millis(50));
        let registered = "registered without a file";
        let state = abc_once(registered, |state| state["available"] == state["loaded"]);
        let folder = Path::new("/sys/fs/bpf/paceline/abc").exists();
        outcomes[usize::from(state["loaded"] == true)] += 1;
        if folder {
            let output = paceline(&["kernel", "unload", "abc"]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        abc_once("something stays", |state| {
            state["available"] == false && state["leftover"] == false
        });
    }
}

#[test]
fn gap_runs_abc_of_the_kernel_beside_the_simulators() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    let args = ["gap", "--kernel", "abc", "--trace", "12Mbps", "--duration", "3s", "-q", "--json"];
    let output = paceline(&args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && said.contains("namespace") {
        return skip(Need::Net, &this_test(), said.trim());
    }
    assert!(output.status.success(), "{said}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &rows["rows"][0];
    assert_eq!(row["scheme"], "abc");
    let (real, counters) = (&row["emulated"], &row["emulated"]["counters"]);
    assert_eq!(real["kernel_scheme"], "abc");
    assert_eq!(counters["fallbacks"], 0);
    assert!(counters["accelerated_bytes"].as_u64() > Some(0), "{counters}");
    assert!(counters["packets_sent_as_accelerates"].as_u64() > Some(0), "{counters}");
    // Only checks that it works at all: three seconds are mostly the beginning, and other programs
    // may take processor time.
    assert!(real["utilization"].as_f64() > Some(0.1), "{real}");
    abc_once("gap unloads what it has loaded", |state| state["available"] == false);
}

/// Runs a shell script in which `$PACELINE` is the program and `$T` a private folder. Returns its
/// output; `None` if namespaces cannot be made here.
fn script(text: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(this_test().replace(':', "-"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let may = Command::new("unshare").args(["--net", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        skip(Need::Net, &this_test(), "no network namespaces");
        return None;
    }
    let output = Command::new("timeout")
        .args(["300", "bash", "-ec", text])
        .env("PACELINE", env!("CARGO_BIN_EXE_paceline"))
        .env("T", &folder)
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{printed}");
    Some(printed)
}

#[test]
fn watch_shows_the_sockets_of_our_programs() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    let output = paceline(&["kernel", "watch", "abc", "--for", "1s"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("kernel load"), "nothing is loaded");
    let printed = script(
        r#"
        $PACELINE kernel load c2tcp
        trap '$PACELINE kernel unload c2tcp' EXIT
        unshare --net bash -ec '
            ip link set lo up
            export PACELINE_BASE=127.0.0.1
            $PACELINE traffic receive --scheme c2tcp --bytes $T/bytes > /dev/null 2>&1 & receiver=$!
            $PACELINE traffic send --duration 1000s --counts $T/counts c2tcp & sender=$!
            until $PACELINE kernel watch c2tcp --for 10ms --json | grep -q 127.0.0.1:5310; do sleep 0.1; done
            $PACELINE kernel watch c2tcp --for 1s --interval 500ms --json
            $PACELINE kernel watch --for 10ms
            kill $sender $receiver
        '
        "#,
    );
    let Some(printed) = printed else { return };
    let moments: Vec<serde_json::Value> =
        printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(moments.len() >= 2, "{printed}");
    let last = moments.last().expect("one");
    let sockets = last["sockets"].as_array().expect("sockets");
    let sender = sockets.iter().find(|socket| socket["remote"] == "127.0.0.1:5310");
    let sender = sender.expect("the sender is shown");
    assert_eq!(sender["scheme"], "c2tcp");
    assert!(sender["cwnd"].as_u64() > Some(1), "{sender}");
    assert!(sender["rate_mbps"].as_f64() > Some(1.0), "{sender}");
    // Standard output is no terminal, so there is a line for each socket.
    let line = printed.lines().find(|line| line.contains(" c2tcp ") && line.contains("cwnd="));
    assert!(line.is_some_and(|line| line.contains("rtt_ms=")), "{printed}");
}

/// With a target of 100 ms, its former value, c2tcp never met the target over this RTT: the window
/// stayed at one packet, 0.7 % of the link.
#[test]
fn c2tcp_is_not_starved_by_an_rtt_of_120_ms() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    let args = ["gap", "--kernel", "c2tcp", "--trace", "12Mbps", "--rtt", "120ms", "--duration"];
    let output = paceline(&[&args[..], &["8s", "-q", "--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && said.contains("namespace") {
        return skip(Need::Net, &this_test(), said.trim());
    }
    assert!(output.status.success(), "{said}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &rows["rows"][0];
    // A busy machine takes much of the rate, but not nearly that much.
    for end in ["emulated", "simulated"] {
        assert!(row[end]["utilization"].as_f64() > Some(0.1), "{end}: {row}");
    }
}

/// Connects as `iperf3 -C abc` does to a server without abc.
#[test]
fn a_connection_that_falls_back_to_cubic_is_warned_of() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    let printed = script(
        r#"
        $PACELINE kernel load abc 2>&1
        trap '$PACELINE kernel unload abc' EXIT
        $PACELINE kernel stats abc 2>&1 | grep fallbacks
        unshare --net bash -ec '
            ip link set lo up
            export PACELINE_BASE=127.0.0.1
            $PACELINE traffic receive --bytes $T/bytes > /dev/null 2>&1 & receiver=$!
            timeout 100 $PACELINE traffic send --duration 100ms --counts $T/counts abc || true
            kill $receiver
        ' >&2
        echo STATS
        $PACELINE kernel stats abc --json 2>&1 > /dev/null
        echo WATCH
        $PACELINE kernel watch abc --duration 10ms 2>&1
        "#,
    );
    let Some(printed) = printed else { return };
    let (loaded, rest) = printed.split_once("STATS\n").expect("both parts");
    for word in ["both ends", "sysctl", "kernel stats abc"] {
        assert!(loaded.contains(word), "`{word}`: {printed}");
    }
    // A step that is still to be done is no warning, and is said once.
    assert_eq!(loaded.matches("kernel accelerate DEVICE").count(), 1, "{printed}");
    assert!(!loaded.contains("warning: "), "{printed}");
    assert!(loaded.lines().last().is_some_and(|line| line.ends_with(" 0")), "{printed}");
    let (stats, watch) = rest.split_once("WATCH\n").expect("both parts");
    for text in [stats, watch] {
        let warned = text.contains("warning: ") && text.contains("fell back to Cubic");
        assert!(warned, "{text}: {printed}");
    }
}

/// Runs a sender, a machine that forwards with a router of 12 Mbit/s, and a receiver.
#[test]
fn abc_through_a_transparent_router_sees_its_marks_and_the_device_sends_as_before_afterwards() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !can_load() {
        return;
    }
    let printed = script(
        r#"
        P=plr$$
        trap 'for n in a r b; do kill $(ip netns pids $P-$n) 2>/dev/null || true; done
              for n in a r b; do ip netns del $P-$n 2>/dev/null || true; done
              $PACELINE kernel unload abc' EXIT
        $PACELINE kernel load abc
        for n in a r b; do ip netns add $P-$n; done
        ip link add a0 netns $P-a type veth peer name r0 netns $P-r
        ip link add b0 netns $P-b type veth peer name r1 netns $P-r
        within() { ns=$P-$1; shift; nsenter --net=/run/netns/$ns "$@"; }
        within a ip addr add 10.9.1.1/24 dev a0
        within r ip addr add 10.9.1.2/24 dev r0
        within r ip addr add 10.9.2.2/24 dev r1
        within b ip addr add 10.9.2.1/24 dev b0
        for d in 'a a0' 'r r0' 'r r1' 'b b0'; do set -- $d; within $1 ip link set $2 up; done
        within a ip route add default via 10.9.1.2
        within b ip route add default via 10.9.2.2
        within r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
        export PACELINE_BASE=10.9.2.1
        # The process of the router itself, which a function would run in a shell.
        nsenter --net=/run/netns/$P-r $PACELINE router r1 --rate 12Mbps --summary $T/router.json --quiet &
        router=$!
        until within r ip link show pl-r1 >/dev/null 2>&1; do sleep 0.05; done
        within b $PACELINE traffic receive --scheme abc --bytes $T/bytes > /dev/null 2>&1 &
        within a $PACELINE traffic send --duration 4s --accelerate abc --counts $T/counts abc
        kill -TERM $router; wait $router || true
        $PACELINE kernel stats abc --json | tr -d '\n'; echo
        cat $T/router.json | tr -d '\n'; echo
        reaches() { within a bash -c 'exec 3<>/dev/tcp/10.9.2.1/5310' && echo reached; }
        within r ip link show pl-r1 >/dev/null 2>&1 && echo device left
        reaches
        within r $PACELINE router r1 --rate 12Mbps --quiet & router=$!
        until within r ip link show pl-r1 >/dev/null 2>&1; do sleep 0.05; done
        sleep 0.2
        reaches
        inner=$(pgrep -P $router paceline || echo $router)
        kill -9 $inner; wait $router || true
        sleep 0.2
        within r ip link show pl-r1 >/dev/null 2>&1 && echo device left
        reaches
        "#,
    );
    let Some(printed) = printed else { return };
    let lines: Vec<&str> = printed.lines().collect();
    let stats: serde_json::Value = serde_json::from_str(lines[0]).expect("counters");
    let router: serde_json::Value = serde_json::from_str(lines[1]).expect("a summary");
    assert_eq!(stats["fallbacks"], 0, "{stats}");
    assert!(stats["accelerated_bytes"].as_u64() > Some(100_000), "{stats}");
    assert!(stats["braked_bytes"].as_u64() > Some(100_000), "{stats}");
    // At least some bytes and at most those of four seconds at 12 Mbit/s have passed.
    let bytes = stats["accelerated_bytes"].as_u64().unwrap_or(0)
        + stats["braked_bytes"].as_u64().unwrap_or(0);
    assert!((600_000..9_000_000).contains(&bytes), "{stats}");
    assert!(router["up"]["marks"].as_u64() > Some(100), "{router}");
    assert_eq!(lines[2..], ["reached"; 3], "{printed}");
}
