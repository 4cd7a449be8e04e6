//! A trial: the writes of an application, and the path's effect on single packets.

use std::collections::{BTreeMap, BTreeSet};

use paceline_cc::{Span, Stream};

/// Bytes of data in a segment.
pub(super) const MSS: u64 = 1000;
/// Number of a segment's transmissions whose fates are drawn.
const DRAWN_TRANSMISSIONS: u32 = 3;

/// Linux' congestion control in a trial.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// `tcp_cubic.c`.
    Cubic,
    /// `tcp_cong.c`.
    Reno,
}

impl Control {
    /// Returns the kernel's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Control::Cubic => "cubic",
            Control::Reno => "reno",
        }
    }
}

/// Fate of one transmission of a segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The transmission is lost.
    Lost,
    /// It arrives this much later, so that others overtake it.
    Late(Span),
    /// It arrives marked with CE.
    Marked,
}

/// Inputs of a connection. Playing a trial twice gives equal packets equal fates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Name of the recording's files.
    pub name: String,
    /// The sender's congestion control.
    pub control: Control,
    /// Whether both ends use timestamps (RFC 7323).
    pub timestamps: bool,
    /// Whether both ends use classic ECN (RFC 3168).
    pub ecn: bool,
    /// RTT without queueing.
    pub rtt: Span,
    /// The bottleneck: transmission time of a packet, and buffer in packets.
    pub bottleneck: Option<(Span, usize)>,
    /// Outages: start since the SYN, and length. Packets sent during an outage arrive at its end.
    pub outages: Vec<(Span, Span)>,
    /// Writes of the application: time since the connection was established, number of segments.
    pub writes: Vec<(Span, u64)>,
    /// Fates by segment, from 0, and transmission, from 0. All other transmissions arrive.
    pub fates: BTreeMap<(u64, u32), Fate>,
    /// Lost acknowledgements by number, from 0.
    pub lost_acks: BTreeSet<u32>,
    /// Packets in order per acknowledgement: 1 or 2.
    pub ack_every: u32,
}

impl Trial {
    /// Draws a trial from a seed: RTTs from 10 to 300 ms, up to 300 packets in up to eight writes with pauses,
    /// and one or two impairments of eight kinds.
    pub fn draw(seed: u64) -> Trial {
        let mut stream = Stream::new(seed, "trial");
        let mut trial = Trial {
            name: format!("random-{seed:04}"),
            control: if stream.chance(0.5) { Control::Cubic } else { Control::Reno },
            timestamps: stream.chance(0.6),
            ecn: stream.chance(0.2),
            rtt: Span::from_secs_f64(log_uniform(&mut stream, 0.010, 0.300)),
            bottleneck: None,
            outages: Vec::new(),
            writes: Vec::new(),
            fates: BTreeMap::new(),
            lost_acks: BTreeSet::new(),
            ack_every: if stream.chance(0.5) { 1 } else { 2 },
        };
        if stream.chance(0.6) {
            let per_packet = log_uniform(&mut stream, 0.0001, 0.008);
            let buffer = 10 + stream.below(60) as usize;
            trial.bottleneck = Some((Span::from_secs_f64(per_packet), buffer));
        }
        trial.draw_writes(&mut stream);
        for _ in 0..1 + stream.below(2) {
            trial.impair(&mut stream);
        }
        if trial.ecn {
            trial.mark(&mut stream);
        }
        trial
    }

    /// Returns the number of segments that the application writes.
    pub fn segments(&self) -> u64 {
        self.writes.iter().map(|(_, segments)| segments).sum()
    }

    fn draw_writes(&mut self, stream: &mut Stream) {
        let writes = 1 + stream.below(8);
        let longest = 300.0 / writes as f64;
        let mut time = Span::from_millis(stream.below(50));
        for _ in 0..writes {
            let segments = log_uniform(stream, 1.0, longest.max(2.0)) as u64;
            self.writes.push((time, segments.max(1)));
            time += Span::from_secs_f64(log_uniform(stream, 0.002, 1.5));
        }
    }

