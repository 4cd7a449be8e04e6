//! Schemes, queues and routers that the simulator does not know by name.

use std::sync::Arc;

use paceline_cc::{
    Body, Controller, Data, Feedback, Halves, Header, LinkView, OpenHeader, OpenReport, Outgoing,
    Packet, Plan, Rate, Report, Reporter, Router, Signals, Span, Spec, Stage, Stream, Time,
    Verdict,
};
use paceline_path::Limit;
use paceline_path::queue::{self, Fifo, QueueEntry};
use paceline_schemes::{SchemeEntry, registry};
use paceline_sim::scenario::{
    Capacity, CustomQueue, CustomRouter, CustomScheme, FlowSpec, LinkSpec, Record, RouterChoice,
    Scenario, check_scheme, parse, parse_with, to_toml, to_toml_with,
};
use paceline_sim::{CustomTransport, Names, Simulation, TransportEnd, run, run_with};

/// A constant window.
struct Fixed(u64);

impl Controller for Fixed {
    fn on_feedback(&mut self, _: &Feedback<'_>) {}

    fn plan(&self) -> Plan {
        Plan::window(self.0)
    }
}

fn fixed(packets: u64) -> Halves {
    Halves::sender(move |setup| Fixed(packets * u64::from(setup.mss)))
}

/// One flow of a custom scheme over 12 Mbit/s and 100 ms, for ten seconds.
fn scenario(packets: u64) -> Scenario {
    let mut scenario = Scenario::new("open");
    scenario.links.push(LinkSpec::new("link", Capacity::Constant(Rate::from_mbps(12.0))));
    scenario.flows.push(FlowSpec::bulk(CustomScheme::new("fixed", fixed(packets)), &["link"]));
    scenario.duration = Span::from_secs(10);
    scenario
}

#[test]
fn a_made_scheme_runs_and_may_run_again() {
    let mut scenario = scenario(20);
    scenario.flows[0].count = 2;
    let (first, again) = (run(&scenario).expect("runs"), run(&scenario).expect("runs"));
    assert_eq!(first.digest, again.digest);
    // Two flows with 20 packets of 12 kbit per 101 ms.
    for flow in &first.flows {
        assert_eq!(flow.scheme, "fixed");
        assert!((flow.goodput_mbps - 2.3).abs() < 0.15, "{}", flow.goodput_mbps);
    }
}

#[test]
fn a_simulation_owns_its_scenario_or_shares_it() {
    let shared = Arc::new(scenario(20));
    let mut simulation = Simulation::new(shared.clone()).expect("builds");
    simulation.advance(Time::from_secs(10));
    let digest = simulation.outcome().expect("an outcome").digest;
    let handle = std::thread::spawn(move || {
        let mut simulation = Simulation::new(shared).expect("builds");
        simulation.advance(Time::from_secs(10));
        simulation.outcome().expect("an outcome").digest
    });
    assert_eq!(handle.join().expect("no panic"), digest);
}

/// A router that marks every packet and has no state.
struct MarkAll;

impl Router for MarkAll {
    fn on_departure(&mut self, _: Time, packet: &mut Packet, _: Span, _: &LinkView<'_>) {
        if packet.ecn.is_capable() {
            packet.ecn = paceline_cc::Ecn::Ce;
        }
    }
}

#[test]
fn queues_and_routers_may_be_made_too() {
    let mut scenario = scenario(300);
    scenario.links[0].queue = CustomQueue::new("short", |mut limit, _| {
        limit.packets = limit.packets.map(|packets| packets.min(10));
        Box::new(Fifo::new(limit))
    })
    .into();
    let outcome = run(&scenario).expect("runs");
    assert!(outcome.links[0].drops > 100 && outcome.links[0].queue_delay_ms.max < 12.0);
    scenario.flows[0].scheme = check_scheme("cubic[ecn=true]").expect("known").into();
    scenario.links[0].router =
        RouterChoice::Custom(CustomRouter::new("marks", |_| Box::new(MarkAll)));
    let marked = run(&scenario).expect("runs");
    assert!(marked.links[0].marks > 0 && marked.links[0].drops == 0, "{:?}", marked.links[0]);
}

#[test]
fn a_scheme_that_brings_a_router_as_a_value_is_used() {
    let halves =
        Halves { router: Some(Arc::new(|_| Box::new(MarkAll))), ..cubic("cubic[ecn=true]") };
    let mut scenario = scenario(1);
    scenario.flows[0].scheme = CustomScheme::new("marked", halves).into();
    assert!(run(&scenario).expect("runs").links[0].marks > 0);
    let other = Halves { router: Some(Arc::new(|_| Box::new(MarkAll))), ..cubic("cubic") };
    let mut flow = scenario.flows[0].clone();
    flow.scheme = CustomScheme::new("other", other).into();
    scenario.flows.push(flow);
    let error = run(&scenario).expect_err("two routers").to_string();
    assert!(error.contains("`marked`") && error.contains("`other`"), "{error}");
}

/// A router that marks every second packet in the mean, by the throw of a coin.
struct MarkByCoin(Stream);

impl Router for MarkByCoin {
    fn on_departure(&mut self, _: Time, packet: &mut Packet, _: Span, _: &LinkView<'_>) {
        if self.0.uniform() < 0.5 {
            packet.ecn = paceline_cc::Ecn::Ce;
        }
    }
}

#[test]
fn routers_draw_at_random_by_the_seed_and_their_link() {
    let marks = |seed: u64, link: &str| {
        let mut scenario = scenario(20);
        scenario.seed = seed;
        scenario.mss = 1200;
        scenario.links[0].name = link.into();
        scenario.flows[0].path = vec![link.into()];
        let expected = link.to_string();
        let router = CustomRouter::new("coin", move |setup| {
            assert_eq!((setup.link.as_str(), setup.mss), (expected.as_str(), 1200));
            Box::new(MarkByCoin(setup.random("coin")))
        });
        scenario.links[0].router = RouterChoice::Custom(router);
        let ect = Halves::sender(|_| FixedEct);
        scenario.flows[0].scheme = CustomScheme::new("ect", ect).into();
        let outcome = run(&scenario).expect("runs");
        assert!(outcome.links[0].marks > 100);
        (outcome.links[0].marks, outcome.digest)
    };
    assert_eq!(marks(1, "up"), marks(1, "up"));
    assert_ne!(marks(1, "up").0, marks(2, "up").0);
    assert_ne!(marks(1, "up").0, marks(1, "down").0);
}

/// Number of [`GrantSender`]'s scheme.
const GRANT: u32 = 0x6752_4e54;

/// Sender of an explicit scheme: it sends at the rate that the routers on its path have granted.
struct GrantSender {
    granted: Rate,
    /// Number of routers on the path, as the receiver has reported.
    routers: u64,
}

impl Controller for GrantSender {
    fn needs(&self) -> Signals {
        Signals::HEADERS.and(Signals::REPORTS)
    }

