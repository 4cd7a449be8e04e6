//! Duration of the networks' simulation.

use paceline_cc::{ParamValue, Span};
use toml::Value;

use super::SpecificationError;
use crate::Network;

const KEY: &str = "duration";
/// Maximum duration of a run.
const LONGEST: Span = Span::from_secs(1_000_000);

/// Duration of each network's simulation.
#[derive(Copy, Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunLength {
    /// A fixed duration.
    Fixed(Span),
    /// The time that the slowest link takes to carry a number of packets.
    Packets {
        /// Number of packets of [`crate::PACKET`] bytes.
        packets: f64,
        /// Minimum duration.
        least: Span,
        /// Maximum duration.
        most: Span,
    },
}

impl From<Span> for RunLength {
    fn from(length: Span) -> RunLength {
        RunLength::Fixed(length)
    }
}

impl RunLength {
    /// Returns the duration for this network.
    pub(super) fn of(&self, network: &Network) -> Span {
        match *self {
            RunLength::Fixed(length) => length,
            RunLength::Packets { packets, least, most } => {
                // Links here have constant rates, so any duration gives the same mean.
                let rate = network.packets_per_ms(Span::from_secs(1)).unwrap_or(0.0);
                let millis = packets / rate;
                if millis < most.as_millis_f64() {
                    Span::from_secs_f64(millis / 1e3).max(least)
                } else {
                    most
                }
            }
        }
    }

    /// Reads a duration, or a number of packets with bounds.
    pub(super) fn read(written: Option<&Value>) -> Result<RunLength, SpecificationError> {
        let fail = |problem: String| SpecificationError::value(KEY, problem);
        let time = |value: &Value| {
            let text = value.as_str().ok_or_else(|| {
                fail(format!("{value}: expected a time with its unit, such as \"100s\""))
            })?;
            let length = Span::read(text).map_err(fail)?;
            if length.is_zero() || length > LONGEST {
                return Err(fail(format!("{length} is not above 0 and up to 1000000s")));
            }
            Ok(length)
        };
        let table = match written {
            None => return Ok(RunLength::Fixed(Span::from_secs(100))),
            Some(Value::Table(table)) => table,
            Some(value) => return Ok(RunLength::Fixed(time(value)?)),
        };
        let usage = "write { packets = 100000, least = \"10s\", most = \"1000s\" }";
        if let Some(name) =
            table.keys().find(|name| !["packets", "least", "most"].contains(&name.as_str()))
        {
            return Err(fail(format!("there is no key `{name}`: {usage}")));
        }
        let bound = |name: &str, default: Span| table.get(name).map_or(Ok(default), time);
        let (least, most) = (bound("least", Span::from_secs(1))?, bound("most", LONGEST)?);
        let packets = match table.get("packets") {
            Some(Value::Integer(packets)) => *packets as f64,
            Some(Value::Float(packets)) => *packets,
            _ => return Err(fail(format!("packets is a number: {usage}"))),
        };
        if !(1.0..=1e12).contains(&packets) {
            return Err(fail(format!(
                "packets = {packets} is not from 1 to 1e12: write packets = 40000"
            )));
        }
        if least > most {
            return Err(fail(format!("least = {least} is above most = {most}: {usage}")));
        }
        Ok(RunLength::Packets { packets, least, most })
    }
}
