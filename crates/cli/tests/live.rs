//! Emulations of real programs on the running kernel. Each test runs a script in a network of its
//! own, and looks at what is left behind. Without the right to make networks, tests are skipped,
//! which they say on standard error.

mod common;

use std::io::{Write, stderr};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::Folder;

const PROGRAM: &str = env!("CARGO_BIN_EXE_paceline");

/// Says aloud that a test cannot be done here: the harness keeps what macros print to itself.
fn skip(test: &str, why: &str) {
    let _ = writeln!(stderr(), "SKIPPED {test}: {why}");
}

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Whether a network namespace can be made; by which options of `unshare`.
fn unshare() -> Result<&'static [&'static str], String> {
    let works = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-c", "exec 3<>/dev/net/tun"]);
        command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
    };
    // A user namespace where there is no root.
    for options in [&["--net", "--mount"][..], &["--map-root-user", "--net", "--mount"]] {
        if works(options) {
            return Ok(options);
        }
    }
    Err("no network namespace (unshare --net) or no /dev/net/tun".into())
}

/// What can be left behind in a network: interfaces, addresses, routes, rules, settings, mounts.
const LOOK: &str = r#"
look() {
    cat /proc/net/dev | cut -d: -f1; cat /proc/net/if_inet6 /proc/mounts; tail -n +2 /proc/net/route
    cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/*/forwarding
    cat /proc/sys/net/ipv6/conf/*/force_forwarding 2>/dev/null
    if command -v nft >/dev/null; then nft list ruleset; fi
    ls $TMPDIR
}
"#;

/// Runs a script in a network of its own: `$P` is the program. Afterwards nothing may be left of
/// it: no interface, rule, setting, mount or process. `None` if the test is skipped.
fn alone(test: &str, needs: &[&str], script: &str) -> Option<Output> {
    let options = match unshare() {
        Ok(options) => options,
        Err(why) => {
            skip(test, &why);
            return None;
        }
    };
    for program in needs {
        if !has(program) {
            skip(test, &format!("there is no program {program}"));
            return None;
        }
    }
    if !has("nft") {
        skip(test, "only that no nf_tables rules stay: there is no program nft");
    }
    let folder = Folder::new(&format!("temporary-{test}"));
    let mark = format!("PACELINE_TEST={test}");
    // A new network begins with the first one's settings.
    let whole = format!(
        "{LOOK}\necho 0 > /proc/sys/net/ipv4/ip_forward; before=$(look)\n{script}\nstatus=$?\nafter=$(look)\n\
         if [ \"$before\" != \"$after\" ]; then\n\
         echo \"LEFT BEHIND: was:\n$before\nis:\n$after\" >&2; fi\nexit $status"
    );
    let output = Command::new("timeout")
        .args(["--signal=KILL", "60", "unshare"])
        .args(options)
        .args(["bash", "-c", &whole])
        .env("P", PROGRAM)
        .env("PACELINE_TEST", test)
        .env("TMPDIR", folder.path(""))
        .env_remove("MAHIMAHI_SHELL_PREFIX")
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let err = text(&output.stderr);
    assert!(!err.contains("LEFT BEHIND"), "{err}");
    assert_eq!(processes(&mark), Vec::<String>::new(), "processes are left behind");
    Some(output)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processes with this variable in their environment.
fn processes(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let marked = entries.filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    });
    let name = |path: &Path| text(&std::fs::read(path.join("cmdline")).unwrap_or_default());
    marked.map(|entry| name(&entry.path())).filter(|name| !name.is_empty()).collect()
}

/// The round-trip times in what `ping` has said, in milliseconds, the shortest first.
fn times(out: &str) -> Vec<f64> {
    let after = out.lines().filter_map(|line| line.split_once("time="));
    let words = after.filter_map(|(_, rest)| rest.split_whitespace().next());
    let mut times: Vec<f64> =
        words.map(|word| word.parse().expect("a time in milliseconds")).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The lines of a script's output.
fn lines(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_string).collect()
}

#[test]
fn the_status_of_the_program_is_passed_on() {
    let script = "\
        $P delay 1ms -- sh -c 'exit 7'; echo $?\n\
        $P delay 1ms -- sh -c 'kill -TERM $$'; echo $?\n\
        $P delay 1ms -- sh -c 'kill -KILL $$'; echo $?\n\
        $P delay 1ms -- no-such-program; echo $?\n\
        $P delay 1ms -- /etc/passwd; echo $?";
    let Some(output) = alone("the_status_of_the_program_is_passed_on", &[], script) else { return };
    assert_eq!(lines(&output), ["7", "143", "137", "127", "126"], "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no-such-program"));
}

