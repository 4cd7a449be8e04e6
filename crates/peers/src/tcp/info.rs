//! The sender's state as Linux' `tcp_info` shows it.

use paceline_cc::Span;

use super::watch::CaState;
use super::{Fate, Tcp};

/// `tcpi_snd_ssthresh` before the first loss: Linux' `TCP_INFINITE_SSTHRESH`.
const INFINITE: u64 = 0x7fff_ffff;

/// Some fields of Linux' `tcp_info`: windows and counts in packets.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Congestion window in whole packets.
    pub cwnd: u64,
    /// Slow-start threshold in whole packets; 2147483647 before the first loss.
    pub ssthresh: u64,
    /// Congestion state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub ca_state: u64,
    /// Segments sent beyond the acknowledgement number.
    pub unacked: u64,
    /// Of these, segments that are acknowledged selectively.
    pub sacked: u64,
    /// Of these, segments that count as lost, retransmitted or not.
    pub lost: u64,
    /// Of these, segments with a retransmission in flight.
    pub retrans: u64,
}

impl Tcp {
    /// Returns the sender's state.
    pub fn info(&self) -> Info {
        let mut ssthresh = None;
        self.sender.inspect(&mut |name, value| {
            if name == "ssthresh" {
                ssthresh = Some(value);
            }
        });
        let ssthresh = ssthresh.filter(|packets| *packets < INFINITE as f64);
        let state = match self.watched().state {
            // The sender has no state of its own for reordering.
            CaState::Open if !self.sacked.is_empty() => CaState::Disorder,
            state => state,
        };
        let mut info = Info {
            cwnd: self.sender.window() / self.mss.max(1),
            ssthresh: ssthresh.map_or(INFINITE, |packets| packets as u64),
            ca_state: state as u64,
            sacked: self.sacked.len() as u64,
            ..Info::default()
        };
        for (segment, sent) in self.segments.iter().enumerate().skip(self.cumulative) {
            info.unacked += 1;
            if self.sacked.contains(&segment) {
                continue;
            }
            let transmissions = || sent.numbers.iter().map(|number| self.transmissions[*number]);
            info.lost += u64::from(transmissions().any(|sent| sent.fate == Fate::Lost));
            let is_repair_in_flight = transmissions()
                .any(|sent| sent.repeats && sent.segment.is_some() && sent.fate == Fate::InFlight);
            info.retrans += u64::from(is_repair_in_flight);
        }
        info
    }

    /// Returns the retransmission timeout, with its backoff.
    pub fn rto(&self) -> Span {
        self.sender.rtt().rto()
    }

    /// Returns a quantity or constant by its name in packetdrill's Python code; times are
    /// microseconds.
    pub fn look_up(&self, name: &str) -> Option<f64> {
        let micros = |span: Span| Some(span.as_nanos() as f64 / 1e3);
        let rtt = self.sender.rtt();
        match name {
            "TCP_CA_Open" => return Some(CaState::Open as u8 as f64),
            "TCP_CA_Disorder" => return Some(CaState::Disorder as u8 as f64),
            "TCP_CA_CWR" => return Some(CaState::Cwr as u8 as f64),
            "TCP_CA_Recovery" => return Some(CaState::Recovery as u8 as f64),
            "TCP_CA_Loss" => return Some(CaState::Loss as u8 as f64),
            "TCP_INFINITE_SSTHRESH" => return Some(INFINITE as f64),
            "tcpi_rto" => return micros(rtt.rto()),
            "tcpi_rtt" => return micros(rtt.smoothed()),
            "tcpi_min_rtt" => return micros(rtt.min()),
            "tcpi_snd_mss" => return Some(self.mss as f64),
            _ => {}
        }
        let info = self.info();
        let value = match name {
            "tcpi_snd_cwnd" => info.cwnd,
            "tcpi_snd_ssthresh" => info.ssthresh,
            "tcpi_ca_state" => info.ca_state,
            "tcpi_unacked" => info.unacked,
            "tcpi_sacked" => info.sacked,
            "tcpi_lost" => info.lost,
            "tcpi_retrans" => info.retrans,
            "tcpi_total_retrans" => self.sender.stats().retransmits,
            _ => return None,
        };
        Some(value as f64)
    }
}
