//! Video and audio of the simulator over a host's TCP connection: the simulator's encoder makes the frames, and orders
//! the host's `/init` to write their bytes at that time.

use paceline_cc::{Rate, Span, Time};
use paceline_flow::FrameSource;
use paceline_sim::{Media, TransportSetup};

use crate::frames::TcpInfo;
use crate::host;

/// The frames that a connection of a sending host carries.
#[derive(Debug)]
pub(crate) struct SentMedia {
    source: FrameSource,
    /// End of each frame's data in the connection's stream of bytes.
    ends: Vec<u64>,
    mtu: u16,
}

impl SentMedia {
    /// Returns the frames of a flow; `None` if its workload is neither video nor audio.
    pub(crate) fn of(setup: &TransportSetup, mtu: u16) -> Option<SentMedia> {
        let random = setup.random("workload");
        let source = FrameSource::new(&setup.workload, setup.start, setup.stop, random)?;
        Some(SentMedia { source, ends: Vec::new(), mtu })
    }

    /// Returns when the next frame is due.
    pub(crate) fn next(&self) -> Time {
        self.source.next()
    }

    /// Makes the frame that is due; returns the bytes that the application writes for it. `sent` is the end of the
    /// data that the host has sent, `info` the latest state of its socket.
    pub(crate) fn make(&mut self, sent: u64, info: Option<&TcpInfo>) -> Option<u64> {
        let written = self.ends.last().copied().unwrap_or(0);
        let offered = info.map_or(Rate::ZERO, |info| offered(info, self.mtu));
        let bytes = self.source.make(written.saturating_sub(sent), offered)?;
        let bytes = host::written(bytes, self.mtu);
        self.ends.push(written + bytes);
        Some(bytes)
    }

    /// Returns the counts of frames.
    pub(crate) fn counts(&self) -> paceline_flow::VideoStats {
        self.source.stats()
    }

    /// Returns the frames with their arrivals, given the data that has arrived without a gap, over time.
    pub(crate) fn media(&self, progress: &[(u64, Time)]) -> Media {
        let arrival = |end: &u64| {
            progress.get(progress.partition_point(|(reached, _)| reached < end)).map(|(_, at)| *at)
        };
        let arrivals =
            (0..).zip(&self.ends).filter_map(|(number, end)| Some((number, arrival(end)?)));
        Media {
            frames: self.source.frames().to_vec(),
            arrivals: arrivals.collect(),
            is_audio: self.source.is_audio(),
        }
    }
}

/// Returns the rate that TCP offers to an application that adapts: a window per RTT, at most the pacing rate, as for
/// the simulator's own flows.
fn offered(info: &TcpInfo, mtu: u16) -> Rate {
    if info.srtt_us == 0 {
        return Rate::ZERO;
    }
    let window = u64::from(info.cwnd) * u64::from(mtu);
    let window = Rate::from_bytes_in(window, Span::from_micros(info.srtt_us.into()));
    match info.pacing_rate.checked_mul(8) {
        Some(pacing) => window.min(Rate::from_bps(pacing)),
        None => window,
    }
}
