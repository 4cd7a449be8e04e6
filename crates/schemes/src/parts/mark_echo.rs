//! The receiver's half: echoes the marks so that delayed acknowledgements lose none.

use paceline_cc::{Ecn, Packet, Reporter, Time, Verdict};

/// DCTCP's state machine over ABC's marks (paper §6; RFC 8257 §3.2).
///
/// An acknowledgement echoes one mark for all packets that it covers. When a packet's mark
/// differs from the one before, an acknowledgement that is being delayed leaves first, with the
/// old mark. (The paper's "sends an ACK with the new state" would tell the sender the wrong mark
/// of the packets it covers; the authors' code sends the old one.)
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

    /// What a receiver sends that acknowledges every second packet: how many have come, and the
    /// echo.
    fn acks(marks: &str) -> Vec<(usize, char)> {
        let ecn = |mark| match mark {
            'A' => Ecn::ACCELERATE,
            'B' => Ecn::BRAKE,
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
    fn a_change_flushes_what_waits_with_the_old_mark() {
        assert_eq!(acks("AAABB"), [(2, 'A'), (3, 'A'), (5, 'B')]);
        assert_eq!(acks("AABB"), [(2, 'A'), (4, 'B')]);
        assert_eq!(acks("ABAB"), [(1, 'A'), (2, 'B'), (3, 'A')]);
        assert_eq!(acks("ACBB"), [(1, 'A'), (2, 'C'), (4, 'B')]);
    }
}
