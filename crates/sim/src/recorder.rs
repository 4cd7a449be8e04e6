//! Records the events of a world.

use paceline_cc::{Body, Packet, Span, Time};
use paceline_flow::{Receiver, Sender};
use paceline_path::{Departure, EventKind, PortLog};
use paceline_wifi::Medium;

use crate::bins::LinkBins;
use crate::metrics::{Age, Samples};
use crate::nodes::Endpoint;
use crate::scenario::Record;
use crate::transport::TransportEndpoint;

/// The recording of one link.
#[derive(Debug, Default)]
pub(crate) struct LinkRecord {
    pub(crate) sojourn: Samples,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) delivered: u64,
    /// Its time series, if requested.
    pub(crate) bins: Option<LinkBins>,
}

/// Sums of one flow's delays.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct DelaySums {
    /// Data packets that arrived, and the sum of their delays.
    pub(crate) packets: u64,
    pub(crate) one_way: Span,
    /// Number of RTT samples.
    pub(crate) samples: u64,
    pub(crate) rtt: Span,
}

/// The recording of one flow.
#[derive(Debug)]
pub(crate) struct FlowRecord {
    pub(crate) one_way: Samples,
    pub(crate) rtt: Samples,
    /// Age of the newest packet of the current on-period.
    pub(crate) age: Age,
    /// Start of the application's current on-period; `None` while it is off. Ages count while it is
    /// on.
    pub(crate) on_since: Option<Time>,
    /// When the flow stops. Ages count until then.
    pub(crate) stop: Time,
    /// Bytes that arrived for the first time, per bin and since the start.
    pub(crate) bins: Vec<u64>,
    goodput: u64,
    pub(crate) state: StateSeries,
    /// The segments in order of arrival, for video and audio only.
    pub(crate) segments: Option<Vec<(u64, Time)>>,
}

/// Receives the name and value of an internal state.
pub(crate) type StateVisitor<'a> = dyn FnMut(&'static str, f64) + 'a;

/// Internal values of a controller over time, by name: one value per bin.
pub(crate) type StateSeries = Vec<(&'static str, Vec<f64>)>;

/// Adds the current internal values as those of bin `at`. Bins without a value have NaN.
pub(crate) fn note_state(
    series: &mut StateSeries,
    at: usize,
    inspect: impl FnOnce(&mut StateVisitor<'_>),
) {
    inspect(&mut |name, value| {
        let place = series.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            series.push((name, Vec::new()));
            series.len() - 1
        });
        let values = &mut series[place].1;
        values.resize(at, f64::NAN);
        values.push(value);
    });
}

/// Records delays, counters and time series. Measures from `from` on.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) from: Time,
    pub(crate) bin: Option<Span>,
    /// By stage number, followed by the stations of media. Only links and stations have a record,
    /// and none has one if the run records only sums.
    pub(crate) links: Vec<Option<LinkRecord>>,
    /// By flow number.
    pub(crate) sums: Vec<DelaySums>,
    /// By flow number; empty if the run records only sums.
    pub(crate) flows: Vec<FlowRecord>,
    /// The bin of the series in which the last data packet arrived, and its end.
    current_bin: usize,
    bin_end: Time,
}

impl LinkRecord {
    /// Records a departure. Measures from `from` on.
    #[inline]
    fn on_departure(&mut self, departure: &Departure, overhead: u64, from: Time) {
        let Departure { time, sojourn, size, marked } = *departure;
        let bytes = u64::from(size) + overhead;
        if time >= from {
            self.sojourn.push(sojourn);
            self.delivered += bytes;
            self.marks += u64::from(marked);
        }
        if let Some(bins) = &mut self.bins {
            bins.on_departure(time, bytes, sojourn);
        }
    }
}

