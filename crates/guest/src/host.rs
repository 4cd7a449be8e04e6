//! The words of a guest's kernel command line (PROTOCOL.md).

use std::fmt::{Display, Write as _};

use paceline_cc::Stream;
use paceline_flow::{Amount, On, Workload};
use paceline_sim::TransportSetup;

use crate::error::Error;
use crate::files::PROTOCOL;
use crate::guest::ORIGIN;
use crate::programs;
use crate::settings::HostSettings;
use crate::transfers::{Plan, Size};

/// Bytes of the IPv4 and TCP headers with the timestamps option.
const HEADERS: u64 = 52;
/// Smallest MTU of hosts: room for TCP's smallest segment.
const SMALLEST_MTU: u32 = 128;
/// Largest MTU: the longest Ethernet packet.
const LARGEST_MTU: u32 = 9_000;
/// Most bytes that a flow with an end may have written and not sent: one group of packets.
const LOW_WATER: u32 = 65_536;
/// Maximum number of values in `periods`.
const MOST_PERIODS: usize = 512;
/// Port of the first connection at the receiver; the next ones follow.
pub(crate) const FIRST_PORT: u16 = 5001;
/// Most connections of a host (`MAX_CONNECTIONS` of /init).
const MOST_CONNECTIONS: usize = 16;
/// Interval at which `/init` reports a connection, in ns.
const SAMPLE_INTERVAL_NS: u64 = 100_000_000;

/// Sysctl of the congestion control of sockets that do not choose one.
const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// Sysctls of every host: the buffer sizes of machines with 4 GB and more. A guest has 256 MB, from
/// which Linux would derive smaller buffers.
const SYSCTLS: [(&str, &str); 4] = [
    ("net.ipv4.tcp_mem", "100000 200000 400000"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
];

/// A start that no run reaches, in ns: the built-in sender of a flow that sends nothing.
const NEVER_STARTS: u64 = 1_000_000_000_000_000_000;

/// End of a flow at which a host is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sends data.
    Sender,
    /// Receives data.
    Receiver,
}

impl Role {
    fn number(self) -> u8 {
        match self {
            Role::Sender => 1,
            Role::Receiver => 2,
        }
    }

    /// Returns the IPv4 address of the host.
    pub(crate) fn address(self) -> String {
        format!("10.0.0.{}", self.number())
    }

    /// Returns the host's name in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Sender => "sender",
            Role::Receiver => "receiver",
        }
    }

    pub(crate) fn peer(self) -> Role {
        match self {
            Role::Sender => Role::Receiver,
            Role::Receiver => Role::Sender,
        }
    }

    /// Returns the MAC address of the host's device.
    pub(crate) fn mac(self) -> [u8; 6] {
        [2, 0, 0, 0, 0, self.number()]
    }
}

/// Returns the name, in the guest's folder, of module `number`, counted from 0.
pub(crate) fn module_name(number: usize) -> String {
    match number {
        0 => "scheme.ko".into(),
        _ => format!("scheme{number}.ko"),
    }
}

/// Returns the number of the connection with one of these ports at the receiver, or at a sender whose
/// program listens. Other connections, which the user's programs may open, count as the first one.
pub(crate) fn number_of(ports: [u16; 2], connections: usize) -> usize {
    let number = |port: u16| usize::from(port.wrapping_sub(FIRST_PORT));
    ports.map(number).into_iter().find(|number| *number < connections).unwrap_or(0)
}

/// Flows of a pair of hosts: the settings and the setup of each.
pub(crate) type Flows = [(HostSettings, TransportSetup)];

/// Returns the value of a host's setting: that of all flows that have it.
///
/// # Errors
/// Two flows have different values.
fn agreed<'a, T: PartialEq + Display>(
    flows: &'a Flows,
    name: &str,
    value: impl Fn(&'a HostSettings) -> Option<T>,
) -> Result<Option<T>, Error> {
    let mut given = flows.iter().filter_map(|(settings, _)| value(settings));
    let first = given.next();
    match (&first, given.find(|other| first.as_ref() != Some(other))) {
        (Some(first), Some(other)) => Err(Error::Unusable(format!(
            "flows of one host have different values of {name}: {first} and {other}; write it once, or \
             give the flows different hosts"
        ))),
        _ => Ok(first),
    }
}

/// Returns the MTU of the hosts of these flows.
///
/// # Errors
/// The MTU is outside of the range of Ethernet devices, or the flows have different ones.
pub(crate) fn mtu(flows: &Flows) -> Result<u16, Error> {
    let mss = flows.first().map_or(0, |(_, setup)| setup.mss);
    let mtu = agreed(flows, "mtu", |settings| settings.mtu)?.map_or(mss, u32::from);
    match u16::try_from(mtu) {
        Ok(mtu) if (SMALLEST_MTU..=LARGEST_MTU).contains(&u32::from(mtu)) => Ok(mtu),
        _ => Err(Error::Unusable(format!(
            "a Linux host needs packets of {SMALLEST_MTU} to {LARGEST_MTU} bytes, and has {mtu}; change \
             mss, or the host's mtu"
        ))),
    }
}