#[test]
fn signals_are_passed_on() {
    // Job control keeps bash from having background programs ignore signals.
    let script = "\
        set -m\n\
        for signal in INT TERM HUP QUIT USR1; do\n\
            $P delay 1ms -- sh -c 'echo up; exec sleep 50' > up.$$ & emulator=$!\n\
            for i in $(seq 200); do [ -s up.$$ ] && break; sleep 0.02; done\n\
            sleep 0.05; kill -$signal $emulator; wait $emulator; echo $signal $?; rm up.$$\n\
        done 2>/dev/null\n\
        $P delay 1ms -- sh -c 'trap \"exit 3\" TERM; echo up >&3; while :; do sleep 0.01; done' 3> up.$$ &\n\
        emulator=$!; for i in $(seq 200); do [ -s up.$$ ] && break; sleep 0.02; done\n\
        kill -TERM $emulator; wait $emulator; echo caught $?; rm up.$$";
    let folder = Folder::new("signals");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let Some(output) = alone("signals_are_passed_on", &[], &script) else { return };
    let wanted = ["INT 130", "TERM 143", "HUP 129", "QUIT 131", "USR1 138", "caught 3"];
    assert_eq!(lines(&output), wanted, "{}", text(&output.stderr));
}

#[test]
fn the_outside_answers_in_both_families() {
    let script = "$P delay 20ms -- sh -c '\
        echo $PACELINE_BASE $MAHIMAHI_BASE $PACELINE_BASE6\n\
        ping -n -i 0.05 -c 11 -W 2 $PACELINE_BASE; ping -6 -n -i 0.05 -c 11 -W 2 $PACELINE_BASE6'";
    let test = "the_outside_answers_in_both_families";
    let Some(output) = alone(test, &["ping"], script) else { return };
    let lines = lines(&output);
    assert_eq!(lines[0], "100.64.0.1 100.64.0.1 fd6e:a13c:52d4::6440:1");
    let times = times(&text(&output.stdout));
    assert_eq!(times.len(), 22, "{}{}", lines.join("\n"), text(&output.stderr));
    assert!(times[0] >= 40.0, "the fastest took {} ms", times[0]);
    assert!(times[11] < 44.0, "the median took {} ms", times[11]);
}

