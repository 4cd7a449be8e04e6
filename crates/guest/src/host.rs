//! The words of a guest's kernel command line (PROTOCOL.md).

use std::fmt::Write as _;

use paceline_cc::Stream;
use paceline_flow::{Amount, On, Workload};
use paceline_sim::TransportSetup;

use crate::error::Error;
use crate::files::PROTOCOL;
use crate::guest::ORIGIN;
use crate::settings::HostSettings;

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
/// Name of a congestion control's module in the guest's folder.
pub(crate) const MODULE: &str = "scheme.ko";
/// Interval at which `/init` reports a connection, in ns.
const SAMPLE_INTERVAL_NS: u64 = 100_000_000;

/// Sysctls of every host: the buffer sizes of machines with 4 GB and more. A guest has 256 MB, from
/// which Linux would derive smaller buffers.
const SYSCTLS: [(&str, &str); 4] = [
    ("net.ipv4.tcp_mem", "100000 200000 400000"),
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_no_metrics_save", "1"),
];

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

/// Returns the MTU of a flow's hosts.
///
/// # Errors
/// The MTU is outside of the range of Ethernet devices.
pub(crate) fn mtu(settings: &HostSettings, setup: &TransportSetup) -> Result<u16, Error> {
    let mtu = settings.mtu.map_or(setup.mss, u32::from);
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
/// Guests do not have this workload.
pub(crate) fn words(
    role: Role,
    settings: &HostSettings,
    setup: &TransportSetup,
) -> Result<Vec<String>, Error> {
    let mtu = mtu(settings, setup)?;
    let mut words = Vec::new();
    let mut add = |key: &str, value: &str| words.push(format!("pl.{key}={}", escaped(value)));
    add("protocol", &PROTOCOL.to_string());
    add("role", if role == Role::Sender { "sender" } else { "receiver" });
    add("address", &format!("10.0.0.{}/24", role.number()));
    add("peer", &format!("10.0.0.{}", role.peer().number()));
    let mac = role.peer().mac().map(|byte| format!("{byte:02x}"));
    add("peer_mac", &mac.join(":"));
    add("seed", &seed(&mut setup.random(&format!("host {}", role.number()))));
    add("mtu", &mtu.to_string());
    if let Some(qdisc) = &settings.qdisc {
        add("qdisc", qdisc);
    }
    let given = |name: &str| settings.sysctls.iter().any(|(other, _)| other == name);
    let own = SYSCTLS.into_iter().filter(|(name, _)| !given(name));
    for (name, value) in own.map(|(name, value)| (name.to_string(), value.to_string())) {
        add(&format!("sysctl.{name}"), &value);
    }
    for (name, value) in &settings.sysctls {
        add(&format!("sysctl.{name}"), value);
    }
    add("sample", &SAMPLE_INTERVAL_NS.to_string());
    add("flows", "1");
    add("0.cc", &settings.scheme);
    let time = |at: u64| ORIGIN.saturating_add(at);
    add("0.start", &time(setup.start.as_nanos()).to_string());
    if setup.stop != paceline_cc::Time::NEVER {
        add("0.stop", &time(setup.stop.as_nanos()).to_string());
        // Otherwise up to 4 MB that were written before would be sent after the flow's end.
        add("0.lowat", &LOW_WATER.to_string());
    }
    match &setup.workload {
        Workload::Bulk => add("0.work", "bulk"),
        Workload::Bytes(bytes) => {
            // The scenario counts bytes on the wire; an application counts the bytes that it
            // writes.
            let packets = bytes.div_ceil(u64::from(mtu));
            let written = bytes.saturating_sub(packets * HEADERS).max(1);
            add("0.work", &format!("bytes:{written}"));
        }
        Workload::Limited { rate, message } => {
            let interval = rate.time_for(u64::from(*message)).as_nanos().max(1);
            add("0.work", &format!("limited:{message}:{interval}"));
        }
        Workload::OnOff { on, off, starts_off, fresh } => {
            let kind = if matches!(on, On::Time(_)) { "time" } else { "bytes" };
            add("0.work", &format!("onoff:{kind}:{}", u8::from(*fresh)));
            let random = setup.random("workload");
            add("0.periods", &periods(setup, (on, off), *starts_off, random)?);
        }
        _ => {
            return Err(Error::Unusable(
                "Linux hosts send bulk data, bytes, limited and on_off; they have no video".into(),
            ));
        }
    }
    Ok(words)
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

/// Returns the lengths of on-periods and off-periods up to the end of the run.
fn periods(
    setup: &TransportSetup,
    (on, off): (&On, &Amount),
    starts_off: bool,
    mut random: Stream,
) -> Result<String, Error> {
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
    Ok(numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
}

/// Writes as `%XX` all bytes of a value that the kernel's command line could misread.
fn escaped(value: &str) -> String {
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