/// Returns the words of a host's command line.
///
/// # Errors
/// Guests do not have this workload, or the flows disagree about their hosts.
pub(crate) fn words(role: Role, flows: &Flows) -> Result<Vec<String>, Error> {
    let mtu = mtu(flows)?;
    let Some((_, first)) = flows.first() else {
        return Err(Error::Unusable("a Linux host has no flow".into()));
    };
    if flows.len() > MOST_CONNECTIONS {
        return Err(Error::Unusable(format!(
            "a Linux host has {} flows, and at most {MOST_CONNECTIONS} are possible; give the others \
             another host",
            flows.len()
        )));
    }
    let mut words = Vec::new();
    let mut add = |key: &str, value: &str| words.push(format!("pl.{key}={}", escaped(value)));
    add("protocol", &PROTOCOL.to_string());
    add("role", role.name());
    add("address", &format!("{}/24", role.address()));
    add("peer", &role.peer().address());
    let mac = role.peer().mac().map(|byte| format!("{byte:02x}"));
    add("peer_mac", &mac.join(":"));
    add("seed", &seed(&mut first.random(&format!("host {}", role.number()))));
    add("mtu", &mtu.to_string());
    if let Some(qdisc) = agreed(flows, "qdisc", |settings| settings.qdisc.as_deref())? {
        add("qdisc", qdisc);
    }
    let mut names: Vec<&str> = Vec::new();
    for (settings, _) in flows {
        for (name, _) in &settings.sysctls {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    for (name, value) in SYSCTLS.into_iter().filter(|(name, _)| !names.contains(name)) {
        add(&format!("sysctl.{name}"), value);
    }
    for &name in &names {
        if let Some(value) = agreed(flows, name, |settings| settings.sysctl(name))? {
            add(&format!("sysctl.{name}"), value);
        }
    }
    if !names.contains(&CONGESTION_CONTROL)
        && let Some(scheme) = programs_scheme(flows)?
    {
        add(&format!("sysctl.{CONGESTION_CONTROL}"), scheme);
    }
    add("sample", &SAMPLE_INTERVAL_NS.to_string());
    if flows.iter().any(|(_, setup)| setup.probe.is_some()) {
        add("probe", "1");
    }
    add("flows", &flows.len().to_string());
    for (number, (settings, setup)) in flows.iter().enumerate() {
        connection(role, number, (settings, setup), mtu, &mut add)?;
    }
    Ok(words)
}

/// Returns the congestion control of hosts whose programs do not choose one: that of the flows with
/// programs, unless `{cc}` is among the arguments of each.
///
/// # Errors
/// Two of these flows have different ones.
fn programs_scheme(flows: &Flows) -> Result<Option<&str>, Error> {
    let chooses = |setup: &TransportSetup| {
        let all = [Role::Sender, Role::Receiver].map(|role| programs::of_flow(role, setup));
        all.into_iter().flatten().flatten().any(|argument| argument.contains("{cc}"))
    };
    let with_programs = flows.iter().filter(|(_, setup)| setup.programs.is_some());
    let mut schemes = with_programs
        .filter(|(_, setup)| !chooses(setup))
        .map(|(settings, _)| settings.scheme.as_str());
    let first = schemes.next();
    match schemes.find(|other| Some(*other) != first) {
        Some(other) => Err(Error::Unusable(format!(
            "programs of one host have different congestion controls, {} and {other}; give them with \
             {{cc}} among their arguments, or give the flows different hosts",
            first.unwrap_or_default()
        ))),
        None => {
            let any = flows.iter().find(|(_, setup)| setup.programs.is_some());
            Ok(first.or(any.map(|(settings, _)| settings.scheme.as_str())))
        }
    }
}

/// Adds the words of a connection.
fn connection(
    role: Role,
    number: usize,
    (settings, setup): (&HostSettings, &TransportSetup),
    mtu: u16,
    add: &mut dyn FnMut(&str, &str),
) -> Result<(), Error> {
    let mut add = |key: &str, value: &str| add(&format!("{number}.{key}"), value);
    add("cc", &settings.scheme);
    let time = |at: u64| ORIGIN.saturating_add(at);
    let mut start = setup.start.as_nanos();
    if let (Some(program), Some(spec)) = (programs::of_flow(role, setup), &setup.programs) {
        if !program.is_empty() {
            add("run", &programs::description(number));
        }
        if program.is_empty() {
            add("start", &NEVER_STARTS.to_string());
        } else if !programs::listens(role, spec) {
            add("start", &time(start).to_string());
        }
        if setup.stop != paceline_cc::Time::NEVER {
            add("stop", &time(setup.stop.as_nanos()).to_string());
        }
        return Ok(());
    }
    if let Workload::OnOff { on: on @ On::Bytes(_), off, starts_off: true, .. } = &setup.workload {
        // The connection is opened after the first off-period.
        let wait: u64 = periods(setup, (on, off), true)?.iter().take(2).sum();
        start = start.saturating_add(wait);
    }
    add("start", &time(start).to_string());
    if setup.stop != paceline_cc::Time::NEVER {
        add("stop", &time(setup.stop.as_nanos()).to_string());
        // Otherwise up to 4 MB that were written before would be sent after the flow's end.
        add("lowat", &LOW_WATER.to_string());
    }
    match &setup.workload {
        Workload::Bulk => add("work", "bulk"),
        Workload::Bytes(bytes) => add("work", &format!("bytes:{}", written(*bytes, mtu))),
        Workload::Limited { rate, message } => {
            let interval = rate.time_for(u64::from(*message)).as_nanos().max(1);
            add("work", &format!("limited:{message}:{interval}"));
        }
        Workload::OnOff { on, off, starts_off, fresh } => {
            let kind = if matches!(on, On::Time(_)) { "time" } else { "bytes" };
            add("work", &format!("onoff:{kind}:{}", u8::from(*fresh)));
            let mut periods = periods(setup, (on, off), *starts_off)?;
            if matches!(on, On::Bytes(_)) {
                if *starts_off {
                    periods.drain(..2);
                }
                periods.iter_mut().step_by(2).for_each(|bytes| *bytes = written(*bytes, mtu));
                if periods.is_empty() {
                    // The first off-period lasts beyond the end, so that nothing is sent.
                    periods = vec![1, 0];
                }
            }
            let numbers: Vec<_> = periods.iter().map(u64::to_string).collect();
            add("periods", &numbers.join(","));
        }
        Workload::Video(_) | Workload::Audio(_) => add("ordered", "1"),
        Workload::Supplied => {
            return Err(Error::Unusable(
                "Linux hosts have no workload that a driver supplies; take bulk, bytes, limited, on_off, video or audio".into(),
            ));
        }
    }
    Ok(())
}

/// Returns 32 random bytes as hexadecimal digits.
fn seed(random: &mut Stream) -> String {
    let mut digits = String::new();
    for _ in 0..4 {
        // Writing to a string never fails.
        let _ = write!(digits, "{:016x}", random.next_u64());
    }
    digits
}

/// Returns the bytes that an application writes for this many bytes on the wire, as scenarios count
/// them.
pub(crate) fn written(bytes: u64, mtu: u16) -> u64 {
    let packets = bytes.div_ceil(u64::from(mtu));
    bytes.saturating_sub(packets * HEADERS).max(1)
}

/// Returns the transfers of a known size that a sender's workload has.
///
/// # Errors
/// The errors of [`words`].
pub(crate) fn transfers(flows: &Flows, setup: &TransportSetup) -> Result<Plan, Error> {
    let mtu = mtu(flows)?;
    let size = |bytes| Size { bytes, written: written(bytes, mtu) };
    match &setup.workload {
        Workload::Bytes(bytes) => Ok(Plan { sizes: [size(*bytes)].into(), fresh: false }),
        Workload::OnOff { on: on @ On::Bytes(_), off, starts_off, fresh } => {
            let periods = periods(setup, (on, off), *starts_off)?;
            // The first period is an empty one if the flow begins with an off-period.
            let transfers = periods.into_iter().step_by(2).skip(usize::from(*starts_off));
            let sizes = transfers.map(size).collect();
            Ok(Plan { sizes, fresh: *fresh })
        }
        _ => Ok(Plan::default()),
    }
}

/// Returns the lengths of on-periods and off-periods, by turns, up to the end of the run: in
/// nanoseconds, or bytes on the wire for on-periods of a known size.
fn periods(
    setup: &TransportSetup,
    (on, off): (&On, &Amount),
    starts_off: bool,
) -> Result<Vec<u64>, Error> {
    let mut random = setup.random("workload");
    let ns = |seconds: f64| (seconds.max(0.0) * 1e9) as u64;
    let end = setup.end.min(setup.stop).since(setup.start).as_nanos();
    let (mut numbers, mut lasted) = (Vec::new(), 0u64);
    if starts_off {
        let wait = ns(off.draw(&mut random));
        numbers.extend([0, wait]);
        lasted = wait;
    }
    while lasted < end && numbers.len() < MOST_PERIODS {
        let length = match on {
            On::Time(time) => ns(time.draw(&mut random)),
            On::Bytes(bytes) => bytes.draw(&mut random).max(1.0) as u64,
        };
        let wait = ns(off.draw(&mut random));
        numbers.extend([length, wait]);
        // A transfer's duration is unknown, so only its off-period counts.
        let known = if matches!(on, On::Time(_)) { length.saturating_add(wait) } else { wait };
        lasted = lasted.saturating_add(known);
    }
    if lasted < end {
        return Err(Error::Unusable(format!(
            "the run may have more than {} on-periods, which is the most of a Linux host; make it \
             shorter, or the periods longer",
            MOST_PERIODS / 2
        )));
    }
    Ok(numbers)
}

/// Writes as `%XX` all bytes of a value that the kernel's command line could misread.
pub(crate) fn escaped(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"._:/,+-".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string never fails.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
