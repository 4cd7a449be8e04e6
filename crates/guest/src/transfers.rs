//! Transfers of a known size: when a host begins each one, and when its last byte is acknowledged.

use std::collections::VecDeque;

use paceline_cc::Time;
use paceline_flow::Transfer;

/// The transfers that a host will send, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) sizes: VecDeque<Size>,
    /// True if each transfer has a connection of its own.
    pub(crate) fresh: bool,
}

/// Size of a transfer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Bytes that the application writes.
    pub(crate) written: u64,
    /// Bytes on the wire, headers included.
    pub(crate) bytes: u64,
}

/// Follows the transfers of a flow at the sending host's device.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    plan: Plan,
    /// Port of the connection of the current transfer; `None` before the first connection.
    port: Option<u16>,
    /// Start of the current transfer in its connection's data.
    from: u64,
    /// When the current transfer began; `None` between transfers.
    began: Option<Time>,
    finished: Vec<Transfer>,
}

impl Transfers {
    pub(crate) fn new(plan: Plan) -> Transfers {
        Transfers { plan, ..Transfers::default() }
    }

    /// Notes that the host opens a connection. The first transfer of a connection begins here, as the
    /// application asks for it before the handshake.
    pub(crate) fn on_connection(&mut self, now: Time, port: u16) {
        if self.plan.fresh && self.port.is_some() {
            // The transfer before is over, or its connection was lost.
            self.plan.sizes.pop_front();
        }
        if self.plan.fresh || self.port.is_none() {
            (self.port, self.from) = (Some(port), 0);
            self.began = (!self.plan.sizes.is_empty()).then_some(now);
        }
    }

    /// Notes that the host has sent its data up to `end`.
    pub(crate) fn on_data(&mut self, now: Time, port: u16, end: u64) {
        if !self.plan.fresh
            && self.port == Some(port)
            && end > self.from
            && !self.plan.sizes.is_empty()
        {
            self.began.get_or_insert(now);
        }
    }

    /// Notes that the receiver has acknowledged the data up to `acknowledged`.
    pub(crate) fn on_acknowledged(&mut self, now: Time, port: u16, acknowledged: u64) {
        if self.port != Some(port) {
            return;
        }
        while let (Some(start), Some(size)) = (self.began, self.plan.sizes.front()) {
            let end = self.from.saturating_add(size.written);
            if acknowledged < end {
                return;
            }
            self.finished.push(Transfer::new(start, now, size.bytes));
            (self.from, self.began) = (end, None);
            if !self.plan.fresh {
                self.plan.sizes.pop_front();
            }
        }
    }

    /// Takes the transfers that have finished since the last call, oldest first.
    pub(crate) fn take_finished(&mut self) -> impl Iterator<Item = Transfer> + '_ {
        self.finished.drain(..)
    }

    /// Returns the transfer that has begun and is not finished at `now`, with `now` as its end.
    pub(crate) fn unfinished(&self, now: Time) -> Option<Transfer> {
        let size = self.plan.sizes.front()?;
        Some(Transfer::new(self.began?, now, size.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfers(sizes: &[u64], fresh: bool) -> Transfers {
        let sizes = sizes.iter().map(|&written| Size { written, bytes: written + 52 }).collect();
        Transfers::new(Plan { sizes, fresh })
    }

    fn taken(transfers: &mut Transfers) -> Vec<(u64, u64, u64)> {
        let ms = |time: Time| time.as_nanos() / 1_000_000;
        transfers.take_finished().map(|it| (ms(it.start), ms(it.end), it.bytes)).collect()
    }

    #[test]
    fn transfers_of_one_connection_begin_with_their_data() {
        let ms = Time::from_millis;
        let mut sent = transfers(&[100, 50], false);
        sent.on_connection(ms(10), 7);
        sent.on_data(ms(20), 7, 60);
        sent.on_data(ms(21), 7, 100);
        sent.on_acknowledged(ms(30), 7, 60);
        assert_eq!(sent.unfinished(ms(31)).map(|it| it.bytes), Some(152));
        sent.on_acknowledged(ms(40), 7, 100);
        assert_eq!(taken(&mut sent), [(10, 40, 152)]);
        // A retransmission does not begin the next transfer.
        sent.on_data(ms(50), 7, 100);
        assert_eq!(sent.unfinished(ms(51)), None);
        sent.on_data(ms(60), 7, 150);
        sent.on_acknowledged(ms(90), 8, 150);
        sent.on_acknowledged(ms(91), 7, 151);
        assert_eq!(taken(&mut sent), [(60, 91, 102)]);
        sent.on_data(ms(99), 7, 200);
        assert_eq!(sent.unfinished(ms(99)), None);
    }

    #[test]
    fn fresh_transfers_begin_with_their_connections() {
        let ms = Time::from_millis;
        let mut sent = transfers(&[100, 50, 70], true);
        sent.on_connection(ms(5), 7);
        sent.on_data(ms(25), 7, 100);
        sent.on_acknowledged(ms(40), 7, 100);
        sent.on_acknowledged(ms(41), 7, 100);
        assert_eq!(taken(&mut sent), [(5, 40, 152)]);
        // The second connection is lost.
        sent.on_connection(ms(50), 8);
        sent.on_connection(ms(80), 9);
        sent.on_acknowledged(ms(90), 9, 69);
        sent.on_acknowledged(ms(99), 9, 70);
        assert_eq!(taken(&mut sent), [(80, 99, 122)]);
        assert_eq!(sent.unfinished(ms(99)), None);
    }

    #[test]
    fn bulk_data_has_no_transfers() {
        let mut sent = Transfers::default();
        sent.on_connection(Time::ZERO, 1);
        sent.on_data(Time::ZERO, 1, 100);
        sent.on_acknowledged(Time::ZERO, 1, 100);
        assert_eq!(taken(&mut sent), []);
    }
}
