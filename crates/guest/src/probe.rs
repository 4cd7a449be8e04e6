//! Events of a host's TCP sockets, from the text of the kernel's trace events (PROTOCOL.md).

use std::collections::BTreeMap;

use paceline_cc::{Span, Time};
use paceline_sim::{TcpEvent, TcpEventKind, TcpProbe, TcpValues};

use crate::guest::ORIGIN;
use crate::host;

/// Longest line that is kept, in bytes; trace events of TCP have about 300.
const LONGEST_LINE: usize = 4096;
/// Most sockets whose first sequence numbers are kept.
const MOST_SOCKETS: usize = 65_536;

/// The events of one host.
#[derive(Debug)]
pub(crate) struct Probe {
    to: TcpProbe,
    is_sender: bool,
    host: String,
    /// Names of the flows, in the order of their connections.
    flows: Vec<String>,
    /// Begin of a line whose rest has not come.
    line: Vec<u8>,
    /// Sockets, by their ports at this host and at its peer.
    sockets: BTreeMap<(u16, u16), Socket>,
}

/// State of a socket that the trace events do not repeat.
#[derive(Debug, Default)]
struct Socket {
    ca_state: Option<u8>,
    /// Sequence number of the first event's `snd_una`, and the distance of the latest one from it.
    first: Option<u32>,
    acknowledged: u64,
}

/// One line of the kernel's `trace_pipe`.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    time: Time,
    event: &'a str,
    fields: &'a str,
}

impl<'a> Line<'a> {
    /// Reads `NAME-PID [CPU] FLAGS SECONDS.MICROSECONDS: EVENT: FIELDS`. `None` for other lines.
    fn read(line: &'a str) -> Option<Line<'a>> {
        let (head, fields) = line.split_once(": tcp_")?;
        let (seconds, micros) = head.rsplit(' ').next()?.split_once('.')?;
        let micros = micros.parse::<u64>().ok().filter(|_| micros.len() == 6)?;
        let nanos = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)? + micros * 1000;
        let (event, fields) = fields.split_once(": ")?;
        Some(Line { time: Time::from_nanos(nanos.checked_sub(ORIGIN)?), event, fields })
    }

    fn field(&self, name: &str) -> Option<&'a str> {
        self.fields.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    fn number<T: TryFrom<u64>>(&self, name: &str) -> Option<T> {
        let text = self.field(name)?;
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.ok()?.try_into().ok()
    }

    /// Returns the port of an address such as `10.0.0.1:5001`.
    fn port(&self, name: &str) -> Option<u16> {
        self.field(name)?.rsplit_once(':')?.1.parse().ok()
    }
}

impl Probe {
    /// Creates the probe of a host whose connections are those of `flows`.
    pub(crate) fn new(to: TcpProbe, host: &str, is_sender: bool, flows: Vec<String>) -> Probe {
        let (line, sockets) = (Vec::new(), BTreeMap::new());
        Probe { to, is_sender, host: host.into(), flows, line, sockets }
    }

