use super::*;

/// The head of a log by Mahimahi, whose times begin at a base.
const LOG: &str = "\
# mahimahi mm-link (Uplink) [trace] > log
# command line: mm-link trace trace --uplink-log=log
# queue: infinite
# init timestamp: 1764000000000
# base timestamp: 1000
1000 + 1504
1001 # 1504
1001 - 1504 1
1002 # 1504
1010 + 1504
1010 + 752
1012 # 1504
1012 - 1504 2
1014 # 1504
1014 - 752 4
1016 d 2 3008
1100 # 1504
";

fn read(log: &str) -> Result<LogGraph, LogError> {
    LogGraph::read(log.as_bytes(), 10)
}

#[test]
fn numbers_are_those_computed_by_hand() {
    let graph = read(LOG).expect("a log");
    assert_eq!(graph.duration_s(), 0.1);
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-9, "{found}");
    close(graph.capacity_mbps().expect("100 ms"), 5.0 * 1504.0 * 8e-6 / 0.1);
    close(graph.throughput_mbps().expect("100 ms"), 2.5 * 1504.0 * 8e-6 / 0.1);
    close(graph.utilization().expect("opportunities"), 0.5);
    assert_eq!((graph.packets(), graph.drops()), (3, 2));
    assert_eq!(
        (graph.delay_ms(0.0), graph.delay_ms(0.5), graph.delay_ms(0.95)),
        (Some(1), Some(2), Some(4))
    );
    // At 0 ms the signal takes 1 ms; from 1 to 9 ms it waits for the packet that comes at 10 ms and
    // takes 2: 11 to 3 ms; then 2 ms. In order: 1, 2, 3, ..., 11.
    assert_eq!(graph.signal_delay_ms(0.0), Some(1));
    assert_eq!(graph.signal_delay_ms(0.5), Some(6));
    assert_eq!(graph.signal_delay_ms(0.95), Some(11));
}

#[test]
fn the_signal_delay_is_that_of_each_millisecond() {
    // Against the plain definition, on packets that do not overtake each other.
    let mut stream = paceline_cc::Stream::new(5, "log");
    for _ in 0..50 {
        let (mut log, mut time, mut out) = (String::new(), 0u64, 0u64);
        let mut packets = Vec::new();
        for _ in 0..30 {
            time += stream.below(9);
            out = out.max(time + stream.below(20));
            packets.push((time, out));
            log += &format!("{out} - 1504 {}\n", out - time);
        }
        let graph = read(&log).expect("a log");
        let (first, last) = (packets[0].0, packets[packets.len() - 1].0);
        let mut plain: Vec<u64> = (first..=last)
            .map(|at| packets.iter().filter(|(came, _)| *came >= at).map(|(_, out)| out - at).min())
            .map(|delay| delay.expect("a later packet"))
            .collect();
        plain.sort_unstable();
        for share in [0.0, 0.25, 0.5, 0.95, 1.0] {
            let at = ((share * plain.len() as f64) as usize).min(plain.len() - 1);
            assert_eq!(graph.signal_delay_ms(share), Some(plain[at]), "{share}: {log}");
        }
    }
}

#[test]
fn plots_tell_the_means_and_percentiles() {
    let graph = read(LOG).expect("a log");
    let both = graph.svg("log.up").expect("few bins");
    for part in
        ["<svg", "capacity", "ingress", "egress", "mean 0.30 Mbit/s", "p95 11 ms", "p95 4 ms"]
    {
        assert!(both.contains(part), "{part}");
    }
    assert!(!graph.delay_svg("log").contains("egress"));
    let long = format!("{LOG}99999999999 # 1504\n");
    let problem = read(&long).expect("a log").throughput_svg("log").expect_err("too long");
    assert!(problem.contains("--bin"), "{problem}");
    assert!(read(&long).expect("a log").delay_svg("log").starts_with("<svg"));
}

#[test]
fn the_rate_of_a_constant_link_is_constant_in_all_bins() {
    // The log begins and ends within a bin of 500 ms, also 1 ms before and after a whole one.
    for times in [1..=1060u64, 1..=1260, 499..=1500, 300..=1700, 20..=30, 700..=800, 1500..=1500] {
        let lines: String = times.clone().map(|t| format!("{t} # 1500\n")).collect();
        let graph = LogGraph::read(lines.as_bytes(), 500).expect("a log");
        let panel = graph.rates().expect("few bins");
        let values = &panel.series[0].values;
        assert_eq!(values.len() as u64, times.end() / 500 + 1);
        let begin = (times.start() / 500) as usize;
        assert!(values[..begin].iter().all(|mbps| *mbps == 0.0), "{times:?}: {values:?}");
        assert!(
            values[begin..].iter().all(|mbps| (mbps - 12.0).abs() < 1e-9),
            "{times:?}: {values:?}"
        );
    }
}

#[test]
fn a_log_without_opportunities_has_no_utilization() {
    let graph = read("5 + 1500\n4 - 1500 3\n").expect("a log");
    assert_eq!((graph.utilization(), graph.packets()), (None, 1));
    assert_eq!(graph.capacity_mbps(), Some(0.0));
    // All lines have one time: there are no rates.
    let moment = read("5 # 1500\n5 - 1500 3\n").expect("a log");
    let rates = (moment.capacity_mbps(), moment.arrival_mbps(), moment.throughput_mbps());
    assert_eq!((rates, moment.utilization()), ((None, None, None), Some(1.0)));
    assert!(!moment.svg("log").expect("a plot").contains("NaN"));
}

#[test]
fn mistakes_are_told_with_their_lines() {
    let told = |log: &str| read(log).expect_err("no log").to_string();
    assert!(told("1 # 1504\n2 x 3\n").starts_with("line 2: expected #"));
    assert!(told("1 - 1504\n").contains("the delay is missing"));
    assert!(told("# base timestamp: 9\n5 # 1504\n").contains("before the base timestamp"));
    assert!(told("1 - 1504 7\n").contains("a delay of 7 ms at 1 ms"));
    assert!(told("# only a head\n").contains("is it a log"));
    assert!(told("1\n1\n").starts_with("line 1: expected #"));
    let binary = LogGraph::read(&b"1 # 1504\n\x1f\x8b\xff\n"[..], 100).expect_err("no log");
    assert_eq!(binary.to_string(), "line 2: it is not text; is it compressed?");
}
