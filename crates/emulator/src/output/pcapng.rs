//! Captures the packets at both sides of elements as a pcapng file.
//!
//! Each element has three interfaces: what comes in, what goes out, and what it drops, so that
//! the first holds as many packets as the other two and the queue. Times are the scheduled ones,
//! in nanoseconds. Comments have the reason of a drop, and the queue or router that marked a packet.
//!
//! The four kinds of blocks are written here rather than by a library, whose options are lists on
//! the heap, made for each packet. Source: draft-ietf-opsawg-pcapng.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use paceline_cc::Ecn;
use paceline_path::{DropReason, EventKind, LinkEvent};

use super::sink::Sink;
use super::watched::{WatchedElement, word};
use crate::{ElementKind, LiveEvent, Observer, Summary, View};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Packets begin with four bytes that say which IP they are. The type for bare IP packets would
/// save these, but libpcap does not read it from files with several interfaces.
const LINKTYPE_NULL: u16 = 0;
const NULL_IPV4: u32 = 2;
const NULL_IPV6: u32 = 24;
const NULL_HEADER: u32 = 4;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const SHB_USERAPPL: u16 = 4;
/// The largest packet.
const WHOLE: u32 = 65_535;

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
        block(out, SECTION, |out| {
            out.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
            out.extend_from_slice(&[1, 0, 0, 0]);
            out.extend_from_slice(&u64::MAX.to_le_bytes());
            option(out, SHB_USERAPPL, b"paceline");
            option(out, 0, b"");
        });
        for element in &self.elements {
            let WatchedElement { direction, name, queue, stage, .. } = element;
            let way = word(*direction);
            let sides = [
                ("in", "packets that arrive"),
                ("out", "packets that leave"),
                ("drop", "packets dropped"),
            ];
            for (side, what) in sides {
                block(out, INTERFACE, |out| {
                    out.extend_from_slice(&LINKTYPE_NULL.to_le_bytes());
                    out.extend_from_slice(&[0, 0]);
                    out.extend_from_slice(&(self.snaplen + NULL_HEADER).to_le_bytes());
                    option(out, IF_NAME, format!("{way}.{stage}.{side}").as_bytes());
                    let queue = if queue.is_empty() { "" } else { &format!(", {queue}") };
                    let text = format!("{what}: {name}{queue}, {way}");
                    option(out, IF_DESCRIPTION, text.as_bytes());
                    option(out, IF_TSRESOL, &[9]);
                    option(out, 0, b"");
                });
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
            EventKind::Arrival => (0, 1u32),
            EventKind::Departure { .. } => (1, 2),
            EventKind::Drop { .. } => (2, 0),
        };
        self.comment.clear();
        explain(event, &mut self.comment);
        let interface = (3 * at + side) as u32;
        let time = self.started.saturating_add(event.event.time.as_nanos());
        let most = event.bytes.len().min(self.snaplen as usize);
        let captured = event.bytes.get(..most).unwrap_or_default();
        let original = event.event.size.max(captured.len() as u32);
        let comment = self.comment.as_bytes();
        block(self.sink.record(), PACKET, |out| {
            out.extend_from_slice(&interface.to_le_bytes());
            out.extend_from_slice(&((time >> 32) as u32).to_le_bytes());
            out.extend_from_slice(&(time as u32).to_le_bytes());
            out.extend_from_slice(&(captured.len() as u32 + NULL_HEADER).to_le_bytes());
            out.extend_from_slice(&(original + NULL_HEADER).to_le_bytes());
            let version = captured.first().map_or(4, |first| first >> 4);
            let version = if version == 6 { NULL_IPV6 } else { NULL_IPV4 };
            out.extend_from_slice(&version.to_le_bytes());
            padded(out, captured);
            if !comment.is_empty() {
                option(out, COMMENT, comment);
            }
            if flags != 0 {
                option(out, EPB_FLAGS, &flags.to_le_bytes());
            }
            option(out, 0, b"");
        });
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

/// Appends a block with the contents that `body` writes.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out.extend_from_slice(&length);
    if let Some(place) = out.get_mut(start + 4..start + 8) {
        place.copy_from_slice(&length);
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = value.len().min(u16::MAX as usize);
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(length as u16).to_le_bytes());
    padded(out, &value[..length]);
}

/// Appends bytes, filled up to a multiple of four.
fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

#[cfg(test)]
mod tests;