impl Recorder {
    pub(crate) fn new(from: Time, record: Record, carriers: usize, flows: usize) -> Recorder {
        let bin = match record {
            Record::Series(bin) => Some(bin),
            _ => None,
        };
        let flow = || FlowRecord {
            one_way: Samples::default(),
            rtt: Samples::default(),
            age: Age::new(from),
            on_since: None,
            stop: Time::NEVER,
            bins: Vec::new(),
            goodput: 0,
            state: Vec::new(),
            segments: None,
        };
        Recorder {
            from,
            bin,
            links: (0..if record.is_detailed() { carriers } else { 0 }).map(|_| None).collect(),
            sums: vec![DelaySums::default(); flows],
            flows: (0..if record.is_detailed() { flows } else { 0 }).map(|_| flow()).collect(),
            current_bin: 0,
            bin_end: Time::ZERO,
        }
    }

    /// Returns the bin of the series in which `now` lies, which never decreases; `None` without
    /// series.
    #[inline]
    fn bin_of(&mut self, now: Time) -> Option<usize> {
        let bin = self.bin?;
        if now >= self.bin_end {
            self.current_bin = (now.as_nanos() / bin.as_nanos()) as usize;
            self.bin_end = Time::ZERO + bin * (self.current_bin as u64 + 1);
        }
        Some(self.current_bin)
    }

