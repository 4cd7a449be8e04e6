//! Short transfers, and flows whose application sends little or pauses.

use paceline_cc::Span;
use paceline_sim::scenario::{Record, parse};
use paceline_sim::{Outcome, run};

fn outcome(text: &str) -> Outcome {
    let mut scenario = parse("short.toml", text, None).expect("a scenario");
    scenario.record = Record::Series(Span::from_millis(100));
    run(&scenario).expect("a run")
}

/// The last packet that the application wrote has PSH, which a receiver on Linux acknowledges at once. Without it, the last one
/// of an odd number waited for 40 ms. ABC's, DCTCP's and Prague's receivers are Linux' own, with more acknowledgements where marks change.
#[test]
fn transfers_do_not_end_with_a_delayed_acknowledgement() {
    for scheme in ["cubic", "newreno", "bbr", "vegas", "abc", "dctcp", "prague"] {
        for packets in [1, 3, 15, 101, 401] {
            let bytes = packets * 1500;
            let outcome = outcome(&format!(
                "duration = \"1s\"\n[[link]]\nname = \"l\"\nrate = \"1Gbps\"\nbuffer = 10000\n\
                 [[flow]]\nscheme = \"{scheme}\"\nrtt = \"200us\"\nbytes = {bytes}\n"
            ));
            let time = outcome.flows[0].completion_ms.expect("it ends").mean;
            assert!(time < 10.0, "{scheme}, {packets} packets: {time} ms");
        }
    }
}

/// A short transfer takes as long with ABC as with Cubic: both have Linux' receiver.
#[test]
fn short_transfers_of_abc_take_as_long_as_those_of_cubic() {
    for packets in [1, 3] {
        let time = |scheme| {
            let bytes = packets * 1500;
            let outcome = outcome(&format!(
                "duration = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"100Mbps\"\n\
                 [[flow]]\nscheme = \"{scheme}\"\nrtt = \"50ms\"\nbytes = {bytes}\n"
            ));
            outcome.flows[0].completion_ms.expect("it ends").mean
        };
        let (abc, cubic) = (time("abc"), time("cubic"));
        assert!((abc - cubic).abs() < 1.0, "{packets} packets: {abc} ms, cubic {cubic} ms");
    }
}

/// Messages of one full packet: each is acknowledged at once, and no RTT has the receiver's delay.
#[test]
fn messages_are_acknowledged_at_once() {
    for scheme in ["cubic", "bbr", "bbr3"] {
        let outcome = outcome(&format!(
            "duration = \"20s\"\nwarmup = \"2s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\n\
             [[flow]]\nscheme = \"{scheme}\"\nrtt = \"100ms\"\n\
             limited = {{ rate = \"100kbps\", message = 1500 }}\n"
        ));
        let rtt = outcome.flows[0].rtt_ms.max;
        assert!(rtt < 105.0, "{scheme}: {rtt} ms");
    }
}

/// BBR's first acknowledgement after an idle time is of a full packet, and renews the smallest RTT, so that the flow does
/// not begin again with a window of four packets (Linux `FLAG_ACK_MAYBE_DELAYED`, `bbr_update_min_rtt`).
#[test]
fn bbr_resumes_without_probing_the_rtt() {
    let outcome = outcome(
        "duration = \"100s\"\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\nbuffer = 1000\n\
         [[flow]]\nscheme = \"bbr\"\nrtt = \"100ms\"\nlimited = { rate = \"100kbps\", message = 150000 }\n",
    );
    let series = outcome.flows[0].series.as_ref().expect("recorded");
    let (_, cwnd) = series.state.iter().find(|(name, _)| *name == "cwnd").expect("a window");
    // From the second message on; a message comes every 12 s.
    let least = cwnd[130..].iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least > 10.0, "{least} packets");
}

/// A probe that repairs a lost tail leaves the lost packet remembered. The next message's rate samples begin with it
/// nevertheless, and not with the message before (Linux `tcp_rate_skb_sent`).
#[test]
fn rate_samples_begin_anew_when_nothing_is_out() {
    for scheme in ["bbr", "bbr3"] {
        let outcome = outcome(&format!(
            "duration = \"30s\"\n[[link]]\nname = \"l\"\n\
             schedule = [{{ at = \"0s\", rate = \"1Mbps\" }}, {{ at = \"8s\", rate = \"12Mbps\" }}]\n\
             buffer = 2\n[[flow]]\nscheme = \"{scheme}\"\nrtt = \"100ms\"\nack_every = 1\n\
             limited = {{ rate = \"9600bps\", message = 6000 }}\n",
        ));
        assert!(outcome.links[0].drops > 0);
        let series = outcome.flows[0].series.as_ref().expect("recorded");
        let (_, bw) = series.state.iter().find(|(name, _)| *name == "bw").expect("a bandwidth");
        // Four packets over 12 Mbit/s at 10 s, in 109 ms.
        assert!(bw[148] > 0.42, "{scheme}: {} Mbit/s", bw[148]);
    }
}
