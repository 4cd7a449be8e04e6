//! ABC's estimate of a station's capacity (paper §5.1), from the block acknowledgements of a
//! medium.
//!
//! Stated before the first run, as in claim A12: next to a backlogged station, within 5 % of the
//! throughput that the station has when it never runs out of packets.

use std::sync::mpsc::{Sender, channel};

use paceline_cc::{Batch, LinkView, Packet, Rate, Router, Span, Stage, Stream, Time};
use paceline_path::queue::Fifo;
use paceline_path::{Limit, Port};
use paceline_schemes::abc::LinkRateEstimator;
use paceline_wifi::{BackgroundConfig, Hop, Ht, Mcs, Medium, MediumConfig, Phy};

/// Sends the estimate after each block acknowledgement.
struct Tap(LinkRateEstimator, Sender<f64>);

impl Router for Tap {
    fn on_departure(&mut self, _: Time, _: &mut Packet, _: Span, _: &LinkView<'_>) {}
    fn on_batch(&mut self, now: Time, batch: &Batch) {
        self.0.on_block_ack(now, batch);
        if let Some(rate) = self.0.link_rate() {
            self.1.send(rate.as_mbps()).expect("somebody listens");
        }
    }
}

/// Returns the throughput of a station with packets of 1500 bytes that come at `mbps`, and its mean
/// estimate.
fn run(mcs: u8, upload: bool, mbps: f64) -> (f64, f64) {
    let mut config = MediumConfig::new(Phy::ht(Ht::default()), 1, Rate::ZERO);
    config.stations[1].mcs = vec![(Span::ZERO, Mcs::new(mcs).expect("an index"))];
    config.stations[1].max_mpdus = Some(20);
    config.stations[1].frame_error = 0.02;
    config.rts_threshold = Some(0);
    config.background = vec![BackgroundConfig::new(Span::from_micros(500), Span::ZERO)];
    let (told, estimates) = channel();
    let hop = if upload { Hop { from: 1, to: 0 } } else { Hop { from: 0, to: 1 } };
    let port = |number: u32| {
        let tap = Tap(LinkRateEstimator::new(Span::from_millis(40)), told.clone());
        let mut port = Port::new(Box::new(Fifo::new(Limit::packets(250))));
        port.set_router((number == hop.from).then(|| Box::new(tap) as Box<dyn Router>));
        port.into()
    };
    let ports = vec![port(0), port(1)];
    let mut medium = Medium::new(config, ports, &Stream::new(1, "medium")).expect("legal");
    medium.set_hops(vec![hop]);
    let gap = Rate::from_mbps(mbps).time_for(1500);
    let (end, mut now, mut bytes) = (Time::from_secs(20), Time::ZERO, 0);
    while now < end {
        medium.push(now, &Packet::opaque(1500));
        now += gap;
        while medium.wake() <= now {
            let at = medium.wake();
            bytes += medium.pop(at).map_or(0, |packet| u64::from(packet.size));
        }
    }
    let estimates: Vec<f64> = estimates.try_iter().collect();
    let mean = estimates.iter().sum::<f64>() / estimates.len() as f64;
    (bytes as f64 * 8e-6 / 20.0, mean)
}

#[test]
fn the_estimate_is_what_a_backlogged_station_would_carry() {
    for (mcs, upload) in [(1, false), (4, true), (7, false), (7, true)] {
        let (truth, saturated) = run(mcs, upload, 100.0);
        assert!((saturated / truth - 1.0).abs() < 0.05, "MCS {mcs}: {saturated} for {truth}");
        for share in [0.6, 0.75, 0.9] {
            let estimate = run(mcs, upload, share * truth).1;
            let error = estimate / truth - 1.0;
            assert!(error.abs() < 0.05, "MCS {mcs} at {share}: {estimate} for {truth}");
        }
        // The estimate is at most twice the rate that the station sends.
        let capped = run(mcs, upload, 0.2 * truth).1;
        assert!(capped < 0.42 * truth, "MCS {mcs}: {capped} of {truth}");
    }
}
