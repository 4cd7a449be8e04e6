#![allow(clippy::all, clippy::print_stdout, missing_docs)]
fn main() {
    for f in std::env::args().skip(1) {
        let s = match paceline_sim::scenario::load(std::path::Path::new(&f)) {
            Ok(s) => s,
            Err(e) => {
                println!("{e}");
                continue;
            }
        };
        let mut s = s;
        s.record = paceline_sim::scenario::Record::Series(paceline_cc::Span::from_secs(1));
        let o = paceline_sim::run(&s).unwrap();
        for l in &o.links {
            println!(
                "{} link {} util {:.4} thr {:.3} q {:.1} p95 {:.1} drops {} marks {}",
                o.name,
                l.name,
                l.utilization,
                l.throughput_mbps,
                l.queue_delay_ms.mean,
                l.queue_delay_ms.p95,
                l.drops,
                l.marks
            );
        }
        // Jain in each second over the flows active in it.
        let n =
            o.flows.iter().map(|f| f.series.as_ref().unwrap().goodput_mbps.len()).max().unwrap();
        let step: usize = std::env::var("STEP").map_or(5, |s| s.parse().unwrap());
        for k in (0..n).step_by(step) {
            let g: Vec<f64> = o
                .flows
                .iter()
                .map(|f| {
                    let v = &f.series.as_ref().unwrap().goodput_mbps;
                    (k..(k + step).min(n)).map(|i| v.get(i).copied().unwrap_or(0.0)).sum::<f64>()
                        / step as f64
                })
                .collect();
            let act: Vec<f64> = g.iter().copied().filter(|x| *x > 0.05).collect();
            println!(
                "{k:4} {:?} jain {:.4}",
                g.iter().map(|x| (x * 100.0).round() / 100.0).collect::<Vec<_>>(),
                paceline_sim::metrics::jain(&act)
            );
        }
    }
}
