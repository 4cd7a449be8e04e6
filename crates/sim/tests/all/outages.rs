//! Links without any capacity for half a second to four seconds. No scheme stands still once the link is back.

use paceline_schemes::SCHEMES;
use paceline_sim::scenario::{Record, parse};
use paceline_sim::{Outcome, run};

/// Seconds after an outage in which a flow may carry nothing: its timeout has doubled meanwhile.
const PAUSE: usize = 2;

/// Returns the goodput of a flow in each second: see [`outcome`].
fn per_second(scheme: &str, outage: u64, buffer: u32) -> Vec<f64> {
    let outcome = outcome(scheme, outage, buffer);
    outcome.flows[0].series.as_ref().expect("recorded").goodput_mbps.clone()
}

/// Returns the results of a flow. The link has 12 Mbit/s, and none from second 10 on for `outage` ms.
fn outcome(scheme: &str, outage: u64, buffer: u32) -> Outcome {
    let back = 10_000 + outage;
    let end = 30 + outage / 1000;
    let text = format!(
        r#"
        duration = "{end}s"
        bin = "1s"
        [[link]]
        name = "link"
        schedule = [
          {{ at = "0s", rate = "12Mbps" }},
          {{ at = "10s", rate = "0bps" }},
          {{ at = "{back}ms", rate = "12Mbps" }},
        ]
        buffer = {buffer}
        [[flow]]
        scheme = "{scheme}"
        rtt = "100ms"
        "#
    );
    let mut scenario = parse("outage.toml", &text, None).expect("a scenario");
    scenario.record = Record::Series(paceline_cc::Span::from_secs(1));
    run(&scenario).expect("a run")
}

fn stands_still(scheme: &str, outage: u64, buffer: u32) -> Option<Vec<f64>> {
    let seconds = per_second(scheme, outage, buffer);
    let back = 10 + outage.div_ceil(1000) as usize + PAUSE;
    seconds[back..].contains(&0.0).then_some(seconds)
}

/// `remy` sent its window again at each timeout; `gcc` and `scream` waited for a timer of 8 s. With a buffer of less than the
/// window, other schemes do wait: the packets behind the outage are lost, and a probe is due two RTTs later,
/// when the RTT is that of packets that waited for seconds, as in Linux.
#[test]
fn no_scheme_stands_still_after_an_outage() {
    let own = ["gcc", "nada", "scream", "scream[variant=v1]", "remy", "remy[table=balanced]"];
    let variants = ["remy[table=balanced]", "scream[variant=v1]"];
    let names = SCHEMES.iter().map(|scheme| scheme.name).chain(variants);
    let long = [(500, 250), (2000, 250), (4000, 250), (4000, 1000)];
    let all = names.flat_map(|name| long.map(|(outage, buffer)| (name, outage, buffer)));
    for (scheme, outage, buffer) in all.chain(own.map(|name| (name, 4000, 60))) {
        let still = stands_still(scheme, outage, buffer);
        assert_eq!(still, None, "{scheme}, {outage} ms, {buffer} packets");
    }
}

/// The packets of a window of two bandwidth-delay products that do not fit into the buffer are lost, and BBR's window is
/// four packets when the others are acknowledged, since its smallest RTT has expired. So it sends nothing that would
/// reveal the losses until the probe, two of the outage's RTTs later. Linux 6.18 was idle for 10.2 s through the emulator
/// (12 Mbit/s, 100 ms, an outage of 5 s, a buffer of 100 packets). CUBIC goes on with new data, there and here.
#[test]
fn after_an_outage_bbr_waits_for_a_probe_as_linux_does() {
    let bbr = per_second("bbr", 5000, 100);
    assert!(bbr[15] > 1.0, "{bbr:?}");
    assert!(bbr[16..25].iter().all(|mbps| *mbps == 0.0), "{bbr:?}");
    assert!(bbr[26..].iter().all(|mbps| *mbps > 6.0), "{bbr:?}");
    let cubic = per_second("cubic", 5000, 100);
    assert!(cubic[16..].iter().all(|mbps| *mbps > 6.0), "{cubic:?}");
}