    fn on_send(&mut self, _: Time, packet: &mut Outgoing) -> u64 {
        // Bits per second that are granted, and routers that have been asked.
        packet.header = Header::Open(OpenHeader { scheme: GRANT, words: [u64::MAX, 0] });
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.explicit > 0 {
            self.granted = Rate::from_bps(1000 * u64::from(feedback.explicit));
        }
    }

    fn on_report(&mut self, _: Time, report: &Report) {
        if let Report::Open(OpenReport { scheme: GRANT, words: [routers, ..] }) = report {
            self.routers = *routers;
        }
    }

    fn plan(&self) -> Plan {
        // Half the grant until the report shows that routers have been asked.
        let rate = if self.routers > 0 { self.granted } else { self.granted.mul_f64(0.5) };
        Plan::window(1 << 20).paced(rate, 0)
    }
}

/// Router of that scheme: it grants nine tenths of its link, if the routers before it have not granted
/// less.
struct GrantRouter;

impl Router for GrantRouter {
    fn on_departure(&mut self, now: Time, packet: &mut Packet, _: Span, link: &LinkView<'_>) {
        let Body::Data(Data { header: Header::Open(header), .. }) = &mut packet.body else {
            return;
        };
        if header.scheme == GRANT {
            let bytes = link.capacity.offered(now, now + Span::from_secs(1));
            header.words[0] = header.words[0].min((7.2 * bytes as f64) as u64);
            header.words[1] += 1;
        }
    }
}

/// Receiver of that scheme: it echoes each grant in kbit/s, and reports every 100 ms how many routers
/// were asked.
#[derive(Default)]
struct GrantReceiver {
    words: [u64; 2],
    next: Time,
}

impl Reporter for GrantReceiver {
    fn on_arrival(&mut self, now: Time, packet: &Packet) -> Verdict {
        if let Body::Data(Data {
            header: Header::Open(OpenHeader { scheme: GRANT, words }), ..
        }) = packet.body
        {
            self.words = words;
            self.next = self.next.min(now + Span::from_millis(100));
        }
        Verdict::default()
    }

