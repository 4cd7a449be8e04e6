//! Captures the packets at both sides of elements as a pcapng file.
//!
//! Each element has three interfaces: what comes in, what goes out, and what it drops, so that
//! the first holds as many packets as the other two and the queue. Times are the scheduled ones,
//! in nanoseconds. Comments have the reason of a drop, and the queue or router that marked a packet.
//!
//! [`HostCapture`] captures the frames of hosts.

mod blocks;
mod hosts;

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use paceline_cc::Ecn;
use paceline_path::{DropReason, EventKind, LinkEvent};

use self::blocks::{INBOUND, LINKTYPE_NULL, OUTBOUND, PacketBlock, WHOLE};
pub use self::hosts::HostCapture;
use super::sink::Sink;
use super::watched::{WatchedElement, word};
use crate::{ElementKind, LiveEvent, Observer, Summary, View};

const NULL_IPV4: u32 = 2;
const NULL_IPV6: u32 = 24;
const NULL_HEADER: u32 = 4;

/// An [`Observer`] that writes packets.
#[derive(Debug)]
pub struct Pcapng {
    sink: Sink,
    snaplen: u32,
    elements: Vec<WatchedElement>,
    /// Time zero, in nanoseconds since 1970.
    started: u64,
    comment: String,
}

impl Pcapng {
    /// Creates a capture around the elements as the file `path`, with at most `snaplen` bytes of each packet, or all.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(
        path: &Path,
        elements: Vec<WatchedElement>,
        snaplen: Option<u32>,
    ) -> io::Result<Pcapng> {
        let sink = Sink::create(path)?;
        let snaplen = snaplen.unwrap_or(WHOLE).min(WHOLE);
        Ok(Pcapng { sink, snaplen, elements, started: 0, comment: String::new() })
    }

    fn head(&mut self) {
        let out = self.sink.record();
        blocks::section(out);
        for element in &self.elements {
            let WatchedElement { direction, name, queue, stage, .. } = element;
            let way = word(*direction);
            let sides = [
                ("in", "packets that arrive"),
                ("out", "packets that leave"),
                ("drop", "packets dropped"),
            ];
            for (side, what) in sides {
                let queue = if queue.is_empty() { "" } else { &format!(", {queue}") };
                let interface = format!("{way}.{stage}.{side}");
                let text = format!("{what}: {name}{queue}, {way}");
                let snaplen = self.snaplen + NULL_HEADER;
                blocks::interface(out, LINKTYPE_NULL, snaplen, &interface, &text);
            }
        }
    }
}

impl Observer for Pcapng {
    fn name(&self) -> String {
        format!("capture {}", self.sink.path().display())
    }

    fn wants_bytes(&self) -> bool {
        true
    }

    fn on_start(&mut self, started: SystemTime, _view: &View<'_>) -> io::Result<()> {
        let started = started.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        self.started = u64::try_from(started).unwrap_or(0);
        self.head();
        self.sink.flush()
    }

    fn on_event(&mut self, event: &LiveEvent<'_>) -> io::Result<()> {
        let Some(at) = self.elements.iter().position(|element| element.is_of(event)) else {
            return Ok(());
        };
        let (side, flags) = match event.event.kind {
            EventKind::Arrival => (0, INBOUND),
            EventKind::Departure { .. } => (1, OUTBOUND),
            EventKind::Drop { .. } => (2, 0),
        };
        self.comment.clear();
        explain(event, &mut self.comment);
        let interface = (3 * at + side) as u32;
        let time = self.started.saturating_add(event.event.time.as_nanos());
        let most = event.bytes.len().min(self.snaplen as usize);
        let captured = event.bytes.get(..most).unwrap_or_default();
        let original = event.event.size.max(captured.len() as u32);
        let version = captured.first().map_or(4, |first| first >> 4);
        let version = if version == 6 { NULL_IPV6 } else { NULL_IPV4 };
        let header = version.to_le_bytes();
        let comment = self.comment.as_str();
        let packet =
            PacketBlock { interface, time, header: &header, captured, original, comment, flags };
        packet.write(self.sink.record());
        self.sink.end_record()
    }

    fn finish(&mut self, _summary: &Summary) -> io::Result<()> {
        self.sink.finish()
    }
}

/// Writes why a packet was dropped, or what marked it; nothing for other packets.
fn explain(event: &LiveEvent<'_>, comment: &mut String) {
    let LinkEvent { kind, before, after, marked, queue_bytes, .. } = event.event;
    // Writing to memory does not fail.
    let _ = match kind {
        EventKind::Drop { .. } if event.element == ElementKind::OnOff => {
            comment.write_str("dropped: the line was off")
        }
        EventKind::Drop { .. } if event.element == ElementKind::Shared => {
            comment.write_str("dropped on the path that it shares with simulated flows")
        }
        EventKind::Drop { .. } if event.element != ElementKind::Link => {
            comment.write_str("dropped: random loss")
        }
        EventKind::Drop { reason } => {
            let reason = match reason {
                DropReason::Full => "the buffer was full",
                DropReason::Aqm => "active queue management",
                DropReason::Stale => "it had waited too long",
                DropReason::Unacknowledged => "its station did not acknowledge it",
                _ => "for another reason",
            };
            write!(comment, "dropped: {reason}; queue {queue_bytes} bytes")
        }
        _ if !marked => Ok(()),
        _ if before == after => comment.write_str("marked CE by the queue"),
        _ if after == Ecn::Ce => comment.write_str("marked CE by the router"),
        _ => comment.write_str("accelerate turned to brake by the router"),
    };
}

#[cfg(test)]
mod tests;
