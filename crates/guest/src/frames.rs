//! Telemetry: reports that the guest's `/init` sends in Ethernet frames with their own EtherType
//! (PROTOCOL.md), which the simulator takes out before the network.

/// EtherType of telemetry: IEEE 802's first EtherType for local experiments.
pub const ETHER_TYPE: u16 = 0x88b5;
/// First four bytes of every report.
const MAGIC: [u8; 4] = *b"PLG1";
/// Bytes before a report's body.
const HEADER: usize = 16;
/// Longest text kept from a report, in bytes.
const LONGEST_TEXT: usize = 1400;

/// A report of the guest.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestReport {
    /// Number of the connection; `None` if the report is about the host.
    pub connection: Option<u8>,
    /// The guest's `CLOCK_MONOTONIC` in nanoseconds.
    pub time_ns: u64,
    /// Content of the report.
    pub body: Body,
}

/// Content of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The host is set up.
    Hello {
        /// Version of the protocol that `/init` speaks.
        protocol: u16,
        /// The kernel's release, as `uname -r` prints it.
        release: String,
        /// Congestion controls that the kernel has now.
        schemes: Vec<String>,
    },
    /// State of a connection.
    Sample(Sample),
    /// Final state of a connection.
    End(Sample),
    /// Failure after which the guest powers off.
    Error(String),
    /// A setting that could not be applied; the run goes on.
    Note(String),
    /// Exit status of a program that ran in place of the built-in sender or receiver.
    Exit(i32),
    /// State of a TCP socket of such a program.
    Socket(SocketSample),
    /// Text of the kernel's trace events of TCP, which lines may begin before and end behind.
    Trace(Vec<u8>),
    /// Output of such a program.
    Output(Output),
}

/// Output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// True for standard error, false for standard output.
    pub is_error: bool,
    /// Bytes that it has written so far, including these.
    pub total: u64,
    /// Further bytes; empty if `/init` keeps no more of them.
    pub bytes: Vec<u8>,
}

/// A connection's state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Bytes that the application has written (sender) or read (receiver).
    pub application_bytes: u64,
    /// State of its socket.
    pub info: TcpInfo,
    /// Bytes of `getsockopt(TCP_CC_INFO)`; empty if the congestion control has none.
    pub scheme_info: Vec<u8>,
}

/// State of a TCP socket of a program that runs in place of the built-in sender or receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SocketSample {
    /// Port of this host.
    pub local_port: u16,
    /// Port of the other host.
    pub remote_port: u16,
    /// State of the socket.
    pub info: TcpInfo,
}

/// State of a TCP socket, from `struct tcp_info`. Fields that the guest's kernel does not have are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `tcpi_ca_state`: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// `tcpi_rto`, the retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// `tcpi_snd_cwnd` in packets.
    pub cwnd: u32,
    /// `tcpi_snd_ssthresh` in packets.
    pub ssthresh: u32,
    /// `tcpi_rtt`, the smoothed RTT, in microseconds.
    pub srtt_us: u32,
    /// `tcpi_rttvar`, the RTT's smoothed deviation, in microseconds.
    pub rttvar_us: u32,
    /// `tcpi_pacing_rate` in bytes per second; `u64::MAX` without pacing.
    pub pacing_rate: u64,
    /// `tcpi_delivery_rate` in bytes per second.
    pub delivery_rate: u64,
    /// `tcpi_bytes_acked`.
    pub bytes_acked: u64,
    /// `tcpi_bytes_received`.
    pub bytes_received: u64,
    /// `tcpi_total_retrans`: segments retransmitted.
    pub retransmits: u32,
    /// `tcpi_unacked`: segments sent and not acknowledged.
    pub unacked: u32,
    /// `tcpi_lost`: segments that count as lost now.
    pub lost: u32,
    /// `tcpi_total_rto`: expiries of the retransmission timer (Linux 6.7 and later).
    pub timeouts: u16,
}

// Offsets in `struct tcp_info` (include/uapi/linux/tcp.h), to which Linux only ever appends.
const CA_STATE: usize = 1;
const RTO: usize = 8;
const UNACKED: usize = 24;
const LOST: usize = 32;
const RTT: usize = 68;
const RTTVAR: usize = 72;
const SND_SSTHRESH: usize = 76;
const SND_CWND: usize = 80;
const TOTAL_RETRANS: usize = 100;
const PACING_RATE: usize = 104;
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const DELIVERY_RATE: usize = 160;
const TOTAL_RTO: usize = 240;

