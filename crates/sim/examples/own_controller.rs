//! A user's own controller against Cubic and ABC on an LTE link: `cargo run --example
//! own_controller`. The controller aims at a fixed queueing delay.

use paceline_sim::cc::{Controller, Feedback, Halves, Plan, Span};
use paceline_sim::scenario::{Capacity, CustomScheme, FlowSpec, LinkSpec, Scenario, SchemeChoice};
use paceline_sim::{run, trace};

/// Increases its window by a share of it while the queue is short, and decreases it while the queue
/// is long.
struct Delay {
    window: f64,
    target: Span,
}

impl Controller for Delay {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let Some(rtt) = feedback.rtt else { return };
        let queueing = (rtt - feedback.min_rtt).as_secs_f64() / self.target.as_secs_f64();
        self.window += 0.2 * (1.0 - queueing).clamp(-1.0, 1.0) * feedback.acked as f64;
        self.window = self.window.max(2.0 * f64::from(feedback.mss));
    }

    fn plan(&self) -> Plan {
        Plan::window(self.window as u64)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = Span::from_millis(50);
    let halves = Halves::sender(move |setup| Delay { window: 10.0 * f64::from(setup.mss), target });
    let own = CustomScheme::new("own", halves);
    let mut text = String::from("scheme   used %   queueing delay ms, mean     p95\n");
    for scheme in [own.into(), "cubic".parse()?, "abc".parse::<SchemeChoice>()?] {
        let mut scenario = Scenario::new("own controller");
        let trace = trace::load("lte-driving")?;
        scenario.links.push(LinkSpec::new("link", Capacity::trace(trace)));
        scenario.flows.push(FlowSpec::bulk(scheme, &["link"]));
        scenario.duration = Span::from_secs(30);
        let outcome = run(&scenario)?;
        let (link, flow) = (&outcome.links[0], &outcome.flows[0]);
        let (used, delay) = (100.0 * link.utilization, link.queue_delay_ms);
        text += &format!("{:8}{used:7.1}{:26.0}{:8.0}\n", flow.scheme, delay.mean, delay.p95);
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}
