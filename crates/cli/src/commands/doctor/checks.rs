//! The checks, by the commands that need what they look for.

use std::error::Error as StdError;
use std::fmt::Display;

use paceline_cc::Span;
use paceline_guest::build;
use paceline_os::{capability, namespace, nat, priority, tun};
use serde::Serialize;

use super::trial;
use super::verdict::Verdict;
use crate::commands::serve;

/// Waits of the check of timers, and the length of each.
const WAITS: u32 = 100;
const WAIT: Span = Span::from_millis(1);
/// Lateness of the 99th percentile of these waits from which emulations are called late.
const MOST_LATENESS: Span = Span::from_millis(1);
/// Names of browsers, as `tests/site.sh` looks for them.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A finding about this machine.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    /// Name of the thing.
    pub(super) name: &'static str,
    /// Whether it is there.
    pub(super) verdict: Verdict,
    /// The finding, and the remedy if the verdict is not `ok`.
    pub(super) detail: String,
    /// The commands that need it.
    pub(super) commands: &'static [&'static str],
}

/// Checks that concern the same commands.
pub(super) struct Area {
    /// The commands.
    pub(super) commands: &'static [&'static str],
    checks: fn() -> Vec<Finding>,
}

/// Name of a thing, and the finding about it.
type Finding = (&'static str, Verdict, String);

impl Area {
    /// Makes the checks.
    pub(super) fn run(&self) -> Vec<Check> {
        let check =
            |(name, verdict, detail)| Check { name, verdict, detail, commands: self.commands };
        (self.checks)().into_iter().map(check).collect()
    }
}

/// Returns all areas, in the order in which they are printed.
pub(super) fn areas() -> Vec<Area> {
    const SIMULATION: &[&str] = &["compare", "run", "reproduce", "validate", "remy"];
    const EMULATION: &[&str] = &["delay", "link", "loss", "onoff", "meter", "gap"];
    const DEVICES: &[&str] = &["tunnel", "router"];
    let area = |commands, checks| Area { commands, checks };
    vec![
        area(SIMULATION, simulation as fn() -> _),
        area(EMULATION, emulation),
        area(DEVICES, devices),
        area(&["send", "recv", "saturate"], sockets),
        area(&["kernel"], kernel),
        area(&["linux"], guests),
        area(&["serve"], page),
        area(&["python"], python),
        area(&["browser"], browser),
    ]
}

/// Returns `ok` with this detail, or the verdict for an error with the error's text.
fn judge<E: Display>(name: &'static str, result: Result<String, E>, otherwise: Verdict) -> Finding {
    match result {
        Ok(detail) => (name, Verdict::Ok, detail),
        Err(error) => (name, otherwise, error.to_string()),
    }
}

fn simulation() -> Vec<Finding> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("needs nothing; {cores} runs at the same time");
    vec![("simulator", Verdict::Ok, detail)]
}

fn has_rights() -> bool {
    capability::has(capability::NET_ADMIN) && capability::has(capability::SYS_ADMIN)
}

fn emulation() -> Vec<Finding> {
    let rights = if has_rights() {
        let detail = "CAP_NET_ADMIN and CAP_SYS_ADMIN: programs inside reach the network outside";
        ("rights for networks", Verdict::Ok, detail.into())
    } else {
        let without = "a user namespace of its own: programs inside reach only what `--outside` starts; for the \
                       network outside run it with sudo";
        let own = namespace::check_own_user_and_network();
        match own {
            Ok(()) => ("rights for networks", Verdict::Limited, without.into()),
            Err(error) => ("rights for networks", Verdict::Missing, error.to_string()),
        }
    };
    let device = tun::check_device_file().map(|()| "can be opened".into());
    let (verdict, detail) = trial::emulator();
    let mut findings = vec![
        rights,
        judge("/dev/net/tun", device, Verdict::Missing),
        ("an emulator started once", verdict, detail),
    ];
    if has_rights() {
        findings.push(translation());
    }
    findings.push(timers());
    findings.push(real_time());
    findings
}

fn translation() -> Finding {
    let listed =
        nat::check().map(|()| "answers: packets from inside can leave this machine".into());
    judge("address translation (nf_tables)", listed, Verdict::Limited)
}

