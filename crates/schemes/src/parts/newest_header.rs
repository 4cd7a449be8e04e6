//! A receiver's half that returns what the newest packet's header says.

use paceline_cc::{Body, Header, Packet, Reporter, Time, Verdict};

/// Returns what the header of the packet with the largest number says: packets that come late say
/// what was right before.
#[derive(Clone, Debug)]
pub struct NewestHeader {
    read: fn(&Header) -> Option<u32>,
    number: Option<u64>,
    value: u32,
}

impl NewestHeader {
    /// A receiver that returns what `read` finds in headers; 0 before it has found anything.
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
