//! Clusters of packets that probe the path's rate: when they leave, and what their arrival shows
//! (libwebrtc `bitrate_prober.cc`, `probe_bitrate_estimator.cc`).

use std::collections::VecDeque;

use paceline_cc::{Fate, Rate, Span, Time};

/// A cluster lasts at least this long at its rate (`min_probe_duration`) ...
const LEAST_TIME: Span = Span::from_millis(15);
/// ... and has at least this number of packets (`min_probe_packets_sent`).
const LEAST_PACKETS: u32 = 5;
/// Packets that leave back to back within a cluster: what its rate sends in this time, at least a
/// packet (`min_probe_delta`).
const BURST: Span = Span::from_millis(2);
/// Probing begins with a packet of data that has at least this number of bytes, or what leaves back to
/// back if that is less (`min_packet_size`).
const LEAST_FIRST_SIZE: u64 = 200;
/// A cluster that has not begun after this time is dropped (`kProbeClusterTimeout`).
const WAIT: Span = Span::from_secs(5);
/// A cluster is dropped if one of its packets is late by more than this (`max_probe_delay`).
const MAX_DELAY: Span = Span::from_millis(20);

/// An estimate needs this share of a cluster's packets and bytes (`kMinReceivedProbesRatio`,
/// `kMinReceivedBytesRatio`).
const RECEIVED_SHARE: f64 = 0.8;
/// Packets that arrive faster than this multiple of the rate at which they left show nothing
/// (`kMaxValidRatio`).
const MAX_RATIO: f64 = 2.0;
/// Packets that arrive slower than this share of the rate at which they left have filled the link
/// (`kMinRatioForUnsaturatedLink`); the estimate is then a share of what arrives
/// (`kTargetUtilizationFraction`).
const UNSATURATED: f64 = 0.9;
const UTILIZATION: f64 = 0.95;
/// The longest time from the first to the last packet of a cluster (`kMaxProbeInterval`).
const MAX_INTERVAL: Span = Span::from_secs(1);

/// Clusters that wait, and clusters whose packets may still arrive.
const CLUSTERS: usize = 8;

/// A cluster that waits or is being sent.
#[derive(Copy, Clone, Debug)]
struct Cluster {
    id: u64,
    rate: Rate,
    created: Time,
    started: Option<Time>,
    bytes: u64,
    packets: u32,
}

impl Cluster {
    fn least_bytes(&self) -> u64 {
        self.rate.bytes_in(LEAST_TIME)
    }

    fn is_complete(&self) -> bool {
        self.bytes >= self.least_bytes() && self.packets >= LEAST_PACKETS
    }

    fn is_overdue(&self, now: Time) -> bool {
        match self.started {
            None => now.since(self.created) > WAIT,
            Some(started) => now > started + self.rate.time_for(self.bytes) + MAX_DELAY,
        }
    }
}

/// Packets of a cluster that have arrived.
#[derive(Copy, Clone, Debug)]
struct Arrived {
    id: u64,
    least_bytes: u64,
    packets: u32,
    bytes: u64,
    first_sent: Time,
    last_sent: Time,
    last_sent_size: u32,
    first_received: Time,
    last_received: Time,
    first_received_size: u32,
}

/// Sends clusters of packets and measures them. Packets of clusters have the cluster's number as
/// their tag; the numbers begin at 1.
#[derive(Clone, Debug)]
pub(super) struct Clusters {
    waiting: VecDeque<Cluster>,
    is_active: bool,
    arrived: VecDeque<Arrived>,
    next_id: u64,
}

impl Clusters {
    pub(super) fn new() -> Clusters {
        Clusters {
            waiting: VecDeque::with_capacity(CLUSTERS),
            is_active: false,
            arrived: VecDeque::with_capacity(CLUSTERS),
            next_id: 1,
        }
    }