/// RCP's flow had a window of two RTTs at its rate, and the flight contained packets that were lost
/// in the outage: the link carried nothing for twice the outage. During the outage it does not go
/// on sending. Its floor was a packet per mean RTT, which contains the outage. How fast the rate
/// grows does follow that mean: 11 s after an outage of 10 s or longer.
#[test]
fn rcp_uses_the_link_again_after_any_outage() {
    let half = 6.0;
    for outage in [1, 5, 20] {
        for buffer in [100, 250] {
            for scheme in ["rcp", "rcp[refresh=ack]", "rcp[variant=abc]"] {
                let outcome = outcome(scheme, outage * 1000, buffer);
                let flow = &outcome.flows[0];
                assert!(flow.sender.timeouts > 0, "{scheme}, {outage} s: no timeout");
                assert!(flow.sender.retransmits < 2500, "{scheme}: {}", flow.sender.retransmits);
                let seconds = &flow.series.as_ref().expect("recorded").goodput_mbps;
                let after = &seconds[10 + outage as usize..];
                let message = format!("{scheme}, {outage} s, {buffer} packets: {after:.2?}");
                assert!(!after.contains(&0.0), "{message}");
                let recovered = (outage as usize + 3).min(12);
                assert!(after[recovered..].iter().all(|mbps| *mbps > half), "{message}");
            }
        }
    }
}

/// Returns the results of a flow with these keys on a link of which `schedule` gives the capacity.
fn scheduled(schedule: &str, seconds: u64, flow: &str) -> Outcome {
    let text = format!(
        r#"
        duration = "{seconds}s"
        [[link]]
        name = "link"
        schedule = [{schedule}]
        buffer = 250
        [[flow]]
        {flow}
        "#
    );
    let mut scenario = parse("schedule.toml", &text, None).expect("a scenario");
    scenario.record = Record::Series(paceline_cc::Span::from_secs(1));
    run(&scenario).expect("a run")
}

/// 10 Mbit/s, and none from 20 s on for a minute.
const MINUTE: &str = r#"{ at = "0s", rate = "10Mbps" }, { at = "20s", rate = "0bps" }, { at = "80s", rate = "10Mbps" }"#;

/// Returns an internal value of the flow's controller at the end of each second.
fn state<'a>(outcome: &'a Outcome, name: &str) -> &'a [f64] {
    let state = &outcome.flows[0].series.as_ref().expect("recorded").state;
    &state.iter().find(|(known, _)| *known == name).expect(name).1
}

/// Packets that the retransmission timer had declared lost let the window grow, as acknowledged ones do: from 26 packets to
/// 102, and version 1's to 2132 at the first acknowledgements after the outage. As in the authors' program, a window leaves each
/// 500 ms meanwhile.
#[test]
fn screams_window_does_not_grow_in_an_outage() {
    let video = "scheme = \"scream\"\nrtt = \"50ms\"\nvideo = { max = \"2500kbps\" }";
    for flow in [video, "scheme = \"scream[variant=v1]\"\nrtt = \"50ms\""] {
        let outcome = scheduled(MINUTE, 100, flow);
        let cwnd = state(&outcome, "cwnd");
        assert!(cwnd[79] <= 1.01 * cwnd[19], "{flow}: {cwnd:.1?}");
        assert!(cwnd[80] <= 1.5 * cwnd[19], "{flow}: {cwnd:.1?}");
    }
}

/// The first packet after an outage carried an RTT of 15 s, a router granted it 40 % of the link's capacity for that time, and the
/// window became 5000 packets.
#[test]
fn one_packet_does_not_give_xcp_a_window_of_seconds() {
    for outage in [5, 20, 60] {
        let (from, back) = (20, 20 + outage);
        let schedule = format!(
            r#"{{ at = "0s", rate = "10Mbps" }}, {{ at = "{from}s", rate = "0bps" }}, {{ at = "{back}s", rate = "10Mbps" }}"#
        );
        let outcome = scheduled(&schedule, back + 40, "scheme = \"xcp\"\nrtt = \"50ms\"");
        let drops = outcome.links[0].drops;
        let seconds = &outcome.flows[0].series.as_ref().expect("recorded").goodput_mbps;
        assert!(drops < 300, "{outage} s: {drops}");
        let after = &seconds[back as usize + 5..];
        assert!(after.iter().all(|mbps| *mbps > 9.0), "{outage} s: {after:.1?}");
    }
}

/// After two seconds of 500 kbit/s, its default feedback leaves `sprout` at a third of the link.
#[test]
fn sprout_with_flights_leaves_a_slow_link() {
    let dip = r#"{ at = "0s", rate = "8Mbps" }, { at = "20s", rate = "500kbps" }, { at = "22s", rate = "8Mbps" }"#;
    let flow = |feedback: &str| format!("scheme = \"sprout[feedback={feedback}]\"\nrtt = \"20ms\"");
    let share = |feedback: &str| scheduled(dip, 80, &flow(feedback)).links[0].utilization;
    let (flights, tick) = (share("flights"), share("tick"));
    assert!(flights > 0.9, "{flights}");
    assert!(tick < 0.5, "{tick}");
}