    /// Records a packet's arrival at an endpoint, after the endpoint has handled it.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, now: Time, endpoint: &mut Endpoint, packet: &Packet) {
        // A training records sums only: few steps, which are compiled into the event loop.
        let only_sums = self.flows.is_empty();
        match endpoint {
            Endpoint::Sender(sender) if only_sums => {
                self.add_rtt(now, sender.flow(), sender.take_rtt());
            }
            Endpoint::Sender(sender) => self.on_sender(now, sender),
            Endpoint::Receiver(_) if only_sums => {
                if let Body::Data(_) = &packet.body {
                    self.add_delay(now, packet);
                }
            }
            Endpoint::Receiver(receiver) => self.on_receiver(now, receiver, packet),
            Endpoint::Transport(end) => self.on_transport_packet(now, end, packet),
        }
    }

    /// Records that a sender has handled a packet.
    #[inline(never)]
    fn on_sender(&mut self, now: Time, sender: &mut Sender) {
        let rtt = sender.take_rtt();
        self.on_ack(now, sender.flow(), rtt);
        self.on_application(now, sender);
    }

    /// Records that a receiver has handled a packet.
    #[inline(never)]
    fn on_receiver(&mut self, now: Time, receiver: &Receiver, packet: &Packet) {
        if let Body::Data(data) = &packet.body {
            self.on_arrival(now, packet, data.segment);
        }
        self.on_received(now, packet.flow, || receiver.stats().goodput);
    }

    /// Records a packet's arrival at an end of a complete transport.
    #[cold]
    fn on_transport_packet(&mut self, now: Time, end: &mut TransportEndpoint, packet: &Packet) {
        if end.receives() {
            self.on_arrival(now, packet, 0);
            self.on_received(now, packet.flow, || end.end().received());
        } else {
            let rtt = end.end_mut().take_rtt();
            self.on_ack(now, end.flow(), rtt);
        }
    }

    /// Records an endpoint's actions at `now`.
    #[inline]
    pub(crate) fn on_wake(&mut self, now: Time, endpoint: &Endpoint) {
        if let Endpoint::Sender(sender) = endpoint {
            self.on_application(now, sender);
        }
    }

    /// Notes that the application of a flow may have switched on or off at `now`.
    #[inline]
    fn on_application(&mut self, now: Time, sender: &Sender) {
        let Some(flow) = self.flows.get_mut(sender.flow() as usize) else { return };
        let on_since = sender.on_since();
        if flow.on_since != on_since {
            flow.age.pause(now);
            flow.on_since = on_since;
        }
    }

    /// Returns false if the run records only sums: then links log no events, and ages are not
    /// measured.
    #[inline(always)]
    pub(crate) fn is_detailed(&self) -> bool {
        !self.links.is_empty()
    }

    /// Records the logged events of a port of the link or station whose record has the index `id`.
    pub(crate) fn on_port(&mut self, id: usize, log: &mut PortLog) {
        let from = self.from;
        let Some(Some(record)) = self.links.get_mut(id) else { return };
        let overhead = u64::from(log.overhead());
        for departure in log.departures() {
            record.on_departure(departure, overhead, from);
        }
        log.clear_departures();
        for event in log.events() {
            let measured = event.time >= from;
            match event.kind {
                EventKind::Drop { .. } => {
                    record.drops += measured as u64;
                    // An access point can drop packets that it has marked.
                    record.marks += (measured && event.marked) as u64;
                }
                // Queues and routers may also mark packets on arrival.
                EventKind::Arrival => record.marks += (measured && event.marked) as u64,
                // Departures stand in a list of their own.
                EventKind::Departure { .. } => {}
            }
        }
        log.clear_events();
    }

    /// Records the logged events of all ports of a medium; `first` is the index of its first
    /// station.
    #[inline(never)]
    pub(crate) fn on_medium(&mut self, first: usize, medium: &mut Medium) {
        for number in 0..medium.len() {
            medium.logs_mut(number).for_each(|log| self.on_port(first + number, log));
            let record = self.links.get_mut(first + number).and_then(Option::as_mut);
            let mut bins = record.and_then(|record| record.bins.as_mut());
            for turn in medium.drain_turns(number) {
                if let Some(bins) = &mut bins {
                    bins.on_turn(&turn);
                }
            }
        }
    }

    /// Adds the delay of a data packet that has arrived at its receiver to the flow's sums.
    #[inline(always)]
    fn add_delay(&mut self, now: Time, packet: &Packet) {
        let measured = now >= self.from;
        if let Some(sums) = self.sums.get_mut(packet.flow as usize).filter(|_| measured) {
            sums.packets += 1;
            sums.one_way += now.since(packet.sent);
        }
    }

    /// Adds an RTT sample to the flow's sums.
    #[inline(always)]
    fn add_rtt(&mut self, now: Time, flow: u32, sample: Option<Span>) {
        let Some(rtt) = sample.filter(|_| now >= self.from) else { return };
        if let Some(sums) = self.sums.get_mut(flow as usize) {
            sums.samples += 1;
            sums.rtt += rtt;
        }
    }

    /// Records a data packet's arrival at its receiver.
    #[inline(always)]
    fn on_arrival(&mut self, now: Time, packet: &Packet, segment: u64) {
        self.add_delay(now, packet);
        let Some(flow) = self.flows.get_mut(packet.flow as usize) else { return };
        if now >= self.from {
            flow.one_way.push(now.since(packet.sent));
        }
        // Packets sent in an earlier on-period do not count for the age in this one.
        let is_on = flow.on_since.is_some_and(|since| packet.sent >= since) && now < flow.stop;
        if is_on {
            flow.age.on_arrival(now, packet.sent);
        }
        if let Some(segments) = &mut flow.segments {
            segments.push((segment, now));
        }
    }

    /// Records that the receiver of `flow` has handled a packet and now has `goodput` bytes.
    #[inline]
    fn on_received(&mut self, now: Time, flow: u32, goodput: impl FnOnce() -> u64) {
        let Some(at) = self.bin_of(now) else { return };
        let Some(flow) = self.flows.get_mut(flow as usize) else { return };
        if flow.bins.len() <= at {
            flow.bins.resize(at + 1, 0);
        }
        let goodput = goodput();
        flow.bins[at] += goodput - flow.goodput;
        flow.goodput = goodput;
    }

    /// Records that a sender has handled an acknowledgement.
    #[inline]
    fn on_ack(&mut self, now: Time, flow: u32, sample: Option<Span>) {
        self.add_rtt(now, flow, sample);
        let Some(rtt) = sample.filter(|_| now >= self.from) else { return };
        if let Some(flow) = self.flows.get_mut(flow as usize) {
            flow.rtt.push(rtt);
        }
    }

    /// Records the internal values of a flow's sender at the end of bin `at`.
    pub(crate) fn on_state(
        &mut self,
        at: usize,
        flow: usize,
        inspect: impl FnOnce(&mut StateVisitor<'_>),
    ) {
        let Some(flow) = self.flows.get_mut(flow) else { return };
        note_state(&mut flow.state, at, inspect);
    }
}