    /// Adds text, and passes on the events whose lines are complete.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end]);
            let line = std::mem::take(&mut self.line);
            self.on_line(&String::from_utf8_lossy(&line));
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    fn keep(&mut self, part: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn on_line(&mut self, line: &str) {
        if let Some((_, lost)) = line.split_once("[LOST ") {
            let lost = lost.split(' ').next().and_then(|number| number.parse().ok());
            self.to.on_lost(&self.host, lost.unwrap_or(1));
        } else if let Some(line) = Line::read(line) {
            // A line that lacks a field is of a kernel that has other ones; there is nothing to report.
            let _ = self.on_event(&line);
        }
    }

    fn on_event(&mut self, line: &Line<'_>) -> Option<()> {
        let ports = match line.event {
            "probe" => (line.port("src")?, line.port("dest")?),
            _ => (line.number("sport")?, line.number("dport")?),
        };
        if self.sockets.len() >= MOST_SOCKETS && !self.sockets.contains_key(&ports) {
            self.sockets.clear();
        }
        let socket = self.sockets.entry(ports).or_default();
        let kind = match line.event {
            "probe" => TcpEventKind::Received(values(line, socket)?),
            "retransmit_skb" => TcpEventKind::Retransmit,
            "cong_state_set" => {
                socket.ca_state = Some(line.number("cong_state")?);
                TcpEventKind::State
            }
            _ => return None,
        };
        let number = host::number_of([ports.0, ports.1], self.flows.len());
        self.to.on_event(TcpEvent {
            flow: self.flows.get(number)?,
            is_sender: self.is_sender,
            time: line.time,
            local_port: ports.0,
            remote_port: ports.1,
            ca_state: socket.ca_state,
            kind,
        });
        Some(())
    }
}

/// Reads the values of the event `tcp_probe`.
fn values(line: &Line<'_>, socket: &mut Socket) -> Option<TcpValues> {
    let (una, next): (u32, u32) = (line.number("snd_una")?, line.number("snd_nxt")?);
    let first = *socket.first.get_or_insert(una);
    // Sequence numbers wrap around; acknowledgements only advance.
    let ahead = una.wrapping_sub(first.wrapping_add(socket.acknowledged as u32));
    socket.acknowledged += u64::from(ahead);
    let ssthresh: u32 = line.number("ssthresh")?;
    let srtt: u64 = line.number("srtt")?;
    Some(TcpValues {
        data_bytes: line.number("data_len")?,
        cwnd: line.number("snd_cwnd")?,
        // Linux' value for "no threshold" is 2³¹ - 1.
        ssthresh: Some(ssthresh).filter(|packets| *packets < i32::MAX as u32),
        srtt: Span::from_micros(srtt),
        snd_una: socket.acknowledged,
        snd_nxt: socket.acknowledged + u64::from(next.wrapping_sub(una)),
        snd_wnd: line.number("snd_wnd")?,
        rcv_wnd: line.number("rcv_wnd")?,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use paceline_sim::TcpObserver;

    use super::*;

    type Seen = (String, u64, (u16, u16), Option<u8>, TcpEventKind);

    #[derive(Default)]
    struct Kept {
        events: Mutex<Vec<Seen>>,
        lost: Mutex<u64>,
    }

    impl TcpObserver for Kept {
        fn on_event(&self, event: TcpEvent<'_>) {
            let TcpEvent { flow, time, local_port, remote_port, ca_state, kind, .. } = event;
            let ports = (local_port, remote_port);
            let seen = (flow.to_string(), time.as_nanos(), ports, ca_state, kind);
            self.events.lock().expect("a lock").push(seen);
        }
        fn on_lost(&self, _host: &str, events: u64) {
            *self.lost.lock().expect("a lock") += events;
        }
    }

    fn probe() -> (Probe, Arc<Kept>) {
        let kept = Arc::new(Kept::default());
        let to = TcpProbe::new(Arc::clone(&kept) as Arc<dyn TcpObserver>);
        (Probe::new(to, "big.sender", true, vec!["one".into(), "two".into()]), kept)
    }

    /// Lines of Linux 6.12.
    const TEXT: &str = "\
          <idle>-0       [000] ..s.. 1.100512: tcp_probe: family=AF_INET src=10.0.0.1:46634 dest=10.0.0.2:5002 mark=0 \
data_len=0 snd_nxt=0xfffffff0 snd_una=0xffffff00 snd_cwnd=10 ssthresh=2147483647 snd_wnd=65160 srtt=100512 rcv_wnd=64256 \
sock_cookie=1 skbaddr=00000000c6b7a9f0 skaddr=000000003df7d9a5\n\
            init-1       [000] ..s.. 1.100600: tcp_cong_state_set: family=AF_INET sport=46634 dport=5002 saddr=10.0.0.1 \
daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=3\n\
CPU:0 [LOST 12 EVENTS]\n\
          <idle>-0       [000] ..s.. 1.100601: tcp_retransmit_skb: skbaddr=000000003df7d9a5 skaddr=00000000c6b7a9f0 \
family=AF_INET sport=46634 dport=5002 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 \
state=TCP_ESTABLISHED\n\
          <idle>-0       [000] ..s.. 1.200000: tcp_probe: family=AF_INET src=10.0.0.1:46634 dest=10.0.0.2:5002 mark=0 \
data_len=7 snd_nxt=0x200 snd_una=0x100 snd_cwnd=5 ssthresh=7 snd_wnd=65160 srtt=100000 rcv_wnd=64256 sock_cookie=1\n";

    #[test]
    fn events_are_read_in_pieces_of_any_length() {
        for length in [1, 7, 100, 5000] {
            let (mut probe, kept) = probe();
            TEXT.as_bytes().chunks(length).for_each(|part| probe.add(part));
            let events = kept.events.lock().expect("a lock");
            let values = TcpValues {
                data_bytes: 0,
                cwnd: 10,
                ssthresh: None,
                srtt: Span::from_micros(100_512),
                snd_una: 0,
                snd_nxt: 0xf0,
                snd_wnd: 65_160,
                rcv_wnd: 64_256,
            };
            let after = TcpValues {
                data_bytes: 7,
                cwnd: 5,
                ssthresh: Some(7),
                srtt: Span::from_millis(100),
                snd_una: 0x200,
                snd_nxt: 0x300,
                ..values
            };
            let seen = |micros: u64, state, kind| {
                ("two".to_string(), micros * 1000, (46_634, 5002), state, kind)
            };
            let wanted = [
                seen(100_512, None, TcpEventKind::Received(values)),
                seen(100_600, Some(3), TcpEventKind::State),
                seen(100_601, Some(3), TcpEventKind::Retransmit),
                seen(200_000, Some(3), TcpEventKind::Received(after)),
            ];
            assert_eq!(*events, wanted);
            assert_eq!(*kept.lost.lock().expect("a lock"), 12);
        }
    }

    #[test]
    fn other_lines_do_no_harm() {
        let (mut probe, kept) = probe();
        for end in 0..TEXT.len() {
            probe.add(&TEXT.as_bytes()[end..]);
            probe.add(b"\n: tcp_probe: \n0.1: tcp_x: sport=1 dport=2\n99999999999999999999.000001: tcp_x: \n");
        }
        probe.add(&[b'x'; 3 * LONGEST_LINE]);
        assert!(probe.line.len() <= LONGEST_LINE);
        assert!(!kept.events.lock().expect("a lock").is_empty());
    }
}
