//! The parser of the kernel's command line in `/init` (PROTOCOL.md), tested on the host: it is
//! compiled into a filter that reads a command line and prints its settings.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use paceline_testing::{Need, skip, this_test};

/// The filter: prints the problem, or the settings.
const FILTER: &str = r#"
#include "settings.h"

static void print_number(struct text *out, const char *name, u64 number)
{
	put(out, name);
	put(out, "=");
	put_number(out, number);
	put(out, " ");
}

static void print_plan(struct text *out, const struct plan *plan)
{
	print_number(out, "port", plan->port);
	print_number(out, "start", plan->start);
	print_number(out, "stop", plan->stop);
	print_number(out, "work", plan->work);
	print_number(out, "bytes", plan->bytes);
	print_number(out, "interval", plan->interval);
	print_number(out, "periods", plan->period_count);
	print_number(out, "last", plan->period_count ? plan->periods[plan->period_count - 1] : 0);
	print_number(out, "fresh", (u64)plan->fresh);
	put(out, "cc=");
	put(out, plan->cc ? plan->cc : "-");
	put(out, " run=");
	put(out, plan->run ? plan->run : "-");
	put(out, "\n");
}

int main(void)
{
	static char line[1 << 16];
	struct text out = { .length = 0 };
	int result;

	sys(read, 0, line, sizeof(line) - 1);
	result = read_settings(line, &out);
	if (result < 0)
		put(&out, "nothing of ours");
	if (!result) {
		print_number(&out, "sender", (u64)settings.is_sender);
		print_number(&out, "address", settings.address[3]);
		print_number(&out, "prefix", settings.prefix);
		print_number(&out, "mac", settings.peer_mac[5]);
		print_number(&out, "seed", settings.seed[31]);
		print_number(&out, "mtu", settings.mtu);
		print_number(&out, "sysctls", settings.sysctl_count);
		put(&out, settings.sysctl_count ? settings.sysctls[0].value : "-");
		put(&out, "\n");
		for (usize i = 0; i < settings.plan_count; i++)
			print_plan(&out, &settings.plans[i]);
	}
	sys(write, 1, out.bytes, out.length);
	sys(exit_group, 0);
	return 0;
}

asm(".globl _start\n_start:\n\tand $-16, %rsp\n\tcall main\n");
"#;

/// A command line with all required keys.
const NEEDED: &str = "quiet pl.protocol=1 pl.role=sender pl.address=10.0.0.1/24 pl.peer=10.0.0.2 \
                      pl.peer_mac=02:00:00:00:00:02 pl.0.start=1000000000 \
                      pl.seed=00000000000000000000000000000000000000000000000000000000000000ff";

/// The compiled filter, removed when it is dropped.
struct Filter(PathBuf);

