//! A receiver's half that echoes marks so that delayed acknowledgements lose none.

use paceline_cc::{Ecn, Packet, Reporter, Time, Verdict};

/// DCTCP's state machine for ABC's marks (paper §6; RFC 8257 §3.2).
///
/// An acknowledgement echoes one mark for all packets that it covers. When a packet's mark differs
/// from the previous one, a delayed acknowledgement leaves first, with the previous mark. (The
/// paper's "sends an ACK with the new state" would give the sender the wrong mark for the packets
/// that it covers; the authors' code sends the previous one.)
#[derive(Clone, Debug, Default)]
pub struct MarkEcho {
    last: Ecn,
}

impl Reporter for MarkEcho {
    fn flushes(&self, packet: &Packet) -> bool {
        packet.ecn != self.last
    }
    fn on_arrival(&mut self, _now: Time, packet: &Packet) -> Verdict {
        self.last = packet.ecn;
        Verdict::default()
    }
    fn echo(&self) -> Ecn {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Body, Data, TrafficClass};

    use super::*;

    /// Returns the acknowledgements of a receiver that acknowledges every second packet: the number
    /// of packets so far, and the echo.
    fn acks(marks: &str) -> Vec<(usize, char)> {
        let ecn = |mark| match mark {
            'A' => Ecn::Ect1,
            'B' => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        let mark = |echo| marks.chars().find(|&mark| ecn(mark) == echo).unwrap_or('-');
        let (mut echo, mut pending, mut sent) = (MarkEcho::default(), 0, Vec::new());
        for (i, ecn) in marks.chars().map(ecn).enumerate() {
            let body = Body::Data(Data::default());
            let (sent_at, queued) = (Time::ZERO, Time::ZERO);
            let packet = Packet {
                flow: 0,
                size: 1500,
                route: 0,
                ecn,
                class: TrafficClass::EXPLICIT,
                sent: sent_at,
                queued,
                body,
            };
            if pending > 0 && echo.flushes(&packet) {
                sent.push((i, mark(echo.echo())));
                pending = 0;
            }
            echo.on_arrival(Time::ZERO, &packet);
            pending += 1;
            if pending == 2 {
                sent.push((i + 1, mark(echo.echo())));
                pending = 0;
            }
        }
        sent
    }

    #[test]
    fn a_change_flushes_the_acknowledgement_with_the_old_mark() {
        assert_eq!(acks("AAABB"), [(2, 'A'), (3, 'A'), (5, 'B')]);
        assert_eq!(acks("AABB"), [(2, 'A'), (4, 'B')]);
        assert_eq!(acks("ABAB"), [(1, 'A'), (2, 'B'), (3, 'A')]);
        assert_eq!(acks("ACBB"), [(1, 'A'), (2, 'C'), (4, 'B')]);
    }
}
