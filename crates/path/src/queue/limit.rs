//! Limits of buffers.

use paceline_cc::params::ParamValue;
use paceline_cc::{Rate, Span};

/// Size in bytes of a full packet of 1500 bytes with its Ethernet header.
pub const FULL_PACKET: u32 = 1514;

/// The limits of a buffer; it is full when any of them is reached.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Maximum number of packets.
    pub packets: Option<u64>,
    /// Maximum number of bytes.
    pub bytes: Option<u64>,
    /// Maximum sojourn time: a packet that has waited longer is dropped when it reaches the head.
    pub sojourn: Option<Span>,
}

impl Limit {
    /// No limit.
    pub const NONE: Limit = Limit { packets: None, bytes: None, sojourn: None };

    /// Limits a buffer to this many packets.
    pub fn packets(packets: u64) -> Limit {
        Limit { packets: Some(packets), ..Limit::NONE }
    }
    /// Limits a buffer to this many bytes.
    pub fn bytes(bytes: u64) -> Limit {
        Limit { bytes: Some(bytes), ..Limit::NONE }
    }
    /// Makes a buffer drop packets at the head whose sojourn time exceeds `sojourn`.
    pub fn sojourn(sojourn: Span) -> Limit {
        Limit { sojourn: Some(sojourn), ..Limit::NONE }
    }
    /// Returns true if the limit allows this many packets with this many bytes together.
    #[inline]
    pub fn holds(&self, packets: u64, bytes: u64) -> bool {
        self.packets.is_none_or(|most| packets <= most)
            && self.bytes.is_none_or(|most| bytes <= most)
    }
}

/// The size of a buffer in the user's notation: `250`, `250p`, `64kB`, `50ms`, `1.5bdp`, `inf`, or
/// `sojourn=50ms`.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum BufferSize {
    /// Packets: `250`, `250p`, `250packets`.
    Packets(u64),
    /// Bytes: `64000B`, `64kB`, `64KiB`, `1MB`, `1MiB`.
    Bytes(u64),
    /// The bytes that the link transmits in this time at its mean rate: `50ms`.
    Time(Span),
    /// Multiples of the bandwidth-delay product: `1bdp`.
    Bdp(f64),
    /// No limit: `inf`, `unlimited`.
    Unlimited,
    /// Any number of packets, each with this maximum sojourn time: `sojourn=50ms`. Packets that
    /// have waited longer are dropped when they reach the head, as in the buffers of cellular base
    /// stations that discard stale data.
    Sojourn(Span),
}

/// Prefix of a limit of sojourn times.
const SOJOURN: &str = "sojourn=";

impl BufferSize {
    /// Parses the size of a buffer. The error says what was expected.
    pub fn parse(text: &str) -> Result<BufferSize, String> {
        let text = text.trim();
        if matches!(text, "inf" | "infinite" | "unlimited") {
            return Ok(BufferSize::Unlimited);
        }
        if let Some(longest) = text.strip_prefix(SOJOURN) {
            return above_zero(Span::read(longest)?).map(BufferSize::Sojourn);
        }
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = (&text[..split], text[split..].trim());
        let value: f64 = number.parse().map_err(
            |_| "expected the size of a buffer such as 250 (packets), 64kB, 50ms, 1bdp, inf or sojourn=50ms",
        )?;
        if value.is_infinite() {
            return Err("the number is too large; write inf for a buffer without limit".into());
        }
        let bytes = |factor: f64| match (value * factor + 0.5) as u64 {
            0 => Err("a buffer must hold at least one byte".to_string()),
            bytes => Ok(BufferSize::Bytes(bytes)),
        };
        match unit {
            "" | "p" | "pkt" | "pkts" | "packet" | "packets" => match number.parse() {
                Ok(0) => Err("a buffer must hold at least one packet".into()),
                Ok(packets) => Ok(BufferSize::Packets(packets)),
                Err(_) => Err(format!("expected a whole number of packets, found `{number}`")),
            },
            "B" | "bytes" => bytes(1.0),
            "kB" | "KB" => bytes(1e3),
            "KiB" => bytes(1024.0),
            "MB" => bytes(1e6),
            "MiB" => bytes(1024.0 * 1024.0),
            "GB" => bytes(1e9),
            "GiB" => bytes(1024.0 * 1024.0 * 1024.0),
            "bdp" | "BDP" if value > 0.0 => Ok(BufferSize::Bdp(value)),
            "bdp" | "BDP" => Err("expected a multiple above 0 such as 1bdp".into()),
            "ns" | "us" | "µs" | "ms" | "s" | "min" | "h" => {
                above_zero(Span::read(text)?).map(BufferSize::Time)
            }
            other => Err(format!(
                "unknown unit `{other}`; use p (packets), B, kB, MB, KiB, MiB, ms, s, bdp or inf"
            )),
        }
    }