#[test]
fn shells_nest() {
    // The innermost reaches the outermost's base only through two translations.
    let script = "$P delay 1ms -- $P loss uplink 0 -- $P meter -- sh -c '\
        echo $PACELINE_BASE $PACELINE_BASE6\n\
        for to in 100.64.0.1 100.64.0.3 100.64.0.5; do\n\
            ping -n -c 1 -W 5 $to > /dev/null && echo $to; done\n\
        for to in 1 3 5; do\n\
            ping -6 -n -c 1 -W 5 fd6e:a13c:52d4::6440:$to > /dev/null && echo $to; done\n\
        exit 5'; echo $?";
    let Some(output) = alone("shells_nest", &["ping"], script) else { return };
    let wanted = [
        "100.64.0.5 fd6e:a13c:52d4::6440:5",
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
fn two_at_a_time_share_the_settings() {
    let script = "\
        $P delay 1ms -- sleep 0.5 & first=$!; sleep 0.2\n\
        $P delay 1ms -- sh -c 'sleep 0.6; echo $PACELINE_BASE' & second=$!; sleep 0.1\n\
        wait $first; cat /proc/sys/net/ipv4/ip_forward; wait $second\n\
        cat /proc/sys/net/ipv4/ip_forward";
    let Some(output) = alone("two_at_a_time_share_the_settings", &[], script) else { return };
    assert_eq!(lines(&output), ["1", "100.64.0.3", "0"], "{}", text(&output.stderr));
}

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
    // The supervisor takes things away when it learns of the emulator's death.
    let script = "\
        set -m\n\
        $P delay 1ms -- sh -c 'sleep 1000 & setsid sleep 1000 & echo up >&3; sleep 1000' 3> up.$$ &\n\
        emulator=$!; for i in $(seq 200); do [ -s up.$$ ] && break; sleep 0.02; done\n\
        kill -KILL $emulator; wait $emulator; echo $?; rm up.$$\n\
        for i in $(seq 100); do [ \"$(look)\" = \"$before\" ] && break; sleep 0.05; done; sleep 0.2";
    let folder = Folder::new("killed");
    let script = format!("cd {}\n{script}\ncd /", folder.path(""));
    let Some(output) = alone("a_killed_emulator_leaves_nothing", &[], &script) else { return };
    assert_eq!(lines(&output), ["137"], "{}", text(&output.stderr));
}

#[test]
fn names_are_asked_for_outside() {
    // A loopback name server is nobody's inside: its place is taken by the outer end.
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
fn the_prompt_tells_where_one_is() {
    let script = "export PS1='> '; $P link --up 12mbps --down 12mbps -- $P delay 5ms -- \
        bash --norc -ic 'PS1=\"> \"; eval \"$PROMPT_COMMAND\"; echo \"$PS1\"' 2>/dev/null";
    let Some(output) = alone("the_prompt_tells_where_one_is", &[], script) else { return };
    assert_eq!(lines(&output), ["[link 12mbps] [delay 5ms] > "], "{}", text(&output.stderr));
}

#[test]
fn a_companion_runs_outside_meanwhile() {
    let script = "$P delay 1ms --outside 'echo $PACELINE_BASE; cat /proc/net/dev | grep -c delay; \
        sleep 1000' -- sleep 0.3";
    let Some(output) = alone("a_companion_runs_outside_meanwhile", &[], script) else { return };
    assert_eq!(lines(&output), ["100.64.0.1", "1"], "{}", text(&output.stderr));
}

#[test]
fn without_root_a_network_of_ones_own_lies_outside() {
    let test = "without_root_a_network_of_ones_own_lies_outside";
    let copy = Folder::new("unprivileged");
    let program = copy.path("paceline");
    std::fs::copy(PROGRAM, &program).expect("a copy that everybody may execute");
    // The folder must be open to others.
    let script = format!(
        "chmod 755 {folder} {program}\n\
         as() {{ setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; }}\n\
         [ $(id -u) = 0 ] && as true 2>/dev/null || as() {{ \"$@\"; }}\n\
         as unshare --user true 2>/dev/null || {{ echo refused; exit 0; }}\n\
         as {program} delay 1ms -- sh -c 'id -u; ping -n -c 1 -W 5 $PACELINE_BASE >/dev/null && echo four\n\
         ping -6 -n -c 1 -W 5 $PACELINE_BASE6 >/dev/null && echo six\n\
         {program} delay 1ms -- ping -n -c 1 -W 5 100.64.0.1 >/dev/null && echo nested; exit 6'\n\
         echo $?",
        folder = copy.path(""),
    );
    let Some(output) = alone(test, &["ping", "setpriv"], &script) else { return };
    let lines = lines(&output);
    let err = text(&output.stderr);
    if lines == ["refused"] {
        return skip(test, "no user namespaces here");
    }
    assert_eq!(lines[1..], ["four", "six", "nested", "6"], "{err}");
    if lines[0] != "0" {
        assert!(err.contains("--outside"), "the limits are not told: {err}");
    }
}

#[test]
fn a_missing_right_is_named_with_its_remedy() {
    let test = "a_missing_right_is_named_with_its_remedy";
    // In a user namespace that allows no further ones, and without any capability.
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
    let none = common::paceline(&["link", "--up", "no-such", "--down", "1mbps", "--", "true"]);
    assert_eq!(none.code, 1);
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
         $P link --scenario {file} --flow far -- ping -n -i 0.05 -c 9 -W 5 100.64.0.1"
    );
    let test = "the_path_of_a_scenario_is_emulated";
    let Some(output) = alone(test, &["ping"], &script) else { return };
    let err = text(&output.stderr);
    assert!(err.contains("--flow"), "{err}");
    let out = text(&output.stdout);
    assert!(out.starts_with("1\n"), "{out}");
    // 60 ms, and the time of 84 bytes at 2 Mbit/s: 0.336 ms.
    let times = times(&out);
    assert_eq!(times.len(), 9, "{out}{err}");
    assert!(times[0] >= 60.3 && times[4] < 63.0, "{times:?}");
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
    assert_eq!(lines(&output), ["1", "1", "1", "1"], "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).matches("/proc/no/such").count(), 4);
}
