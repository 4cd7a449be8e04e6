//! Whole transfers of BBR and BBR3 over one bottleneck. Google's topology also has an access link of 10 Mbit/s,
//! which only adds its transmission times here.

use paceline_cc::Span;
use paceline_peers::vector::Declared::{self, ByDesign, Holds};
use paceline_peers::vector::{Outcome, Vectors, near, same, that};

use crate::bench::{Bottleneck, ms};

const MSS: u32 = 1350;
/// RTT in seconds: 64 ms, and a packet's transmission over the bottleneck and the access link in
/// each direction.
const RTT: f64 = 0.064 + 2.0 * 1350.0 * 8.0 * (1.0 / 4e6 + 1.0 / 10e6);
/// Bandwidth-delay product of 4 Mbit/s, in bytes.
const BDP: f64 = 4e6 / 8.0 * RTT;

/// Reason: Linux' BBR beside QUIC's.
const BURSTS: &str = "Linux' BBR adds three bursts of two packets to the window, 23 % of this path's bandwidth-delay product, \
     and loses packets by it; QUIC's BBR adds none";

pub(super) fn add(vectors: &mut Vectors) {
    for scheme in ["bbr3", "bbr"] {
        let like_quic = if scheme == "bbr" { ByDesign(BURSTS) } else { Holds };
        startup(vectors, scheme, like_quic);
        steady(vectors, scheme, like_quic);
        bursts(vectors, scheme);
        changes(vectors, scheme, like_quic);
    }
    small_buffer(vectors);
}

/// Returns a path of 4 Mbit/s with a buffer of `buffer` bandwidth-delay products.
fn path(scheme: &str, buffer: f64) -> Bottleneck {
    let delay = Span::from_secs_f64(RTT - 1350.0 * 8.0 / 4e6);
    Bottleneck::new(scheme, MSS, 4.0, delay, (BDP * buffer) as u64)
}

/// Returns a path whose rate will change, with a buffer of two bandwidth-delay products of the
/// first rate.
fn changing(scheme: &str, mbps: f64) -> Bottleneck {
    let rtt = 0.064 + 2.0 * 1350.0 * 8.0 * (1.0 / (mbps * 1e6) + 1.0 / 15e6);
    let delay = Span::from_secs_f64(rtt - 1350.0 * 8.0 / (mbps * 1e6));
    Bottleneck::new(scheme, MSS, mbps, delay, (mbps * 1e6 / 8.0 * rtt * 2.0) as u64)
}

/// Sends a megabyte; returns the time in seconds at which the pacing gain first differed from
/// Startup's.
fn leave_startup(path: &mut Bottleneck) -> Result<f64, String> {
    let (startup, start) = (path.state("pacing_gain"), path.now);
    path.write(1_000_000);
    let mut left = None;
    let is_done = path.run(Span::from_secs(15), |path| {
        if left.is_none() && path.state("pacing_gain") != startup {
            left = Some(path.now.since(start).as_secs_f64());
        }
        path.is_done()
    });
    that("the transfer ends", is_done)?;
    left.ok_or_else(|| "Startup does not end".to_string())
}

fn startup(vectors: &mut Vectors, scheme: &'static str, like_quic: Declared) {
    let test = "bbr2_simulator_test.cc NormalStartup: 4 Mbit/s, no loss";
    vectors.add(like_quic, scheme, test, move || {
        let mut path = path(scheme, 2.0);
        leave_startup(&mut path)?;
        same("losses", path.dropped, 0)?;
        near("Mbit/s", path.state("bw"), 4.0, 0.04)
    });
    vectors.holds(scheme, "bbr2_simulator_test.cc StartupStats: 500 to 1500 ms", move || {
        let seconds = leave_startup(&mut path(scheme, 2.0))?;
        that(&format!("{seconds} s"), (0.5..=1.5).contains(&seconds))
    });
    let test = "bbr2_simulator_test.cc Drain: the queue before and after it, the smoothed RTT";
    vectors.add(like_quic, scheme, test, move || drain(scheme));
}

fn drain(scheme: &str) -> Outcome {
    let mut path = path(scheme, 2.0);
    path.write(100 << 20);
    let mut gain = path.state("pacing_gain");
    let mut changes = |path: &mut Bottleneck| {
        let changed = path.run(ms(10_000), |path| path.state("pacing_gain") != gain);
        gain = path.state("pacing_gain");
        changed
    };
    that("Startup ends", changes(&mut path))?;
    let queue = path.queue() as f64;
    that(&format!("a queue of {queue} bytes"), queue >= 0.95 * BDP)?;
    that("Drain ends", changes(&mut path))?;
    let queue = path.queue() as f64;
    that(&format!("a queue of {queue} bytes after it"), queue <= BDP)?;
    path.run_for(Span::from_secs_f64(4.0 * RTT));
    that("it probes", path.run(ms(10_000), |path| path.state("pacing_gain") > 1.2))?;
    let srtt = path.sender.rtt().smoothed().as_secs_f64();
    near("smoothed RTT, s", srtt, RTT, 0.1 * RTT)
}