    /// Returns the limit of the buffer on a path with this mean rate and RTT. Times depend on the
    /// rate, multiples of the bandwidth-delay product on both; they are converted to bytes, at
    /// least one full packet.
    pub fn resolve(self, rate: Rate, rtt: Span) -> Limit {
        let bytes = |bytes: u64| Limit::bytes(bytes.max(u64::from(FULL_PACKET)));
        match self {
            BufferSize::Packets(packets) => Limit::packets(packets),
            BufferSize::Bytes(bytes) => Limit::bytes(bytes),
            BufferSize::Time(time) => bytes(rate.bytes_in(time)),
            BufferSize::Bdp(factor) => bytes((rate.bytes_in(rtt) as f64 * factor) as u64),
            BufferSize::Unlimited => Limit::NONE,
            BufferSize::Sojourn(longest) => Limit::sojourn(longest),
        }
    }

    /// Does [`BufferSize::resolve`] for packets of up to `largest` bytes: at least one of them fits if the limit depends on
    /// the rate.
    pub fn resolve_for(self, rate: Rate, rtt: Span, largest: u32) -> Limit {
        let mut limit = self.resolve(rate, rtt);
        if self.needs_rate() {
            limit.bytes = limit.bytes.map(|bytes| bytes.max(u64::from(largest)));
        }
        limit
    }

    /// Returns true if the limit depends on the rate of the link.
    pub fn needs_rate(self) -> bool {
        matches!(self, BufferSize::Time(_) | BufferSize::Bdp(_))
    }
}

fn above_zero(time: Span) -> Result<Span, String> {
    if time.is_zero() { Err("a buffer's time must be above zero".into()) } else { Ok(time) }
}

impl ParamValue for BufferSize {
    const KIND: &'static str = "buffer size";
    fn read(text: &str) -> Result<BufferSize, String> {
        BufferSize::parse(text)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// Writes the notation that [`BufferSize::parse`] reads.
impl std::fmt::Display for BufferSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BufferSize::Packets(packets) => write!(f, "{packets}p"),
            BufferSize::Bytes(bytes) if bytes.is_multiple_of(1000) => {
                write!(f, "{}kB", bytes / 1000)
            }
            BufferSize::Bytes(bytes) => write!(f, "{bytes}B"),
            BufferSize::Time(time) => write!(f, "{time}"),
            BufferSize::Bdp(factor) => write!(f, "{factor}bdp"),
            BufferSize::Unlimited => write!(f, "inf"),
            BufferSize::Sojourn(longest) => write!(f, "{SOJOURN}{longest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_and_show() {
        for (text, size) in [
            ("250", BufferSize::Packets(250)),
            ("250p", BufferSize::Packets(250)),
            ("250 packets", BufferSize::Packets(250)),
            ("64kB", BufferSize::Bytes(64_000)),
            ("1.5MiB", BufferSize::Bytes(1_572_864)),
            ("50ms", BufferSize::Time(Span::from_millis(50))),
            ("1.5bdp", BufferSize::Bdp(1.5)),
            ("inf", BufferSize::Unlimited),
            ("sojourn=50ms", BufferSize::Sojourn(Span::from_millis(50))),
        ] {
            assert_eq!(BufferSize::parse(text), Ok(size), "{text}");
            assert_eq!(BufferSize::parse(&size.to_string()), Ok(size), "{size}");
        }
        for wrong in ["", "p", "0", "0B", "0ms", "0bdp", "-1", "2.5", "1 parsec", "nan", "1é"] {
            assert!(BufferSize::parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["sojourn", "sojourn=", "sojourn=50", "sojourn=0ms", "sojourn=1bdp"] {
            assert!(BufferSize::parse(wrong).is_err(), "{wrong}");
        }
        // A number with this many digits does not fit.
        for unit in ["", "bdp", "ms"] {
            let wrong = "9".repeat(400) + unit;
            assert!(BufferSize::parse(&wrong).is_err(), "{unit}");
        }
    }

    #[test]
    fn times_and_products_of_bandwidth_and_delay_become_bytes() {
        let (rate, rtt) = (Rate::from_mbps(12.0), Span::from_millis(100));
        let time = BufferSize::Time(Span::from_millis(50));
        assert_eq!(time.resolve(rate, rtt), Limit::bytes(75_000));
        assert_eq!(time.resolve(Rate::from_mbps(0.1), rtt), Limit::bytes(1514));
        let sojourn = BufferSize::Sojourn(Span::from_millis(50));
        assert_eq!(sojourn.resolve(rate, rtt), Limit::sojourn(Span::from_millis(50)));
        assert_eq!(BufferSize::Bdp(2.0).resolve(rate, rtt), Limit::bytes(300_000));
        assert_eq!(BufferSize::Bdp(1.0).resolve(Rate::ZERO, rtt), Limit::bytes(1514));
        assert_eq!(BufferSize::Packets(7).resolve(rate, rtt), Limit::packets(7));
    }
}
