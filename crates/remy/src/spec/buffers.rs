//! Buffers of the networks: one size, a list of sizes, or a range in one unit.

use paceline_cc::Span;
use paceline_path::BufferSize;
use toml::Value;

use super::quantity::{BYTES, Kind, SECONDS, Unit, names};
use super::{Range, SpecificationError};
use crate::PACKET;

const KEY: &str = "networks.buffer";

/// The buffer sizes of the link.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Buffers {
    /// The sizes, or indices into the list of sizes.
    pub range: Range,
    /// Unit of the numbers in the range.
    pub unit: BufferUnit,
}

/// Unit of a number of [`Buffers`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BufferUnit {
    /// Index into this list.
    Listed(Vec<BufferSize>),
    /// Packets, rounded to integers.
    Packets,
    /// Bytes, rounded to integers.
    Bytes,
    /// Seconds at the link's mean rate.
    Seconds,
    /// Bandwidth-delay products.
    Bdp,
    /// Maximum sojourn time of each packet in seconds.
    SojournSeconds,
}

impl From<BufferSize> for Buffers {
    fn from(size: BufferSize) -> Buffers {
        Buffers { range: Range::places(1, false), unit: BufferUnit::Listed(vec![size]) }
    }
}

impl Buffers {
    /// Returns the buffer size for a value of the range.
    pub(super) fn size(&self, value: f64) -> BufferSize {
        // At least one packet or byte, the minimum of buffer sizes.
        let whole = || (value + 0.5).max(1.0) as u64;
        match &self.unit {
            BufferUnit::Listed(sizes) => {
                sizes.get(value as usize).copied().unwrap_or(BufferSize::Unlimited)
            }
            BufferUnit::Packets => BufferSize::Packets(whole()),
            BufferUnit::Bytes => BufferSize::Bytes(whole()),
            BufferUnit::Seconds => BufferSize::Time(Span::from_secs_f64(value)),
            BufferUnit::Bdp => BufferSize::Bdp(value),
            BufferUnit::SojournSeconds => BufferSize::Sojourn(Span::from_secs_f64(value)),
        }
    }

    /// Reads one size, a list of sizes, or a range of sizes with one unit.
    pub(super) fn read(written: &Value) -> Result<Buffers, SpecificationError> {
        let fail = |problem: String| SpecificationError::value(KEY, problem);
        let table = written.as_table().filter(|table| !table.contains_key("values"));
        let Some(table) = table else {
            let (names, range) = names(KEY, written)?;
            let sizes = names.iter().map(|name| BufferSize::parse(name).map_err(fail));
            let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
            for size in &sizes {
                if let BufferSize::Bytes(bytes) = size {
                    holds_a_packet(*bytes as f64)?;
                }
            }
            return Ok(Buffers { range, unit: BufferUnit::Listed(sizes) });
        };
        // The unit is that of `from`; `to` must have the same one.
        let from = table.get("from").map(|from| names(KEY, from)).transpose()?;
        let from = from.and_then(|(names, _)| names.into_iter().next());
        let missing = || fail("a range needs from: write from = ..., to = ...".into());
        let size = BufferSize::parse(&from.ok_or_else(missing)?).map_err(fail)?;
        let kind = |unit| Kind { key: KEY, least: 0.0, most: 1e15, unit };
        let (unit, kind) = match size {
            BufferSize::Packets(_) => (BufferUnit::Packets, kind(PACKETS)),
            BufferSize::Bytes(_) => (BufferUnit::Bytes, kind(BYTES)),
            BufferSize::Time(_) => (BufferUnit::Seconds, kind(TIME)),
            BufferSize::Bdp(_) => (BufferUnit::Bdp, kind(PRODUCTS)),
            BufferSize::Sojourn(_) => (BufferUnit::SojournSeconds, kind(SOJOURN)),
            BufferSize::Unlimited => {
                let problem =
                    "a range has no end at \"inf\": write a list, such as [\"1bdp\", \"inf\"]";
                return Err(fail(problem.into()));
            }
        };
        let range = kind.range(written)?;
        if unit == BufferUnit::Bytes {
            holds_a_packet(range.from)?;
        }
        Ok(Buffers { range, unit })
    }
}

/// Returns an error if a buffer of this many bytes has no room for a packet: it would drop all.
fn holds_a_packet(bytes: f64) -> Result<(), SpecificationError> {
    if bytes >= f64::from(PACKET) {
        return Ok(());
    }
    let problem = format!(
        "{bytes} bytes hold no packet, which has {PACKET} bytes: write \"{PACKET}B\" or more"
    );
    Err(SpecificationError::value(KEY, problem))
}

/// Both ends of a range have one unit.
const PACKETS: Unit = Unit {
    read: |text| match BufferSize::parse(text)? {
        BufferSize::Packets(packets) => Ok(packets as f64),
        _ => Err(format!("{text} is no number of packets: both ends of a range have one unit")),
    },
    show: |packets| packets.to_string(),
};
const TIME: Unit = Unit {
    read: |text| match BufferSize::parse(text)? {
        BufferSize::Time(time) => Ok(time.as_secs_f64()),
        _ => Err(format!("{text} is no time: both ends of a range have one unit")),
    },
    show: SECONDS.show,
};
const PRODUCTS: Unit = Unit {
    read: |text| match BufferSize::parse(text)? {
        BufferSize::Bdp(products) => Ok(products),
        _ => Err(format!("{text} is not in bdp: both ends of a range have one unit")),
    },
    show: |products| format!("\"{products}bdp\""),
};
const SOJOURN: Unit = Unit {
    read: |text| match BufferSize::parse(text)? {
        BufferSize::Sojourn(time) => Ok(time.as_secs_f64()),
        _ => Err(format!("{text} has no sojourn=: both ends of a range have one unit")),
    },
    show: |seconds| format!("\"sojourn={}\"", Span::from_secs_f64(seconds)),
};