    /// Sends a cluster at `rate` after those that wait.
    pub(super) fn add(&mut self, now: Time, rate: Rate) {
        if self.waiting.len() == CLUSTERS {
            return;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.push_back(Cluster {
            id,
            rate,
            created: now,
            started: None,
            bytes: 0,
            packets: 0,
        });
    }

    /// Returns true if the next packet may begin or continue a cluster.
    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the rate of the cluster that is being sent, and the bytes that leave back to back.
    pub(super) fn current(&self) -> Option<(Rate, u32)> {
        let cluster = self.waiting.front().filter(|_| self.is_active)?;
        let burst = cluster.rate.bytes_in(BURST).min(1 << 16) as u32;
        Some((cluster.rate, burst))
    }

    /// A packet leaves, which carries data unless it is `empty`. Returns the number of the cluster that
    /// it belongs to; 0 for none.
    pub(super) fn on_send(&mut self, now: Time, size: u32, empty: bool) -> u64 {
        while self.waiting.front().is_some_and(|cluster| cluster.is_overdue(now)) {
            self.waiting.pop_front();
        }
        let Some(cluster) = self.waiting.front_mut() else {
            self.is_active = false;
            return 0;
        };
        let least = cluster.rate.bytes_in(BURST).min(LEAST_FIRST_SIZE);
        self.is_active |= !empty && u64::from(size) >= least;
        if !self.is_active {
            return 0;
        }
        if cluster.started.is_none() {
            cluster.started = Some(now);
            if self.arrived.len() == CLUSTERS {
                self.arrived.pop_front();
            }
            self.arrived.push_back(Arrived::nothing(cluster));
        }
        cluster.bytes += u64::from(size);
        cluster.packets += 1;
        let cluster = *cluster;
        if cluster.is_complete() {
            self.waiting.pop_front();
            self.is_active = !self.waiting.is_empty();
        }
        cluster.id
    }

    /// A packet of a cluster has arrived at an unknown time, before the packet that the acknowledgement
    /// tells the time of. It counts if a packet of the cluster is known to have arrived before.
    pub(super) fn on_untimed_arrival(&mut self, fate: &Fate) {
        let known = self.arrived.iter_mut().find(|arrived| arrived.id == fate.tag);
        if let Some(arrived) = known.filter(|arrived| arrived.packets > 0) {
            arrived.bytes += u64::from(fate.size);
            arrived.packets += 1;
        }
    }

    /// A packet with the number of a cluster has arrived. Returns the rate in bits per second that the
    /// cluster shows, once enough of it has arrived.
    pub(super) fn on_arrival(&mut self, fate: &Fate) -> Option<f64> {
        let size = fate.size;
        let arrived = self.arrived.iter_mut().find(|arrived| arrived.id == fate.tag)?;
        if fate.sent >= arrived.last_sent {
            (arrived.last_sent, arrived.last_sent_size) = (fate.sent, size);
        }
        arrived.first_sent = arrived.first_sent.min(fate.sent);
        if fate.received < arrived.first_received {
            (arrived.first_received, arrived.first_received_size) = (fate.received, size);
        }
        arrived.last_received = arrived.last_received.max(fate.received);
        arrived.bytes += u64::from(size);
        arrived.packets += 1;
        arrived.estimate()
    }
}

impl Arrived {
    /// Nothing has arrived of `cluster`.
    fn nothing(cluster: &Cluster) -> Arrived {
        Arrived {
            id: cluster.id,
            least_bytes: cluster.least_bytes(),
            packets: 0,
            bytes: 0,
            first_sent: Time::NEVER,
            last_sent: Time::ZERO,
            last_sent_size: 0,
            first_received: Time::NEVER,
            last_received: Time::ZERO,
            first_received_size: 0,
        }
    }

