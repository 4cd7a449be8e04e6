//! XCP: a router at a link of 12 Mbit/s, with flows that send evenly and ignore the feedback; and
//! senders.

use std::collections::VecDeque;

use paceline_cc::{Header, Outgoing, Packet, Span, Time, XcpHeader};
use paceline_peers::vector::{Outcome, Vectors, near, same};

use crate::bench::{Acks, Hop, at, controller, header_of, ms, state, with_header};

/// A flow: RTT in ms, window in packets, start in us.
#[derive(Copy, Clone)]
struct Flow {
    rtt: f64,
    window: f64,
    start: f64,
}

/// Time in us; mean RTT in ms; for each flow the feedback in bytes and the packets so far;
/// persistent queue in bytes.
type Row = (f64, f64, &'static [(f64, u32)], f64);

struct Link {
    hop: Hop,
    flows: Vec<Flow>,
    /// Time of each flow's next packet, in us.
    next: Vec<f64>,
    waiting: VecDeque<(Time, Packet)>,
    /// Time at which the transmission in progress ends.
    free: Option<Time>,
    given: Vec<(f64, u32)>,
}

fn micros(micros: f64) -> Time {
    Time::from_nanos((micros * 1e3).round() as u64)
}

impl Link {
    fn new(flows: &[Flow]) -> Link {
        Link {
            hop: Hop::new("xcp[capacity=12Mbps]", 12.0),
            // A packet takes slightly more than a millisecond from its sender to the router.
            next: flows.iter().map(|flow| 1370.0 + flow.start).collect(),
            given: vec![(0.0, 0); flows.len()],
            flows: flows.to_vec(),
            waiting: VecDeque::new(),
            free: None,
        }
    }

    fn run(&mut self, end: Time) {
        loop {
            let by_time = |a: &usize, b: &usize| self.next[*a].total_cmp(&self.next[*b]);
            let flow = (0..self.flows.len()).min_by(by_time).expect("a flow");
            let next = micros(self.next[flow]);
            let free = self.free.unwrap_or(Time::NEVER);
            if free.min(next) >= end {
                return;
            }
            if free <= next {
                self.transmit(free);
            } else {
                self.arrive(next, flow);
            }
        }
    }

    fn arrive(&mut self, now: Time, flow: usize) {
        let Flow { rtt, window, .. } = self.flows[flow];
        let rtt_span = Span::from_secs_f64(rtt / 1e3);
        let interval = Span::from_secs_f64(rtt / 1e3 / window);
        // The flow requests more than the link has.
        let header = XcpHeader { rtt: rtt_span, interval, feedback: 8e6 };
        let mut packet = with_header(1500, Header::Xcp(header));
        packet.flow = flow as u32;
        self.hop.arrive(now, &mut packet);
        self.waiting.push_back((now, packet));
        self.hop.queue += 1500;
        self.next[flow] += rtt * 1e3 / window;
        if self.free.is_none() {
            self.transmit(now);
        }
    }

    fn transmit(&mut self, now: Time) {
        self.free = None;
        let Some((came, mut packet)) = self.waiting.pop_front() else { return };
        self.hop.queue -= 1500;
        self.hop.depart(now, &mut packet, now.since(came));
        if let Some(Header::Xcp(header)) = header_of(&packet) {
            let given = &mut self.given[packet.flow as usize];
            *given = (given.0 + header.feedback, given.1 + 1);
        }
        self.free = Some(now + ms(1));
    }
}

fn runs_as(flows: &[Flow], rows: &[Row]) -> Outcome {
    let mut link = Link::new(flows);
    for (time, rtt, given, persistent) in rows {
        let now = Time::from_nanos((time * 1e3) as u64);
        link.run(now);
        // The control interval ends at the link's next event.
        link.hop.arrive(now, &mut Packet::opaque(0));
        let place = format!("at {} ms", time / 1e3);
        near(&format!("mean RTT {place}"), link.hop.state("rtt_ms"), *rtt, 0.001)?;
        let queue = link.hop.state("persistent_queue_kb") * 1e3;
        near(&format!("persistent queue {place}"), queue, *persistent, 1.0)?;
        for (flow, (feedback, packets)) in given.iter().enumerate() {
            let (got, count) = link.given[flow];
            same(&format!("packets of flow {flow} {place}"), count, *packets)?;
            near(
                &format!("feedback of flow {flow} {place}"),
                got,
                *feedback,
                0.5 + 1e-6 * feedback.abs(),
            )?;
        }
    }
    Ok(())
}

fn flow(rtt: f64, window: f64, start: f64) -> Flow {
    Flow { rtt, window, start }
}

pub(super) fn add(vectors: &mut Vectors) {
    vectors.holds("xcp", "xcp/xcpq.cc: one flow at 40 % of the link", || {
        runs_as(
            &[flow(100.0, 40.0, 0.0)],
            &[
                (50_000.0, 100.0, &[(0.0, 20)], 0.0),
                (150_000.0, 100.0, &[(36_000.0, 60)], 0.0),
                (250_000.0, 100.0, &[(72_000.0, 100)], 0.0),
                (950_000.0, 100.0, &[(324_000.0, 380)], 0.0),
            ],
        )
    });
    vectors.holds("xcp", "xcp/xcpq.cc: one flow at 120 %: cuts, the persistent queue", || {
        runs_as(
            &[flow(100.0, 120.0, 0.0)],
            &[
                (50_000.0, 100.0, &[(0.0, 49)], 0.0),
                (150_000.0, 100.0, &[(-10_800.0, 149)], 21_000.0),
                (250_000.0, 100.0, &[(-24_755.0, 249)], 64_500.0),
                (350_000.0, 100.0, &[(-46_902.5, 349)], 94_500.0),
                (450_000.0, 100.0, &[(-74_700.0, 449)], 132_000.0),
                (650_000.0, 100.0, &[(-150_352.5, 649)], 193_500.0),
                (950_000.0, 100.0, &[(-306_630.0, 949)], 283_500.0),
            ],
        )
    });
    vectors.holds("xcp", "xcp/xcpq.cc: flows of 50 and 200 ms gain the same throughput", || {
        runs_as(
            &[flow(50.0, 20.0, 0.0), flow(200.0, 60.0, 500.0)],
            &[
                (50_000.0, 125.0, &[(0.0, 20), (0.0, 15)], 0.0),
                (175_000.0, 124.497, &[(4500.0, 70), (18_000.0, 52)], 0.0),
                (299_498.0, 125.497, &[(8998.792, 119), (36_484.832, 90)], 0.0),
                (424_995.0, 124.497, &[(13_454.339, 170), (53_724.596, 127)], 0.0),
                (1_424_968.0, 124.497, &[(49_434.753, 570), (197_292.961, 427)], 0.0),
            ],
        )
    });
    vectors.holds(
        "xcp",
        "xcp/xcpq.cc: an RTT of 2 s counts as 1 s, its feedback is for 2 s",
        || {
            runs_as(
                &[flow(2000.0, 100.0, 0.0), flow(100.0, 10.0, 700.0)],
                &[
                    (50_000.0, 590.909, &[(0.0, 3), (0.0, 5)], 0.0),
                    (640_911.0, 546.154, &[(549_818.182, 32), (22_909.091, 64)], 0.0),
                    (1_187_064.0, 554.054, &[(1_038_641.85, 60), (46_913.825, 119)], 0.0),
                ],
            )
        },
    );
    vectors.holds("xcp", "xcp-end-sys.cc: the interval is the RTT over the window", || {
        let mut sender = controller("xcp[initial_window=8]", 1000);
        sender.on_feedback(&Acks::new(1000, ms(80)).of(1.0));
        let mut packet = Outgoing::new(0, 1000, 0);
        sender.on_send(at(1000), &mut packet);
        let Header::Xcp(header) = packet.header else { return Err("no header".to_string()) };
        same("RTT, interval", (header.rtt, header.interval), (ms(80), ms(10)))
    });
    vectors.holds(
        "xcp",
        "xcp-end-sys.cc: the window moves by feedback, down to one packet",
        || {
            let mut sender = controller("xcp", 1000);
            let mut acks = Acks::new(1000, ms(100));
            for (bytes, expected) in [(2500.0, 12.5), (-4000.0, 8.5), (-20_000.0, 1.0)] {
                let mut feedback = acks.of(1.0);
                feedback.explicit = ((bytes * 256.0) as i32) as u32;
                sender.on_feedback(&feedback);
                near(&format!("after {bytes} bytes"), state(&*sender, "cwnd"), expected, 1e-3)?;
            }
            Ok(())
        },
    );
}