fn steady(vectors: &mut Vectors, scheme: &'static str, like_quic: Declared) {
    let test = "bbr2_simulator_test.cc SimpleTransfer: 12 MB without loss, RTT below two";
    vectors.add(like_quic, scheme, test, move || {
        let mut path = path(scheme, 2.0);
        path.write(12 << 20);
        that("it ends in 35 s", path.run(ms(35_000), |path| path.is_done()))?;
        same("losses", path.dropped, 0)?;
        let srtt = path.sender.rtt().smoothed().as_secs_f64();
        that(&format!("a smoothed RTT of {srtt} s"), srtt <= 2.0 * RTT)
    });
    let test = "bbr2_simulator_test.cc SimpleTransferSmallBuffer: 4 Mbit/s";
    vectors.holds(scheme, test, move || {
        let mut path = path(scheme, 0.5);
        path.write(12 << 20);
        that("it ends in 35 s", path.run(ms(35_000), |path| path.is_done()))?;
        near("Mbit/s", path.state("bw"), 4.0, 0.04)
    });
}

/// Writes 512 bytes every three seconds.
fn write_bursts(path: &mut Bottleneck, count: u32) {
    for _ in 0..count {
        path.write(512);
        path.run_for(Span::from_secs(3));
    }
}

fn bursts(vectors: &mut Vectors, scheme: &'static str) {
    let test =
        "bbr2_simulator_test.cc ApplicationLimitedBursts: 4 Mbit/s after twenty of 512 bytes";
    vectors.holds(scheme, test, move || {
        let mut path = path(scheme, 2.0);
        leave_startup(&mut path)?;
        write_bursts(&mut path, 20);
        near("Mbit/s", path.state("bw"), 4.0, 0.04)
    });
    let test = "bbr2_simulator_test.cc ApplicationLimitedBurstsWithoutPrior: 4 Mbit/s in the end";
    vectors.holds(scheme, test, move || {
        let mut path = path(scheme, 2.0);
        write_bursts(&mut path, 40);
        path.write(2_000_000);
        path.run(Span::from_secs(15), |path| path.waiting == 0);
        near("Mbit/s", path.state("bw"), 4.0, 0.04)
    });
}

fn changes(vectors: &mut Vectors, scheme: &'static str, like_quic: Declared) {
    let test = "bbr2_simulator_test.cc BandwidthDecrease, 10 Mbit/s to 100 kbit/s: no loss before";
    vectors.add(like_quic, scheme, test, move || {
        let mut path = changing(scheme, 10.0);
        path.write(20 << 20);
        path.run_for(Span::from_secs(10));
        near("Mbit/s", path.state("bw"), 10.0, 1.0)?;
        same("losses", path.dropped, 0)?;
        path.mbps = 0.1;
        that("it ends in 800 s", path.run(Span::from_secs(800), |path| path.is_done()))
    });
    let test = "bbr2_simulator_test.cc BandwidthIncrease, 100 kbit/s to 10 Mbit/s: found, and used";
    vectors.holds(scheme, test, move || {
        let mut path = changing(scheme, 0.1);
        path.write(10 << 20);
        path.run_for(Span::from_secs(15));
        near("Mbit/s", path.state("bw"), 0.1, 0.01)?;
        let loss = path.dropped as f64 / path.sent as f64;
        that(&format!("a loss of {loss}"), loss <= 0.3)?;
        path.mbps = 10.0;
        let mut most: f64 = 0.0;
        let is_done = path.run(Span::from_secs(50), |path| {
            most = most.max(path.state("bw"));
            path.is_done()
        });
        that(&format!("it ends in 50 s, {} bytes left", path.waiting), is_done)?;
        near("most, Mbit/s", most, 10.0, 0.2)
    });
}

fn small_buffer(vectors: &mut Vectors) {
    vectors.by_design(
        "bbr3",
        "bbr2_simulator_test.cc PacketLossOnSmallBufferStartup: 5 % at most",
        "draft-ietf-ccwg-bbr-06 looks for six ranges of losses at the end of a round trip, Google's BBR at each congestion \
         event",
        || {
            let mut path = path("bbr3", 0.5);
            leave_startup(&mut path)?;
            let loss = path.dropped as f64 / path.sent as f64;
            that(&format!("a loss of {loss}"), loss <= 0.05)
        },
    );
    let test = "bbr2_simulator_test.cc ExitStartupDueToLoss: a bound above 1.2 products";
    vectors.holds("bbr3", test, || {
        let mut path = path("bbr3", 0.5);
        path.write(12 << 20);
        let startup = path.state("pacing_gain");
        let left = path.run(ms(5000), |path| path.state("pacing_gain") != startup);
        that("Startup ends in 5 s", left)?;
        that("there were losses", path.dropped > 0)?;
        let bound = path.state("inflight_hi") * f64::from(MSS);
        that(&format!("{bound} bytes"), bound > 1.2 * BDP)
    });
}
