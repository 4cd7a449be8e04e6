//! Names of a sweep's settings: links with their round-trip times and buffers.

use super::CompareRow;

/// Returns the name of a link in a comparison: its trace, and in a sweep also its RTT and its buffer:
/// `lte-driving, RTT 50ms, buffer 2bdp`.
pub fn link_name(trace: &str, rtt: Option<&str>, buffer: Option<&str>) -> String {
    let rtt = rtt.map(|rtt| format!(", RTT {rtt}")).unwrap_or_default();
    let buffer = buffer.map(|buffer| format!(", buffer {buffer}")).unwrap_or_default();
    format!("{trace}{rtt}{buffer}")
}

impl CompareRow {
    /// Returns the name of the row's link: see [`link_name`].
    pub fn link(&self) -> String {
        link_name(&self.trace, self.rtt.as_deref(), self.buffer.as_deref())
    }

    /// Returns true if both rows have equal links, RTTs and buffers.
    pub fn is_on_link_of(&self, row: &CompareRow) -> bool {
        (&self.trace, &self.rtt, &self.buffer) == (&row.trace, &row.rtt, &row.buffer)
    }
}
