#![allow(clippy::all, clippy::print_stdout, missing_docs)]
use paceline_sim::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args[1] == "bench" {
        for s in bench::SCENARIOS.iter().filter(|s| args.len() < 3 || args[2].contains(s.name)) {
            let rep: u32 = args.get(3).and_then(|a| a.parse().ok()).unwrap_or(10);
            let t = std::time::Instant::now();
            let r = s.run(rep).unwrap();
            let e = t.elapsed().as_secs_f64();
            println!(
                "{} {:?} {:.3}s {:.2} Mpkt/s",
                s.name,
                r,
                e,
                r.delivered_packets as f64 / e / 1e6
            );
        }
        return;
    }
    let (trace, cap) = if args[1].ends_with("bps") {
        (
            args[1].clone(),
            scenario::Capacity::Constant(
                <paceline_cc::Rate as paceline_cc::ParamValue>::read(&args[1]).unwrap(),
            ),
        )
    } else {
        (args[1].clone(), scenario::Capacity::trace(paceline_trace::load(&args[1]).unwrap()))
    };
    let warm: u64 = std::env::var("WARM").ok().map_or(0, |w| w.parse().unwrap());
    let flows: u32 = std::env::var("FLOWS").ok().map_or(1, |w| w.parse().unwrap());
    for text in &args[2..] {
        let scheme = scenario::check_scheme(text).unwrap();
        let mut c = compare::Comparison::new(&trace, cap.clone(), scheme);
        c.warmup = paceline_cc::Span::from_secs(warm);
        c.flows = flows;
        let mut sc = c.scenario();
        if let Ok(m) = std::env::var("ACK") {
            sc.flows[0].ack = Some(paceline_cc::AckPolicy {
                every: m.parse().unwrap(),
                ..paceline_cc::AckPolicy::DELAYED
            });
        }
        let o = run(&sc).unwrap();
        let r = c.row(&o);
        println!(
            "{:40} {:6.3} Mb/s util {:.4} q mean {:.1} p50 {:.1} p95 {:.1} p99 {:.1} max {:.1} drops {} rtx {} rto {} jain {:.4} sid {:.1} good {:.3}",
            r.scheme,
            r.throughput_mbps,
            r.utilization,
            r.queue_delay_ms.mean,
            r.queue_delay_ms.p50,
            r.queue_delay_ms.p95,
            r.queue_delay_ms.p99,
            r.queue_delay_ms.max,
            r.drops,
            r.retransmits,
            r.timeouts,
            r.jain,
            r.self_inflicted_delay_ms.p95,
            r.goodput_mbps
        );
    }
}