    fn estimate(&self) -> Option<f64> {
        let least_packets = f64::from(LEAST_PACKETS) * RECEIVED_SHARE;
        let least_bytes = self.least_bytes as f64 * RECEIVED_SHARE;
        if f64::from(self.packets) < least_packets || (self.bytes as f64) < least_bytes {
            return None;
        }
        let sent_time = self.last_sent.since(self.first_sent);
        let received_time = self.last_received.since(self.first_received);
        let valid = Span::from_nanos(1)..=MAX_INTERVAL;
        if !valid.contains(&sent_time) || !valid.contains(&received_time) {
            return None;
        }
        // The last packet has left at the end of the one interval, and the first one has arrived at the
        // beginning of the other: neither took a part of it.
        let rate = |size: u32, time: Span| {
            self.bytes.saturating_sub(u64::from(size)) as f64 * 8.0 / time.as_secs_f64()
        };
        let sent = rate(self.last_sent_size, sent_time);
        let received = rate(self.first_received_size, received_time);
        if received > MAX_RATIO * sent {
            return None;
        }
        let fills_link = received < UNSATURATED * sent;
        Some(if fills_link { UTILIZATION * received } else { sent.min(received) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 1200;

    /// Sends the clusters that wait through a link of `link` Mbit/s; returns the last estimate of each
    /// cluster in Mbit/s, and the packets.
    fn probe(clusters: &mut Clusters, now: &mut Time, link: f64) -> Vec<(u64, u32, f64)> {
        let (link, mut free) = (Rate::from_mbps(link), *now);
        let mut seen: Vec<(u64, u32, f64)> = Vec::new();
        let mut empty = false;
        while clusters.are_waiting() {
            let id = clusters.on_send(*now, SIZE, empty);
            empty = true;
            let rate = clusters.current().map_or(link, |(rate, _)| rate);
            free = free.max(*now) + link.time_for(SIZE.into());
            let fate = Fate::new(0, SIZE, *now, id, false).with(|fate| fate.received = free);
            let estimate = clusters.on_arrival(&fate).unwrap_or(f64::NAN) / 1e6;
            match seen.last_mut() {
                Some(last) if last.0 == id => (last.1, last.2) = (last.1 + 1, estimate),
                _ => seen.push((id, 1, estimate)),
            }
            *now += rate.time_for(SIZE.into());
        }
        seen
    }

    #[test]
    fn clusters_show_their_rate_or_the_links() {
        let (mut clusters, mut now) = (Clusters::new(), Time::from_secs(1));
        clusters.add(now, Rate::from_mbps(0.9));
        clusters.add(now, Rate::from_mbps(1.8));
        clusters.add(now, Rate::from_mbps(20.0));
        let seen = probe(&mut clusters, &mut now, 5.0);
        assert_eq!(seen.len(), 3, "{seen:?}");
        // Five packets; 15 ms at 20 Mbit/s are 37,500 bytes.
        assert_eq!(seen.iter().map(|row| row.1).collect::<Vec<_>>(), [5, 5, 32]);
        for (row, expected) in seen.iter().zip([0.9, 1.8, 0.95 * 5.0]) {
            assert!((row.2 / expected - 1.0).abs() < 0.1, "{row:?} is not {expected}");
        }
        assert_eq!(clusters.on_send(now, SIZE, false), 0);
    }

    /// A third of the acknowledgements is lost: the next one tells of both packets, and when the later one
    /// arrived.
    #[test]
    fn lost_acknowledgements_change_no_estimate() {
        for lost in 0..3 {
            let mut clusters = Clusters::new();
            let (start, rate) = (Time::from_secs(1), Rate::from_mbps(8.0));
            clusters.add(start, rate);
            let mut estimate = None;
            let mut untimed = None;
            for index in 0..16u64 {
                let now = start + rate.time_for(SIZE.into()) * index;
                let id = clusters.on_send(now, SIZE, false);
                let received = now + rate.time_for(SIZE.into()) * index;
                let fate =
                    Fate::new(index, SIZE, now, id, false).with(|fate| fate.received = received);
                if index % 3 == lost {
                    untimed = Some(fate);
                    continue;
                }
                if let Some(fate) = untimed.take() {
                    clusters.on_untimed_arrival(&fate);
                }
                estimate = clusters.on_arrival(&fate).or(estimate);
            }
            let estimate = estimate.unwrap_or(f64::NAN) / 1e6;
            // They arrive at half the rate.
            assert!((estimate / (0.95 * 4.0) - 1.0).abs() < 0.02, "{lost}: {estimate}");
        }
    }

    #[test]
    fn data_begins_a_cluster_and_late_clusters_are_dropped() {
        let (mut clusters, start) = (Clusters::new(), Time::from_secs(1));
        clusters.add(start, Rate::from_mbps(1.0));
        assert_eq!(clusters.on_send(start, SIZE, true), 0);
        assert_eq!(clusters.on_send(start, 100, false), 0);
        assert!(clusters.current().is_none());
        assert_eq!(clusters.on_send(start, SIZE, false), 1);
        assert!(clusters.current().is_some());
        // The next packet was due 9.6 ms later.
        assert_eq!(clusters.on_send(start + Span::from_millis(40), SIZE, false), 0);
        assert!(!clusters.are_waiting());
        clusters.add(start, Rate::from_mbps(1.0));
        assert_eq!(clusters.on_send(start + Span::from_secs(6), SIZE, false), 0);
    }

    #[test]
    fn packets_that_arrive_at_once_show_nothing() {
        let mut clusters = Clusters::new();
        let received = Time::from_secs(9);
        clusters.add(Time::ZERO, Rate::from_mbps(1.0));
        for index in 0..5 {
            let sent = Time::from_millis(10 * index);
            let id = clusters.on_send(sent, SIZE, false);
            assert_eq!(id, 1);
            let fate =
                Fate::new(index, SIZE, sent, id, false).with(|fate| fate.received = received);
            assert_eq!(clusters.on_arrival(&fate), None);
        }
        let unknown = Fate::new(9, SIZE, Time::ZERO, 77, false);
        assert_eq!(clusters.on_arrival(&unknown), None);
    }
}