    /// Draws one impairment.
    fn impair(&mut self, stream: &mut Stream) {
        let segments = self.segments();
        match stream.below(8) {
            // No impairment.
            0 => {}
            // Independent losses.
            1 => {
                let share = log_uniform(stream, 0.005, 0.15);
                self.draw_fates(stream, share, &mut |_| Fate::Lost);
            }
            // A burst of losses.
            2 => {
                let (first, length) = (stream.below(segments), 1 + stream.below(20));
                self.fates.extend((first..first + length).map(|lost| ((lost, 0), Fate::Lost)));
            }
            // Loss of the last packets, and perhaps of their retransmissions.
            3 => {
                let (length, repeats) = (1 + stream.below(4), 1 + stream.below(3) as u32);
                for lost in segments.saturating_sub(length)..segments {
                    self.fates.extend((0..repeats).map(|number| ((lost, number), Fate::Lost)));
                }
            }
            // Packets that others overtake.
            4 => {
                let (share, rtt) = (log_uniform(stream, 0.01, 0.1), self.rtt.as_secs_f64());
                let most = log_uniform(stream, 0.02, 0.8) * rtt;
                self.draw_fates(stream, share, &mut |stream| {
                    Fate::Late(Span::from_secs_f64(stream.uniform() * most))
                });
            }
            // Lost acknowledgements.
            5 => {
                let share = log_uniform(stream, 0.05, 0.6);
                self.lost_acks =
                    (0..2 * segments as u32).filter(|_| stream.chance(share)).collect();
            }
            // An outage, which may make a timer expire too early.
            6 => {
                let start = Span::from_secs_f64(self.rtt.as_secs_f64() + 2.0 * stream.uniform());
                self.outages.push((start, Span::from_secs_f64(log_uniform(stream, 0.05, 1.5))));
            }
            // A burst of losses whose retransmissions are lost, too.
            _ => {
                let (first, length) = (stream.below(segments), 1 + stream.below(5));
                for lost in first..first + length {
                    self.fates.insert((lost, 0), Fate::Lost);
                    if stream.chance(0.5) {
                        self.fates.insert((lost, 1), Fate::Lost);
                    }
                }
            }
        }
    }

    fn mark(&mut self, stream: &mut Stream) {
        let share = log_uniform(stream, 0.01, 0.3);
        self.draw_fates(stream, share, &mut |_| Fate::Marked);
    }

    fn draw_fates(
        &mut self,
        stream: &mut Stream,
        share: f64,
        fate: &mut dyn FnMut(&mut Stream) -> Fate,
    ) {
        for key in (0..self.segments()).flat_map(|s| (0..DRAWN_TRANSMISSIONS).map(move |n| (s, n)))
        {
            if stream.chance(share) {
                let fate = fate(stream);
                self.fates.entry(key).or_insert(fate);
            }
        }
    }
}

/// Draws a number between `least` and `most` whose logarithm is uniform.
fn log_uniform(stream: &mut Stream, least: f64, most: f64) -> f64 {
    least * libm::pow(most / least, stream.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_draw_equal_trials_of_all_kinds() {
        let trials: Vec<Trial> = (0..200).map(Trial::draw).collect();
        assert_eq!(trials[7], Trial::draw(7));
        assert!(trials.iter().all(|trial| (1..=400).contains(&trial.segments())));
        let count = |has: &dyn Fn(&Trial) -> bool| trials.iter().filter(|trial| has(trial)).count();
        assert!(count(&|trial| trial.control == Control::Cubic) > 50);
        assert!(count(&|trial| !trial.outages.is_empty()) > 10);
        assert!(count(&|trial| !trial.lost_acks.is_empty()) > 10);
        for fate in [Fate::Lost, Fate::Marked] {
            assert!(count(&|trial| trial.fates.values().any(|drawn| *drawn == fate)) > 10);
        }
        assert!(count(&|trial| trial.fates.values().any(|f| matches!(f, Fate::Late(_)))) > 10);
    }
}
