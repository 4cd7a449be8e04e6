//! Random scenarios.

use paceline_cc::{AckPolicy, Rate, Span, Spec, Stream};
use paceline_flow::{Amount, On, Workload};
use paceline_path::{BufferSize, GilbertElliott, Impairments, Jitter, JitterShape, Loss, Reorder};
use paceline_schemes::{SCHEMES, registry::build};
use paceline_sim::choose;
use paceline_sim::scenario::{
    Arrivals, Capacity, FlowSpec, LinkSpec, McsSpec, RouterChoice, Scenario, Stretch, WifiSpec,
    check_scheme,
};
use paceline_wifi::{LONGEST_PACKET, Mcs};

/// Draws scenarios.
pub(crate) struct Dice(pub(crate) Stream);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
    fn from(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }
    pub(crate) fn span(&mut self, low_ms: u64, high_ms: u64) -> Span {
        Span::from_micros(1000 * low_ms + self.below(1000 * (high_ms - low_ms)))
    }
    fn rate(&mut self) -> Rate {
        Rate::from_bps(500_000 + self.below(20_000_000))
    }

    fn capacity(&mut self) -> Capacity {
        match self.below(5) {
            2 => Capacity::Wifi(Box::new(self.wifi())),
            0 => {
                let names: Vec<_> = paceline_trace::names().collect();
                let name = names[self.below(names.len() as u64) as usize];
                Capacity::trace(paceline_trace::load(name).expect("built in"))
            }
            1 => {
                let mut at = Span::ZERO;
                let mut steps = Vec::new();
                for _ in 0..1 + self.below(4) {
                    let rate = if self.0.chance(0.2) { Rate::ZERO } else { self.rate() };
                    steps.push((at, rate));
                    at += self.span(100, 2000);
                }
                steps.push((at, self.rate()));
                Capacity::Schedule { steps, period: self.0.chance(0.5).then_some(at * 2) }
            }
            _ => Capacity::Constant(self.rate()),
        }
    }

    fn wifi(&mut self) -> WifiSpec {
        let mut mcs = || Mcs::new(self.below(1 + u64::from(Mcs::MAX)) as u8).expect("an index");
        let (one, other) = (mcs(), mcs());
        let mut spec = WifiSpec::new(match self.below(3) {
            0 => McsSpec::constant(one),
            1 => McsSpec::Steps {
                steps: vec![(Span::ZERO, one), (Span::from_secs(1), other)],
                period: Some(Span::from_secs(3)),
            },
            _ => McsSpec::Walk {
                min: one.min(other),
                max: one.max(other),
                every: Span::from_secs(1),
            },
        });
        spec.channel.max_frames = 1 + self.below(64) as u32;
        spec.rts = self.0.chance(0.5);
        spec.frame_error = self.from(0.0, 0.3);
        spec.retries = self.below(8) as u32;
        spec.channel.contenders = self.below(4) as u32;
        spec.channel.contender_gap = self.span(0, 20);
        spec.queue_per_station = self.0.chance(0.5);
        spec
    }

    fn impairments(&mut self, loss: f64) -> Impairments {
        let mut impairments = Impairments::default();
        if self.0.chance(0.5) {
            impairments.loss = Loss::Bernoulli(self.from(0.0, loss));
        } else if self.0.chance(0.3) {
            let model = GilbertElliott::with_bursts(self.from(0.0, loss), self.from(1.0, 8.0));
            impairments.loss = Loss::GilbertElliott(model.expect("valid"));
        }
        if self.0.chance(0.3) {
            let shape = [JitterShape::Uniform, JitterShape::Normal, JitterShape::Exponential];
            let shape = shape[self.below(3) as usize];
            let jitter = Jitter { shape, mean: self.span(0, 10), sd: self.span(0, 5) };
            impairments.jitter = Some(jitter);
            impairments.reorder_jitter = self.0.chance(0.5);
        }
        if self.0.chance(0.3) {
            let extra = self.0.chance(0.7).then(|| self.span(0, 20));
            impairments.reorder = Some(Reorder { probability: self.from(0.0, 0.05), extra });
        }
        if self.0.chance(0.2) {
            impairments.duplicate = self.from(0.0, 0.05);
        }
        impairments
    }

    fn link(&mut self, number: u64) -> LinkSpec {
        let mut link = LinkSpec::new(&format!("link {number}"), self.capacity());
        link.buffer = match self.below(6) {
            0 => BufferSize::Packets(1 + self.below(300)),
            1 => BufferSize::Bytes(3000 + self.below(300_000)),
            2 => BufferSize::Time(self.span(10, 300)),
            3 => BufferSize::Bdp(self.from(0.2, 3.0)),
            4 => BufferSize::Sojourn(self.span(10, 300)),
            _ => BufferSize::Unlimited,
        };
        // Some links have equal delays after them, so that mixed-up pipes would show.
        link.after.delay = Span::from_millis(5 * self.below(3));
        if self.0.chance(0.2) {
            link.after.impairments = self.impairments(0.02);
        }
        link
    }

    fn workload(&mut self) -> Workload {
        match self.below(6) {
            0 => Workload::Bytes(1 + self.below(1_000_000)),
            1 => Workload::Limited { rate: self.rate(), message: 1 + self.below(3000) as u32 },
            2 => Workload::OnOff {
                on: On::Time(Amount::Exponential(self.from(0.01, 2.0))),
                off: Amount::Exponential(self.from(0.0, 1.0)),
                starts_off: self.0.chance(0.5),
                fresh: self.0.chance(0.7),
            },
            3 => Workload::OnOff {
                on: On::Bytes(Amount::Pareto { shape: 1.5, scale: self.from(1.0, 50_000.0) }),
                off: Amount::Fixed(self.from(0.0, 1.0)),
                starts_off: self.0.chance(0.5),
                fresh: self.0.chance(0.5),
            },
            _ => Workload::Bulk,
        }
    }

    /// A flow over some of the links, each at most once.
    pub(crate) fn flow(&mut self, links: &[LinkSpec], loss: f64) -> FlowSpec {
        let name = SCHEMES[self.below(SCHEMES.len() as u64) as usize].name;
        let queue = ["", "", "+droptail", "+codel"][self.below(4) as usize];
        let scheme = check_scheme(&format!("{name}{queue}")).expect("a scheme");
        let spec = Spec::parse(name).expect("a name");
        let is_reliable = build(&spec).expect("built in").reliable;
        let mut pick = |least: usize| {
            let mut names: Vec<_> = links.iter().map(|link| link.name.clone()).collect();
            for at in (1..names.len()).rev() {
                names.swap(at, self.below(at as u64 + 1) as usize);
            }
            names.truncate(least + self.below((names.len() + 1 - least) as u64) as usize);
            names
        };
        let (path, back) = (pick(1), pick(0));
        let mut flow = FlowSpec::bulk(scheme, &[]);
        (flow.path, flow.back) = (path, back);
        flow.rtt = self.span(1, 200);
        if self.0.chance(0.5) {
            flow.data = Stretch { delay: self.span(0, 20), impairments: self.impairments(loss) };
        }
        if self.0.chance(0.5) {
            flow.acks = Stretch { delay: self.span(0, 20), impairments: self.impairments(0.3) };
        }
        flow.start = self.span(0, 3000);
        if self.0.chance(0.2) {
            let window = 9000 + self.below(200_000);
            flow.receive_window = is_reliable.then_some(window);
        }
        flow.ack = self.0.chance(0.3).then(|| match 1 + self.below(4) as u32 {
            1 => AckPolicy::EACH,
            every => AckPolicy { every, ..AckPolicy::DELAYED },
        });
        flow
    }
}

