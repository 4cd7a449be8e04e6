//! Padding: packets without data that fill probes while the application has nothing to send.

use paceline_cc::{Packet, Time};

use super::Sender;
use crate::account::Sent;

impl Sender {
    /// Returns the bytes of the next packet of padding. `None` if the plan asks for no padding, nothing was
    /// sent on the connection yet, the application has data to send or is over, or the window or the pacer
    /// allows no packet now.
    #[inline]
    pub(super) fn next_padding(&mut self, now: Time) -> Option<u32> {
        let padding = self.plan.padding;
        if padding == 0 || !self.may_pad() || self.waits() || self.pacer.is_held() {
            return None;
        }
        let in_flight = self.account.in_flight();
        let size = self.allowed::<false>(now, in_flight, u64::from(padding), false)?;
        Some(size as u32)
    }

    /// Returns true between the first packet of the connection and the end of the application's data.
    pub(super) fn may_pad(&self) -> bool {
        self.last_sent != Time::NEVER && !self.is_over()
    }

    /// Sends a packet of padding if one may leave now. Returns whether one was put into `place`.
    #[cold]
    pub(super) fn send_padding(&mut self, now: Time, place: &mut Packet) -> bool {
        let Some(size) = self.next_padding(now) else { return false };
        self.emit_seldom(now, Sent::empty(size), place);
        true
    }
}