fn timers() -> Finding {
    const NAME: &str = "timers";
    let seen = match paceline_emulator::measure_wakeups(WAITS, WAIT) {
        Ok(seen) => seen,
        Err(error) => return (NAME, Verdict::Missing, error.to_string()),
    };
    let late = seen.p99.as_secs_f64() * 1e3;
    let measured = format!("99 % of {WAITS} waits end at most {late:.2} ms late");
    match seen.p99 <= MOST_LATENESS {
        true => (NAME, Verdict::Ok, measured),
        false => {
            let remedy =
                "packets will be late: end other programs, or use --realtime and --cpu as root";
            (NAME, Verdict::Limited, format!("{measured}; {remedy}"))
        }
    }
}

fn real_time() -> Finding {
    const NAME: &str = "--realtime";
    if capability::has(capability::SYS_NICE) && capability::has(capability::IPC_LOCK) {
        return (NAME, Verdict::Ok, "allowed".into());
    }
    let detail = format!(
        "needs CAP_SYS_NICE and CAP_IPC_LOCK: run as root; without it, emulators have the nice value {}",
        priority::niceness()
    );
    (NAME, Verdict::Limited, detail)
}

fn devices() -> Vec<Finding> {
    let rights = match capability::has(capability::NET_ADMIN) {
        true => Ok("CAP_NET_ADMIN: devices, routes and rules can be made".to_string()),
        false => Err("making devices, routes and rules takes CAP_NET_ADMIN: run it with sudo"),
    };
    let device = tun::check_device_file().map(|()| "can be opened".into());
    let mut findings = vec![
        judge("rights for devices", rights, Verdict::Missing),
        judge("/dev/net/tun", device, Verdict::Missing),
    ];
    if capability::has(capability::NET_ADMIN) {
        findings.push(translation());
    }
    findings
}

fn sockets() -> Vec<Finding> {
    let bound = |address: &str| std::net::UdpSocket::bind((address, 0)).map(|_| ());
    let four = bound("127.0.0.1").map(|()| "a port could be bound".to_string());
    let six = bound("::1").map(|()| "a port could be bound".to_string());
    let six = six.map_err(|error| format!("{error}: name hosts by their IPv4 addresses"));
    vec![
        judge("UDP over IPv4", four, Verdict::Missing),
        judge("UDP over IPv6", six, Verdict::Limited),
    ]
}

fn kernel() -> Vec<Finding> {
    let probe = paceline_kernel::probe();
    let requirements = probe.requirements().map(|requirement| match requirement.is_met {
        Some(true) => (requirement.name, Verdict::Ok, "yes".into()),
        Some(false) => (requirement.name, Verdict::Missing, requirement.problem.into()),
        None => (requirement.name, Verdict::Limited, "not known without BTF".into()),
    });
    let system = format!("{}; congestion controls: {}", probe.kernel, probe.available.join(", "));
    let mut findings = vec![("kernel", Verdict::Ok, system)];
    findings.extend(requirements);
    findings
}

fn guests() -> Vec<Finding> {
    let from_guests = |verdict| match verdict {
        build::Verdict::Good => Verdict::Ok,
        build::Verdict::Doubtful => Verdict::Limited,
        build::Verdict::Bad => Verdict::Missing,
    };
    let host = build::check_host();
    let mut findings: Vec<Finding> = host
        .into_iter()
        .map(|check| (check.name, from_guests(check.verdict), check.detail))
        .collect();
    let guests = build::guests().map_err(|error| error.to_string()).and_then(|found| {
        let folders: Vec<_> = found.iter().map(|folder| folder.display().to_string()).collect();
        match folders.is_empty() {
            true => Err("none is built: paceline linux build".into()),
            false => Ok(folders.join(", ")),
        }
    });
    // A built guest runs without compiler and source.
    let has_guest = guests.is_ok();
    let otherwise = if has_guest { Verdict::Limited } else { Verdict::Missing };
    let tools = build::check_tools().map(|()| "compiler and tools are installed".into());
    findings.extend([
        judge("Linux guest", guests, Verdict::Missing),
        judge("tools to build a guest", tools.map_err(cause), otherwise),
        judge("source of a guest's kernel", build::check_source().map_err(cause), otherwise),
    ]);
    findings
}

fn cause(error: impl StdError) -> String {
    error.to_string()
}

fn page() -> Vec<Finding> {
    let page = serve::page().map(|page| page.to_string());
    vec![judge("the page", page, Verdict::Missing)]
}

fn python() -> Vec<Finding> {
    vec![judge("Python package", trial::python(), Verdict::Missing)]
}

fn browser() -> Vec<Finding> {
    let found = BROWSERS.into_iter().find_map(trial::find);
    let found = found.map(|path| path.display().to_string()).ok_or(
        "not installed; no command needs it: the page's tests and real calls do (apt install chromium)",
    );
    vec![judge("Chromium", found, Verdict::Limited)]
}