/// Duration of the scenarios in seconds.
pub(crate) const SECONDS: u64 = 8;

/// Returns a random scenario.
pub(crate) fn random(seed: u64) -> Scenario {
    let mut dice = Dice(Stream::new(seed, "random scenario"));
    let mut scenario = Scenario::new(&format!("random {seed}"));
    scenario.seed = seed;
    scenario.duration = Span::from_secs(SECONDS);
    scenario.mss = [1500, 1500, 600, 9000][dice.below(4) as usize];
    for number in 0..1 + dice.below(4) {
        let link = dice.link(number);
        scenario.links.push(link);
    }
    if scenario.links.iter().any(|link| matches!(link.capacity, Capacity::Wifi(_))) {
        scenario.mss = scenario.mss.min(LONGEST_PACKET);
    }
    for number in 0..1 + dice.below(5) {
        let mut flow = dice.flow(&scenario.links, 0.05);
        flow.name = format!("flow {number}");
        flow.workload = dice.workload();
        flow.count = 1 + dice.below(3) as u32;
        flow.stop = dice.0.chance(0.3).then(|| flow.start + dice.span(100, 5000));
        scenario.flows.push(flow);
    }
    if dice.0.chance(0.3) {
        let flow = dice.flow(&scenario.links, 0.05);
        let bytes = Amount::Exponential(dice.from(100.0, 50_000.0));
        scenario.arrivals.push(Arrivals { flow, per_second: dice.from(1.0, 20.0), bytes });
    }
    settle(&mut scenario);
    scenario
}

/// Sets on links what their flows disagree about: the queue, the router and the RTT of the first
/// flow.
pub(crate) fn settle(scenario: &mut Scenario) {
    for at in 0..scenario.links.len() {
        let mut link = scenario.links[at].clone();
        let arrivals = scenario.arrivals.iter().map(|arrivals| &arrivals.flow);
        let over = |flow: &&FlowSpec| flow.path.contains(&link.name);
        let flows: Vec<&FlowSpec> = scenario.flows.iter().chain(arrivals).filter(over).collect();
        if choose::queue(scenario, &link).is_err() {
            let queue = flows.iter().find_map(|flow| flow.scheme.queue()).expect("a conflict");
            link.queue = queue.clone().into();
        }
        if choose::router(scenario, &link, None).is_err() {
            let named =
                flows.iter().filter_map(|flow| flow.scheme.named()).map(|spec| &spec.sender);
            let router = |spec: &&Spec| build(spec).expect("known").router.is_some();
            link.router =
                RouterChoice::Scheme(named.into_iter().find(router).expect("one").clone());
        }
        if choose::rtt(scenario, &link).is_err() {
            link.rtt = Some(flows.first().map_or(Span::from_millis(100), |flow| flow.rtt));
        }
        scenario.links[at] = link;
    }
}
