#![allow(clippy::all, clippy::print_stdout, missing_docs)]
use paceline_sim::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let cap = if args[1].ends_with("bps") {
        scenario::Capacity::Constant(
            <paceline_cc::Rate as paceline_cc::ParamValue>::read(&args[1]).unwrap(),
        )
    } else {
        scenario::Capacity::trace(paceline_trace::load(&args[1]).unwrap())
    };
    let scheme = scenario::check_scheme(&args[2]).unwrap();
    let mut c = compare::Comparison::new("t", cap, scheme);
    let bin: u64 = args.get(3).map_or(500, |b| b.parse().unwrap());
    c.bin = Some(paceline_cc::Span::from_millis(bin));
    let sc = c.scenario();
    let mut sim = Simulation::new(&sc).unwrap();
    let mut last = (0, 0, 0, 0);
    for i in 1..=(60_000 / bin) {
        sim.advance(paceline_cc::Time::from_millis(i * bin));
        let o = sim.outcome().unwrap();
        let f = &o.flows[0];
        let l = o.links[0].series.as_ref().unwrap();
        let k = (i - 1) as usize;
        let now = (o.links[0].drops, f.sender.retransmits, f.sender.timeouts, f.sender.late);
        let st: Vec<String> = f
            .series
            .as_ref()
            .unwrap()
            .state
            .iter()
            .map(|(n, v)| format!("{n}={:.1}", v.last().unwrap()))
            .collect();
        println!(
            "{:6.2} cap {:.2} thr {:.2} q {:.0} drops {} rtx {} rto {} late {} {}",
            i as f64 * bin as f64 / 1e3,
            l.capacity_mbps[k],
            l.throughput_mbps[k],
            l.queue_delay_ms[k],
            now.0 - last.0,
            now.1 - last.1,
            now.2 - last.2,
            now.3 - last.3,
            st.join(" ")
        );
        last = now;
    }
}