/// Returns the frame that orders `/init` of the device `mac` to write `bytes` more on a connection.
pub fn order(mac: [u8; 6], connection: u8, bytes: u64) -> Vec<u8> {
    const ORDER: u8 = 32;
    let mut frame = mac.to_vec();
    frame.extend([2, 0, 0, 0, 0, 0xff]);
    frame.extend(ETHER_TYPE.to_be_bytes());
    frame.extend(MAGIC);
    frame.extend([ORDER, connection, 8, 0]);
    // The time of the frame's arrival is that of the order.
    frame.extend(0u64.to_le_bytes());
    frame.extend(bytes.to_le_bytes());
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Reads a report from the bytes after the Ethernet header. `None` if they are no valid report:
/// another program's frame, or a damaged one.
pub fn parse(payload: &[u8]) -> Option<GuestReport> {
    if payload.get(..4)? != MAGIC {
        return None;
    }
    let length = usize::from(u16_at(payload, 6)?);
    let body = payload.get(HEADER..HEADER + length)?;
    let connection = Some(*payload.get(5)?).filter(|number| *number != u8::MAX);
    let body = match payload.get(4)? {
        1 => hello(body)?,
        2 => Body::Sample(sample(body)?),
        3 => Body::End(sample(body)?),
        4 => Body::Error(text(body)),
        5 => Body::Note(text(body)),
        6 => Body::Exit(i32::from_le_bytes(body.first_chunk().copied()?)),
        7 => Body::Socket(socket(body)?),
        8 => Body::Trace(body.to_vec()),
        16 => Body::Output(Output {
            is_error: *body.first()? == 2,
            total: u64_at(body, 4)?,
            bytes: body.get(12..)?.to_vec(),
        }),
        _ => return None,
    };
    Some(GuestReport { connection, time_ns: u64_at(payload, 8)?, body })
}

fn hello(body: &[u8]) -> Option<Body> {
    let mut words = body.get(2..)?.split(|byte| *byte == 0);
    let release = text(words.next()?);
    let schemes = text(words.next()?).split_whitespace().map(str::to_string).collect();
    Some(Body::Hello { protocol: u16_at(body, 0)?, release, schemes })
}

fn sample(body: &[u8]) -> Option<Sample> {
    const FIXED: usize = 12;
    let (info_length, scheme_length) = (u16_at(body, 0)?, u16_at(body, 2)?);
    let info_end = FIXED + usize::from(info_length);
    let info = body.get(FIXED..info_end)?;
    let scheme_info = body.get(info_end..info_end + usize::from(scheme_length))?.to_vec();
    Some(Sample { application_bytes: u64_at(body, 4)?, info: TcpInfo::read(info), scheme_info })
}

fn socket(body: &[u8]) -> Option<SocketSample> {
    const FIXED: usize = 6;
    let info = body.get(FIXED..FIXED + usize::from(u16_at(body, 4)?))?;
    Some(SocketSample {
        local_port: u16_at(body, 0)?,
        remote_port: u16_at(body, 2)?,
        info: TcpInfo::read(info),
    })
}

impl TcpInfo {
    /// Reads a `struct tcp_info`, which may be shorter than Linux 6.12's.
    fn read(info: &[u8]) -> TcpInfo {
        let word = |at| u32_at(info, at).unwrap_or(0);
        let long = |at| u64_at(info, at).unwrap_or(0);
        TcpInfo {
            ca_state: info.get(CA_STATE).copied().unwrap_or(0),
            rto_us: word(RTO),
            cwnd: word(SND_CWND),
            ssthresh: word(SND_SSTHRESH),
            srtt_us: word(RTT),
            rttvar_us: word(RTTVAR),
            pacing_rate: long(PACING_RATE),
            delivery_rate: long(DELIVERY_RATE),
            bytes_acked: long(BYTES_ACKED),
            bytes_received: long(BYTES_RECEIVED),
            retransmits: word(TOTAL_RETRANS),
            unacked: word(UNACKED),
            lost: word(LOST),
            timeouts: u16_at(info, TOTAL_RTO).unwrap_or(0),
        }
    }
}

/// Converts the guest's text for errors; replaces control characters, which would control a
/// terminal.
fn text(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(LONGEST_TEXT)];
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    String::from_utf8_lossy(bytes).chars().map(shown).collect::<String>().trim().to_string()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kind: u8, connection: u8, body: &[u8]) -> Vec<u8> {
        let mut bytes = b"PLG1".to_vec();
        bytes.extend([kind, connection]);
        bytes.extend((body.len() as u16).to_le_bytes());
        bytes.extend(1_000_256u64.to_le_bytes());
        bytes.extend(body);
        // Short frames are padded.
        bytes.resize(bytes.len().max(46), 0);
        bytes
    }

    #[test]
    fn reports_are_read() {
        let hello = parse(&report(1, 255, b"\x01\x006.12.117\0cubic reno\0")).expect("a report");
        assert_eq!((hello.connection, hello.time_ns), (None, 1_000_256));
        let schemes = vec!["cubic".to_string(), "reno".to_string()];
        assert_eq!(hello.body, Body::Hello { protocol: 1, release: "6.12.117".into(), schemes });

        let mut body = vec![242, 0, 2, 0];
        body.extend(77u64.to_le_bytes());
        let mut info = [0u8; 242];
        info[SND_CWND..SND_CWND + 4].copy_from_slice(&212u32.to_le_bytes());
        info[BYTES_ACKED..BYTES_ACKED + 8].copy_from_slice(&1_434_610u64.to_le_bytes());
        info[TOTAL_RTO..TOTAL_RTO + 2].copy_from_slice(&3u16.to_le_bytes());
        body.extend(info);
        body.extend([8, 9]);
        let sample = parse(&report(2, 0, &body)).expect("a report");
        let Body::Sample(sample) = sample.body else { panic!("{sample:?}") };
        assert_eq!((sample.application_bytes, sample.info.cwnd), (77, 212));
        assert_eq!((sample.info.bytes_acked, sample.info.timeouts), (1_434_610, 3));
        assert_eq!(sample.scheme_info, [8, 9]);
        // A report of a kernel whose structure is shorter.
        let mut short = vec![84, 0, 0, 0];
        short.extend(5u64.to_le_bytes());
        short.extend(&info[..84]);
        let sample = parse(&report(3, 1, &short)).expect("a report");
        let Body::End(sample) = sample.body else { panic!("{sample:?}") };
        let TcpInfo { cwnd, bytes_acked, timeouts, .. } = sample.info;
        assert_eq!((cwnd, bytes_acked, timeouts), (212, 0, 0));

        let mut socket = [50_000u16, 5001, 242].map(u16::to_le_bytes).concat();
        socket.extend(info);
        let sample = parse(&report(7, 0, &socket)).expect("a report");
        let Body::Socket(sample) = sample.body else { panic!("{sample:?}") };
        assert_eq!((sample.local_port, sample.remote_port), (50_000, 5001));
        assert_eq!((sample.info.cwnd, sample.info.timeouts), (212, 3));
        assert_eq!(parse(&report(7, 0, &socket[..100])), None);

        let error = parse(&report(4, 255, b"pl.0.cc=foo:\x1b[2J No such file\n")).expect("one");
        assert_eq!(error.body, Body::Error("pl.0.cc=foo: [2J No such file".into()));
        let output = parse(&report(16, 1, b"\x02\0\0\0\x05\0\0\0\0\0\0\0no\n"));
        let expected = Output { is_error: true, total: 5, bytes: b"no\n".to_vec() };
        assert_eq!(output.map(|it| it.body), Some(Body::Output(expected)));
        let trace = parse(&report(8, 255, b"1.5: tcp_probe: "));
        assert_eq!(trace.map(|it| it.body), Some(Body::Trace(b"1.5: tcp_probe: ".to_vec())));
        assert_eq!(parse(&report(6, 0, &7i32.to_le_bytes())).map(|r| r.body), Some(Body::Exit(7)));
    }

    #[test]
    fn broken_reports_are_none() {
        let whole = report(2, 0, &[200; 60]);
        assert_eq!(parse(&whole), None);
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), None);
        }
        assert_eq!(parse(&report(9, 0, b"")), None);
        assert_eq!(parse(&report(1, 0, b"\x01\x00no end")), None);
        assert_eq!(parse(b"PLG2"), None);
    }
}
