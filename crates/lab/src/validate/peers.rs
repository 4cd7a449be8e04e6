//! Figures of peers: facts measured elsewhere, with their sources.

/// A peer's figures for one scheme on one bottleneck, 100 ms, every packet acknowledged, seconds
/// 10 to 60.
pub(super) struct OnConstant {
    /// The bottleneck in megabits per second, and its buffer in packets.
    pub(super) mbps: f64,
    pub(super) buffer: u64,
    /// The scheme here.
    pub(super) scheme: &'static str,
    /// The peer and its own name of the scheme.
    pub(super) peer: &'static str,
    pub(super) flows: u32,
    /// Megabits per second.
    pub(super) throughput: f64,
    /// The mean time from arrival until transmission starts, in milliseconds.
    pub(super) delay: f64,
    /// Jain's index, for several flows.
    pub(super) jain: Option<f64>,
}

impl OnConstant {
    /// The scheme, the number of flows if there are several, and the rate if it is not 12 Mbit/s.
    pub(super) fn name(&self) -> String {
        let mut name = self.scheme.to_string();
        if self.flows > 1 {
            name += &format!(", {} flows", self.flows);
        }
        if self.mbps != 12.0 {
            name += &format!(", {} Mbit/s", self.mbps);
        }
        name
    }
}

impl OnTrace {
    /// The scheme and the trace.
    pub(super) fn name(&self) -> String {
        format!("{} on {}", self.scheme, self.trace)
    }
}

/// On 12 Mbit/s with 250 packets.
const fn on_constant(
    scheme: &'static str,
    peer: &'static str,
    flows: u32,
    throughput: f64,
    delay: f64,
    jain: Option<f64>,
) -> OnConstant {
    OnConstant { mbps: 12.0, buffer: 250, scheme, peer, flows, throughput, delay, jain }
}

/// On 96 Mbit/s with 1600 packets.
const fn on_96(peer: OnConstant) -> OnConstant {
    OnConstant { mbps: 96.0, buffer: 1600, ..peer }
}

/// BBR as ns-3 3.37 has it: no bursts of two packets, no pacing margin, no allowance for
/// aggregated acknowledgements, no detection of policers. Linux, with all of these, is below.
const BBR_AS_NS3: &str = "bbr[min_quantum=1,pacing_margin=0,aggregation=false,policer=false]";

/// ns-3 3.37's Vegas compares the smoothed RTT with the base RTT, so that it leaves slow start
/// sooner; the paper compares the RTTs themselves.
const VEGAS_AS_NS3: &str = "vegas[rtt=smoothed]";

/// ns-3 3.37's Cubic has no Reno-friendly region yet, and leaves slow
/// start when the delay has grown by the base RTT. Windows of two dozen packets spend most of
/// their time in that region, which evens out shares and keeps the queue fuller.
const CUBIC_AS_NS3: &str = "cubic[tcp_friendliness=false,whole_packets=true,hystart=ns3]";
const PIE_AS_NS3: &str = "cubic[tcp_friendliness=false,whole_packets=true,hystart=ns3]+pie";
const CODEL_AS_NS3: &str = "cubic[tcp_friendliness=false,whole_packets=true,hystart=ns3]+codel";

/// ns-3's FQ-CoDel spares a flow's last packet; RFC 8290 and Linux the last packet of all queues.
const FQ_CODEL_AS_NS3: &str =
    "cubic[tcp_friendliness=false,whole_packets=true,hystart=ns3]+fq_codel[backlog=queue]";

/// ns-3's RED is gentle unless told otherwise: from 20 packets on, the probability rises by degrees,
/// and the queue stands a packet or two above a true step's.
const DCTCP_AS_NS3: &str = "dctcp+red[min=20,max=20,w=1,gentle=true,ecn=true,hard_drop=false]";

/// ns-3 3.37. Left out are its rows of LEDBAT, whose window does not move, and of four Cubic flows
/// over CoDel, which stay in loss recovery.
pub(super) static NS3: [OnConstant; 14] = [
    on_constant("newreno", "ns-3 TcpLinuxReno", 1, 11.984, 169.97, None),
    on_constant("newreno", "ns-3 TcpLinuxReno", 4, 11.984, 181.15, Some(0.9993)),
    on_constant(CUBIC_AS_NS3, "ns-3 TcpCubic", 1, 11.984, 201.65, None),
    on_constant(CUBIC_AS_NS3, "ns-3 TcpCubic", 4, 11.984, 208.68, Some(0.9972)),
    on_constant(VEGAS_AS_NS3, "ns-3 TcpVegas", 1, 11.984, 1.92, None),
    on_constant(VEGAS_AS_NS3, "ns-3 TcpVegas", 4, 11.984, 10.90, Some(1.0)),
    on_constant(BBR_AS_NS3, "ns-3 TcpBbr", 1, 11.635, 7.99, None),
    on_constant(BBR_AS_NS3, "ns-3 TcpBbr", 4, 11.685, 106.13, Some(0.9978)),
    on_constant(DCTCP_AS_NS3, "ns-3 TcpDctcp, RED from 20 to 20", 1, 11.984, 21.84, None),
    on_constant(CODEL_AS_NS3, "ns-3 TcpCubic, CoDel", 1, 10.964, 1.07, None),
    on_constant(PIE_AS_NS3, "ns-3 TcpCubic, PIE", 1, 11.557, 9.93, None),
    on_constant(PIE_AS_NS3, "ns-3 TcpCubic, PIE", 4, 11.866, 12.89, Some(0.9703)),
    on_constant(FQ_CODEL_AS_NS3, "ns-3 TcpCubic, FqCoDel", 1, 10.964, 1.07, None),
    on_constant(FQ_CODEL_AS_NS3, "ns-3 TcpCubic, FqCoDel", 4, 11.865, 2.71, Some(0.9998)),
];

/// ns-2 2.35: Agent/TCP/Reno/XCP over Queue/XCP.
pub(super) static NS2: [OnConstant; 4] = [
    on_constant("xcp", "ns-2 XCP", 1, 11.978, 0.27, None),
    on_constant("xcp", "ns-2 XCP", 6, 11.964, 0.63, Some(1.0)),
    on_96(on_constant("xcp", "ns-2 XCP", 1, 95.979, 0.04, None)),
    on_96(on_constant("xcp", "ns-2 XCP", 6, 95.903, 0.18, Some(1.0))),
];

/// Real Linux TCP (kernel 6.18) behind Mahimahi on a recorded trace: 50 ms each way, 250 packets,
/// 60 s, the other direction 12 Mbit/s; means of four runs.
pub(super) struct OnTrace {
    pub(super) scheme: &'static str,
    pub(super) trace: &'static str,
    pub(super) utilization: f64,
    /// The 95th percentile of the queueing delay in milliseconds.
    pub(super) p95: f64,
}

/// Cubic and BBR; Mahimahi's CoDel has a quirk of its own, see docs/metrics.md.
pub(super) static LINUX: [OnTrace; 4] = [
    OnTrace { scheme: "cubic", trace: "Verizon-LTE-short.down", utilization: 0.9901, p95: 1352.0 },
    OnTrace { scheme: "cubic", trace: "Verizon-LTE-short.up", utilization: 0.9892, p95: 908.5 },
    OnTrace { scheme: "bbr", trace: "Verizon-LTE-short.down", utilization: 0.9596, p95: 684.05 },
    OnTrace { scheme: "bbr", trace: "Verizon-LTE-short.up", utilization: 0.9557, p95: 768.7 },
];
