//! A receiver's half that returns a value from the newest packet's header.

use paceline_cc::{Body, Header, Packet, Reporter, Time, Verdict};

/// Returns the value in the header of the packet with the largest number, since values of late
/// packets are out of date.
#[derive(Clone, Debug)]
pub struct NewestHeader {
    read: fn(&Header) -> Option<u32>,
    number: Option<u64>,
    value: u32,
}

impl NewestHeader {
    /// Returns a receiver's half that returns the value that `read` finds in headers; 0 before the
    /// first.
    pub fn new(read: fn(&Header) -> Option<u32>) -> NewestHeader {
        NewestHeader { read, number: None, value: 0 }
    }
}

impl Reporter for NewestHeader {
    fn on_arrival(&mut self, _now: Time, packet: &Packet) -> Verdict {
        if let Body::Data(data) = &packet.body
            && self.number.is_none_or(|number| number < data.number)
            && let Some(value) = (self.read)(&data.header)
        {
            self.number = Some(data.number);
            self.value = value;
        }
        Verdict::default()
    }

    fn explicit(&mut self) -> u32 {
        self.value
    }
}