    fn explicit(&mut self) -> u32 {
        (self.words[0] / 1000) as u32
    }

    fn wake(&self) -> Time {
        self.next
    }

    fn report(&mut self, now: Time, _: Time) -> Option<Report> {
        self.next = now + Span::from_millis(100);
        Some(Report::Open(OpenReport { scheme: GRANT, words: [self.words[1], 0, 0] }))
    }
}

fn grant() -> Halves {
    Halves {
        reporter: Some(Arc::new(|_| Box::new(GrantReceiver { words: [0, 0], next: Time::NEVER }))),
        router: Some(Arc::new(|_| Box::new(GrantRouter))),
        ..Halves::sender(|_| GrantSender { granted: Rate::from_mbps(1.0), routers: 0 })
    }
}

#[test]
fn an_explicit_scheme_of_ones_own_has_header_router_and_report() {
    let mut scenario = scenario(1);
    let narrow = LinkSpec::new("narrow", Capacity::Constant(Rate::from_mbps(8.0)));
    scenario.links.push(narrow);
    let scheme = CustomScheme::new("grant", grant());
    scenario.flows[0] = FlowSpec::bulk(scheme, &["link", "narrow"]);
    scenario.warmup = Span::from_secs(2);
    let outcome = run(&scenario).expect("runs");
    let [link, narrow] = &outcome.links[..] else { panic!("two links") };
    // Nine tenths of the narrower link, so that nothing waits at either.
    assert!((narrow.utilization - 0.9).abs() < 0.01, "{}", narrow.utilization);
    assert!(link.drops + narrow.drops == 0 && narrow.queue_delay_ms.p95 < 4.0, "{narrow:?}");
    let mut names = registry::builtin();
    names.add(SchemeEntry::new("grant", |_| Ok(grant()))).expect("a free name");
    let mut plain = scenario.clone();
    plain.flows[0].scheme = Names::from(names.clone()).check_scheme("grant").expect("known").into();
    assert_eq!(run_with(&plain, &Names::from(names)).expect("runs").digest, outcome.digest);
}

/// A constant window of ECN-capable packets.
struct FixedEct;

impl Controller for FixedEct {
    fn on_feedback(&mut self, _: &Feedback<'_>) {}

    fn plan(&self) -> Plan {
        Plan::window(60_000).ecn(paceline_cc::Ecn::Ect0)
    }
}

fn cubic(text: &str) -> Halves {
    registry::build(&Spec::parse(text).expect("legal")).expect("built in")
}

#[test]
fn files_name_schemes_of_a_registry() {
    let mut schemes = registry::builtin();
    schemes.add(SchemeEntry::new("fixed", |_| Ok(fixed(20)))).expect("a free name");
    let names = Names::from(schemes);
    let text = "duration = \"10s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\n\
                [[flow]]\nscheme = \"fixed\"\n";
    let error = parse("open.toml", text, None).expect_err("not built in").to_string();
    assert!(error.starts_with("open.toml:6:10: unknown scheme `fixed`"), "{error}");
    let named = parse_with("open.toml", text, None, &names).expect("in the registry");
    assert!(run(&named).is_err());
    let digest = run_with(&named, &names).expect("runs").digest;
    assert_eq!(digest, run(&scenario(20)).expect("runs").digest);
    let none = &mut |_: &paceline_trace::Trace| String::new();
    assert!(to_toml(&named, "", none).is_err());
    let written = to_toml_with(&named, "", none, &names).expect("it has a name");
    assert!(written.contains("scheme = \"fixed\""), "{written}");
}

#[test]
fn files_name_queues_of_a_table() {
    let mut queues = queue::builtin();
    let shallow = QueueEntry::new("shallow", |_, _, _| Ok(Box::new(Fifo::new(Limit::packets(5)))));
    queues.add(shallow).expect("a free name");
    let names = Names::from(queues);
    let file = |link: &str, flow: &str| {
        format!(
            "duration = \"10s\"\n[[link]]\nname = \"link\"\nrate = \"12Mbps\"\n{link}\n\
             [[flow]]\nscheme = \"{flow}\"\n"
        )
    };
    let none = &mut |_: &paceline_trace::Trace| String::new();
    let mut digests = Vec::new();
    for text in [file("queue = \"shallow\"", "cubic"), file("", "cubic+shallow")] {
        let error = parse("open.toml", &text, None).expect_err("not built in").to_string();
        assert!(error.contains("unknown queue `shallow`"), "{error}");
        let named = parse_with("open.toml", &text, None, &names).expect("in the table");
        assert!(run(&named).is_err());
        assert!(to_toml(&named, "", none).is_err());
        assert!(to_toml_with(&named, "", none, &names).expect("it has a name").contains("shallow"));
        digests.push(run_with(&named, &names).expect("runs").digest);
    }
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn what_is_made_has_no_name_to_write() {
    let none = &mut |_: &paceline_trace::Trace| String::new();
    let series = Record::Series(Span::from_millis(100));
    let made = scenario(20).with(|scenario| scenario.record = series);
    let error = to_toml(&made, "", none).expect_err("no name").to_string();
    assert!(error.contains("scheme `fixed`") && error.contains("`Names`"), "{error}");
    let mut queue = made.clone();
    queue.flows[0].scheme = check_scheme("cubic").expect("known").into();
    queue.links[0].queue = CustomQueue::new("mine", |limit, _| Box::new(Fifo::new(limit))).into();
    let error = to_toml(&queue, "", none).expect_err("no name").to_string();
    assert!(error.contains("queue `mine`"), "{error}");
}

/// An end of a transport that has stopped working.
struct Dead;

impl Stage for Dead {
    fn push(&mut self, _: Time, _: &Packet) {}
    fn pop_into(&mut self, _: Time, _: &mut Packet) -> bool {
        false
    }
    fn wake(&self) -> Time {
        Time::NEVER
    }
}

impl TransportEnd for Dead {
    fn received(&self) -> u64 {
        0
    }
    fn failure(&self) -> Option<String> {
        Some("the host has ended".into())
    }
}

#[test]
fn files_name_hosts_of_a_family() {
    let mut names = Names::default();
    names.transports.set("twin", |text| {
        let queue = Spec::parse("codel").expect("a queue");
        let made =
            CustomTransport::new(format!("twin:{text}"), |_| Ok((Box::new(Dead), Box::new(Dead))));
        if text == "none" { Err("no such twin".into()) } else { Ok(made.with_queue(Some(queue))) }
    });
    let file = |keys: &str| {
        format!("duration = \"1s\"\n[[link]]\nname = \"l\"\nrate = \"1Mbps\"\n[[flow]]\n{keys}\n")
    };
    let read = |keys: &str| parse_with("twin.toml", &file(keys), None, &names);
    let keys = "host = \"twin\"\ncc = \"x\"\nqdisc = \"fq\"\nmtu = 1400\n\
                sysctls = { \"a.b\" = 1, \"c.d\" = \"4 5\" }";
    let scenario = read(keys).expect("hosts");
    let label = "twin:x[qdisc=fq,mtu=1400,a.b=1,c.d=4 5]";
    assert_eq!(scenario.flows[0].scheme.to_string(), label);
    assert_eq!(scenario.flows[0].scheme.queue().map(ToString::to_string).as_deref(), Some("codel"));
    let error = run_with(&scenario, &names).expect_err("its hosts are dead").to_string();
    assert!(error.contains("the host has ended"), "{error}");
    // Written as a scheme, and read again.
    let none = &mut |_: &paceline_trace::Trace| String::new();
    let written = to_toml_with(&scenario, "", none, &names).expect("it has a name");
    assert!(written.contains(&format!("scheme = \"{label}\"")), "{written}");
    let again = parse_with("again.toml", &written, None, &names).expect("it is read");
    assert_eq!(again.flows[0].scheme.to_string(), label);
    for (keys, problem) in [
        ("host = \"other\"", "there are no hosts `other`"),
        ("host = \"twin\"\ncc = \"none\"", "no such twin"),
        ("host = \"twin\"\nscheme = \"cubic\"", "write cc in place of scheme"),
        ("scheme = \"cubic\"\nmtu = 1400", "mtu is a setting of hosts"),
        ("host = \"twin\"\nsysctls = { \"a.b\" = \"1,2\" }", "has one of , [ ] = in it"),
        ("host = \"twin\"\nack_every = 1", "ack_every is a setting of Paceline's own ends"),
    ] {
        let error = read(keys).expect_err(keys).to_string();
        assert!(error.contains(problem), "{keys}: {error}");
    }
}

/// Programs of a flow are written and read again with all their keys.
#[test]
fn programs_come_back() {
    let mut names = Names::default();
    names.transports.set("twin", |text| {
        let made =
            CustomTransport::new(format!("twin:{text}"), |_| Ok((Box::new(Dead), Box::new(Dead))));
        Ok(made.with_programs())
    });
    let read = |programs: &str| {
        let file = format!(
            "duration = \"1s\"\n[[link]]\nname = \"l\"\nrate = \"1Mbps\"\n[[flow]]\nhost = \"twin\"\n\
             cc = \"x\"\n[flow.programs]\n{programs}\n"
        );
        parse_with("twin.toml", &file, None, &names)
    };
    for programs in [
        "sender = [\"iperf3\", \"-c\", \"{address}\", \"a \\\"quoted\\\" word\", \"\"]",
        "receiver = []",
        "sender = [\"./a\"]\nreceiver = [\"sh\", \"-c\", \"exit 3\"]\nlistens = \"sender\"\n\
         files = [\"/usr/bin/date\", \"page.html:/srv/page\"]\nroot = \"/srv/root\"\n\
         environment = { LANG = \"C\", EMPTY = \"\" }",
        "sender = [\"a\"]\nlistens = \"neither\"",
    ] {
        let scenario = read(programs).expect(programs);
        let none = &mut |_: &paceline_trace::Trace| String::new();
        let written = to_toml_with(&scenario, "", none, &names).expect("it is written");
        let again = parse_with("again.toml", &written, None, &names)
            .unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert!(scenario.flows[0].programs.is_some(), "{programs}");
        assert_eq!(again.flows[0].programs, scenario.flows[0].programs, "{written}");
    }
    for (programs, problem) in [
        ("listens = \"sender\"", "programs has neither a sender nor a receiver"),
        ("sender = [\"a\"]\nenvironment = { \"A=B\" = \"c\" }", "cannot be the name of a variable"),
        ("sender = [\"a\\u0000b\"]", "zero byte"),
    ] {
        let error = read(programs).expect_err(programs).to_string();
        assert!(error.contains(problem), "{programs}: {error}");
    }
}
