//! The handshake at the beginning of a script, from either end, and its results.

use paceline_cc::Span;

use super::{Remark, Schemes};
use crate::script::{Script, Segment, What, When};
use crate::tcp::Terms;

/// MSS that a host assumes if the other end announces none (RFC 9293 §3.7.1).
const DEFAULT_MSS: u64 = 536;
/// MSS of packetdrill's hosts: 1500 bytes minus the headers of IPv4 and TCP.
const HOST_MSS: u64 = 1460;
/// Bytes of the timestamp option in each segment.
const TIMESTAMP_SIZE: u64 = 12;

/// A connection that a script has established.
pub(super) struct Connection {
    pub(super) terms: Terms,
    /// Shift of the receiver's window fields.
    pub(super) window_scale: u32,
    /// The sender's timestamp in its first segment, and the departure time of that segment.
    timestamp: Option<(u64, Span)>,
    /// Index of the event after the handshake, and line of the handshake's last event.
    pub(super) next_event: usize,
    pub(super) line: usize,
}

impl Connection {
    /// Returns the departure time of the segment with this timestamp. Timestamps count
    /// milliseconds.
    pub(super) fn left_at(&self, timestamp: u64) -> Option<Span> {
        let (first, left) = self.timestamp?;
        let since = timestamp.checked_sub(first)?;
        // A clock of milliseconds may be up to one millisecond behind.
        Some(left + Span::from_micros(since * 1000 + 999))
    }
}

/// Plays the handshake of a script. `times` has the times of its events if they are not the
/// script's own.
pub(super) fn connect(
    script: &Script,
    schemes: &Schemes,
    times: Option<&[Span]>,
) -> Result<Connection, Remark> {
    // The sender's SYN or SYN-ACK with its departure time, and the other end's.
    let (mut ours, mut theirs): (Option<(&Segment, Span)>, Option<&Segment>) = (None, None);
    let mut now = Span::ZERO;
    for (index, event) in script.events.iter().enumerate() {
        now = match (times, event.when) {
            (Some(times), _) => times[index],
            (None, When::At(time)) => time,
            (None, When::After(by, _)) => now + by,
            (None, When::Any) => now,
        };
        match &event.what {
            What::Out(segment) if segment.has('S') => ours = ours.or(Some((segment, now))),
            What::In(segment) if segment.has('S') => theirs = Some(segment),
            _ => {}
        }
        let (What::In(answer), Some((ours, left)), Some(theirs)) = (&event.what, ours, theirs)
        else {
            continue;
        };
        // A SYN-ACK answers a SYN, and an acknowledgement answers a SYN-ACK.
        if answer.has('S') == ours.has('.') {
            continue;
        }
        let established = (now, now - left);
        let terms = terms(script, schemes, ours, theirs, established);
        let timestamp = ours.options.timestamp.map(|(value, _)| (value, left));
        let window_scale = match ours.options.window_scale.is_some() || ours.options.mss.is_none() {
            true => theirs.options.window_scale.unwrap_or(0),
            false => 0,
        };
        let (next_event, line) = (index + 1, event.line);
        return Ok(Connection { terms, window_scale, timestamp, next_event, line });
    }
    Err(Remark { line: 0, text: "no connection is established".to_string() })
}

fn terms(
    script: &Script,
    schemes: &Schemes,
    ours: &Segment,
    theirs: &Segment,
    established: (Span, Span),
) -> Terms {
    // RFC 3168 §6.1.1: ECE and CWR in the SYN, ECE alone in the SYN-ACK.
    let asks = |segment: &Segment| segment.has('E') && segment.has('W');
    let agrees = |segment: &Segment| segment.has('E') && !segment.has('W');
    let ecn = asks(ours) && agrees(theirs) || asks(theirs) && agrees(ours);
    let control = script.sysctl("tcp_congestion_control");
    let scheme = if control == "reno" { &schemes.reno } else { &schemes.cubic };
    let scheme = match (ecn, scheme.strip_suffix(']')) {
        (false, _) => scheme.clone(),
        (true, Some(open)) => format!("{open},ecn=true]"),
        (true, None) => format!("{scheme}[ecn=true]"),
    };
    let mss = theirs.options.mss.unwrap_or(DEFAULT_MSS).min(HOST_MSS);
    let has_timestamps =
        theirs.options.timestamp.is_some() && script.sysctl("tcp_timestamps") != "0";
    Terms {
        mss: mss.saturating_sub(if has_timestamps { TIMESTAMP_SIZE } else { 0 }).max(1),
        sack: theirs.options.sack_permitted && script.sysctl("tcp_sack") != "0",
        timestamps: has_timestamps,
        ecn,
        scheme,
        slow_start_after_idle: script.sysctl("tcp_slow_start_after_idle") != "0",
        established,
        uptime: None,
    }
}