impl Filter {
    /// Compiles the filter; `None`, printed as a skipped test, if there is no gcc.
    fn compile(name: &str) -> Option<Filter> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return None;
        }
        let folder = std::env::temp_dir().join(format!("paceline-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("filter.c"), FILTER).expect("a file");
        let init = concat!(env!("CARGO_MANIFEST_DIR"), "/kernel/init");
        let mut gcc = Command::new("gcc");
        gcc.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
        gcc.args(["-ffreestanding", "-fno-stack-protector", "-static", "-no-pie", "-nostdlib"]);
        gcc.arg(format!("-I{init}")).arg("-o").arg(folder.join("filter"));
        gcc.args([format!("{init}/base.c"), format!("{init}/settings.c")]);
        let built = gcc.arg(folder.join("filter.c")).output();
        let Ok(built) = built else {
            skip(Need::Programs, &this_test(), "gcc compiles the parser of /init");
            return None;
        };
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(Filter(folder))
    }

    fn read(&self, line: &str) -> String {
        let mut child = Command::new(self.0.join("filter"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the filter starts");
        child.stdin.take().expect("a pipe").write_all(line.as_bytes()).expect("a line");
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success(), "{line}: {}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn settings_are_read() {
    let Some(filter) = Filter::compile("settings") else { return };
    let read = |more: &str| filter.read(&format!("{NEEDED} {more}\n"));
    let host = "sender=1 address=1 prefix=24 mac=2 seed=255 mtu=1500 sysctls=0 -\n";
    let never = u64::MAX;
    let plan = |rest: &str| format!("{host}port=5001 start=1000000000 {rest}");
    let bulk = "work=0 bytes=0 interval=0 periods=0 last=0 fresh=0";
    assert_eq!(read(""), plan(&format!("stop={never} {bulk} cc=- run=-\n")));
    let text = read("pl.0.cc=bbr pl.0.stop=5 pl.0.port=7 pl.0.run=/a%20%25 root=/dev/x");
    let expected = format!("{host}port=7 start=1000000000 stop=5 {bulk} cc=bbr run=/a %\n");
    assert_eq!(text, expected);
    for (work, expected) in [
        ("bytes:12", "work=1 bytes=12 interval=0 periods=0 last=0 fresh=0"),
        ("limited:3:4", "work=2 bytes=3 interval=4 periods=0 last=0 fresh=0"),
        ("requests:3:0", "work=5 bytes=3 interval=0 periods=0 last=0 fresh=0"),
        ("onoff:time:0 pl.0.periods=1,2,3", "work=3 bytes=0 interval=0 periods=3 last=3 fresh=0"),
        ("onoff:bytes:1 pl.0.periods=9", "work=4 bytes=0 interval=0 periods=1 last=9 fresh=1"),
    ] {
        let text = read(&format!("pl.0.work={work}"));
        assert_eq!(text, plan(&format!("stop={never} {expected} cc=- run=-\n")), "{work}");
    }
    let text = read("pl.sysctl.net.ipv4.tcp_rmem=4096%20131072%209 pl.mtu=9000");
    assert!(text.contains("mtu=9000 sysctls=1 4096 131072 9\n"), "{text}");
    let text = read("pl.flows=2 pl.1.start=7");
    assert!(text.contains("\nport=5002 start=7 "), "{text}");
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let Some(filter) = Filter::compile("refused") else { return };
    for (more, problem) in [
        ("pl.nope=1", "pl.nope: this guest does not know this key"),
        ("pl.16.cc=bbr", "pl.16.cc: this guest does not know this key"),
        ("pl.0.nope=1", "pl.0.nope: this guest does not know this key"),
        ("pl.mtu=67", "pl.mtu=67: invalid value"),
        ("pl.mtu=1500x", "pl.mtu=1500x: invalid value"),
        ("pl.mtu", "pl.mtu=: invalid value"),
        ("pl.sample=99999999999999999999", "pl.sample=99999999999999999999: invalid value"),
        ("pl.protocol=2", "pl.protocol=2: invalid value"),
        ("pl.role=router", "pl.role=router: invalid value"),
        ("pl.address=10.0.0.1", "pl.address=10.0.0.1: invalid value"),
        ("pl.address=10.0.0.256/24", "pl.address=10.0.0.256/24: invalid value"),
        ("pl.peer_mac=02:00:00:00:00", "pl.peer_mac=02:00:00:00:00: invalid value"),
        ("pl.seed=00", "pl.seed=00: invalid value"),
        ("pl.0.cc=%4", "pl.0.cc=%4: invalid value"),
        ("pl.0.cc=%00", "pl.0.cc=%00: invalid value"),
        ("pl.0.cc=", "pl.0.cc=: invalid value"),
        ("pl.0.work=bytes:0", "pl.0.work=bytes:0: invalid value"),
        ("pl.0.work=limited:3:0", "pl.0.work=limited:3:0: invalid value"),
        ("pl.0.work=onoff:time:2", "pl.0.work=onoff:time:2: invalid value"),
        ("pl.0.work=onoff:time:0", "the kernel's command line lacks pl.0.periods"),
        ("pl.0.periods=1,", "pl.0.periods=1,: invalid value"),
        ("pl.flows=17", "pl.flows=17: invalid value"),
        ("pl.flows=2", "the kernel's command line lacks pl.1.start"),
    ] {
        assert!(filter.read(&format!("{NEEDED} {more}")).starts_with(problem), "{more}");
    }
    for needed in ["protocol", "role", "address", "peer", "peer_mac", "seed"] {
        let key = format!("pl.{needed}=");
        let words = NEEDED.split_whitespace().filter(|word| !word.starts_with(&key));
        let line = words.collect::<Vec<_>>().join(" ");
        assert_eq!(filter.read(&line), format!("the kernel's command line lacks pl.{needed}"));
    }
    assert_eq!(filter.read("quiet root=/dev/x"), "nothing of ours");
}

#[test]
fn no_command_line_leads_out_of_memory() {
    let Some(filter) = Filter::compile("mutated") else { return };
    // Bytes are cut out, doubled and replaced at many places. The filter answers each time and
    // never crashes.
    let bytes = format!("{NEEDED} pl.0.work=onoff:time:1 pl.0.periods=1,2,3 pl.sysctl.a.b=1%202")
        .into_bytes();
    for step in 0..300 {
        let place = step * 7919 % bytes.len();
        let mut line = bytes.clone();
        match step % 4 {
            0 => line.truncate(place),
            1 => line[place] = b"=%.,:/ 9"[step / 4 % 8],
            2 => line.extend_from_within(place..),
            _ => drop(line.drain(place..(place + 1 + step % 30).min(bytes.len()))),
        }
        filter.read(&String::from_utf8(line).expect("letters"));
    }
    filter.read(&format!("pl.0.periods={}", "1,".repeat(4000)));
    filter.read(&"pl.sysctl.a=1 ".repeat(300));
}
