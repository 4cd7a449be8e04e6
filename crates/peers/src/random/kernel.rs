//! Plays trials against this machine's kernel. The kernel's sockets send through a TUN device in a
//! network namespace; behind it, this process is the path and the receiver of many connections at
//! once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, IoSlice, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use paceline_cc::Span;
use paceline_os::RealTimeError;
use paceline_os::route::Links;
use paceline_os::tcp_info::tcp_info;
use paceline_os::{Tun, TunOptions, namespace};

use super::files::Files;
use super::path::Path;
use super::receiver::{Answer, Data, Receiver};
use super::segment::{ACK, CWR, ECE, RST, SYN, Segment};
use super::ticks::TickClock;
use super::trial::{Control, MSS, Trial};

/// Address of the kernel's host, and the port on which each congestion control listens.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CUBIC_PORT: u16 = 5000;
const RENO_PORT: u16 = 5001;
const REMOTE_PORT: u16 = 40_000;
/// Latest end of a trial: this long after its SYN, and `LINGER` after all of its data was
/// acknowledged.
const LONGEST: Span = Span::from_secs(20);
const LINGER: Span = Span::from_millis(300);
/// Time between the starts of two trials.
const STAGGER: Duration = Duration::from_millis(9);
/// Longest time for the kernel to hand over an established connection.
const PATIENCE: Duration = Duration::from_millis(500);
/// Bytes of the timestamp option, which reduce the data of a segment.
const TIMESTAMP_SIZE: u16 = 12;

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Syn,
    Established,
    Write(u64),
    Arrival(Data),
    DelayedAck,
    End,
}

/// A connection that is being recorded.
struct Connection<'a> {
    trial: &'a Trial,
    remote: Ipv4Addr,
    begun: Instant,
    /// First sequence number and timestamp of the kernel.
    first: Option<(u32, u32)>,
    socket: Option<TcpStream>,
    path: Path,
    receiver: Receiver,
    acks: u32,
    files: Files,
    ended: bool,
}

/// Puts this process into a network namespace of its own, in which the kernel's TCP has Linux'
/// defaults.
///
/// # Errors
/// The kernel refused an operation.
pub fn prepare() -> Result<(), RealTimeError> {
    namespace::enter_own_network_and_mounts()?;
    let settings = [
        ("tcp_no_metrics_save", "1"),
        ("tcp_ecn", "2"),
        ("tcp_timestamps", "1"),
        ("tcp_slow_start_after_idle", "1"),
        ("tcp_wmem", "4096 16777216 67108864"),
        ("tcp_rmem", "4096 131072 6291456"),
    ];
    for (name, value) in settings {
        let path = format!("/proc/sys/net/ipv4/{name}");
        std::fs::write(&path, value).map_err(RealTimeError::system(path))?;
    }
    Ok(())
}

/// Plays `trials` in parallel, and returns a script and a recording for each. Call [`prepare`]
/// before.
///
/// # Errors
/// The kernel refused an operation, or ended a connection.
pub fn record(trials: &[Trial]) -> Result<Vec<Files>, RealTimeError> {
    let mut tun = Tun::open(&TunOptions::new("trials"))?;
    let mut links = Links::open()?;
    let index = links.index("trials")?;
    links.add_network(index, HOST.into(), 8)?;
    let cubic = listen(Control::Cubic, CUBIC_PORT)?;
    let reno = listen(Control::Reno, RENO_PORT)?;
    let start = Instant::now() + Duration::from_millis(50);
    let connections = trials.iter().enumerate().map(|(index, trial)| Connection {
        trial,
        // The kernel caches metrics per address, so each trial has its own.
        remote: Ipv4Addr::from(u32::from(HOST) + 256 + index as u32),
        begun: start + STAGGER * index as u32,
        first: None,
        socket: None,
        path: Path::default(),
        receiver: Receiver::new(trial.ack_every, trial.timestamps),
        acks: 0,
        files: Files::new(trial),
        ended: false,
    });
    let mut run = Run {
        connections: connections.collect(),
        by_remote: HashMap::new(),
        events: BinaryHeap::new(),
        pending: Vec::new(),
        listeners: [cubic, reno],
        ticks: TickClock::read()?,
    };
    for (index, connection) in run.connections.iter().enumerate() {
        run.by_remote.insert(connection.remote, index);
    }
    for index in 0..run.connections.len() {
        run.schedule(index, Span::ZERO, Event::Syn);
    }
    run.all(&mut tun)?;
    Ok(run.connections.into_iter().map(|connection| connection.files).collect())
}

fn listen(control: Control, port: u16) -> Result<TcpListener, RealTimeError> {
    let fail = |error: io::Error| RealTimeError::system(format!("listening on port {port}"))(error);
    let listener = TcpListener::bind((HOST, port)).map_err(fail)?;
    let name = control.name();
    setsockopt(&listener, sockopt::TcpCongestion, &name.into())
        .map_err(|error| RealTimeError::Message(format!("congestion control `{name}`: {error}")))?;
    listener.set_nonblocking(true).map_err(fail)?;
    Ok(listener)
}

struct Run<'a> {
    connections: Vec<Connection<'a>>,
    by_remote: HashMap<Ipv4Addr, usize>,
    /// Times of the events, with their indices in `pending`.
    events: BinaryHeap<Reverse<(Instant, usize)>>,
    pending: Vec<(usize, Event)>,
    listeners: [TcpListener; 2],
    ticks: TickClock,
}

impl Run<'_> {
    /// Schedules an event of connection `index`; `time` counts from its SYN.
    fn schedule(&mut self, index: usize, time: Span, event: Event) {
        let time = self.connections[index].begun + Duration::from_nanos(time.as_nanos());
        self.events.push(Reverse((time, self.pending.len())));
        self.pending.push((index, event));
    }

    fn all(&mut self, tun: &mut Tun) -> Result<(), RealTimeError> {
        let mut buffer = vec![0; 2048];
        while self.connections.iter().any(|connection| !connection.ended) {
            while let Ok(length) = tun.read(&mut buffer) {
                self.on_packet(Instant::now(), &buffer[..length])?;
            }
            let now = Instant::now();
            match self.events.peek() {
                Some(Reverse((time, _))) if *time <= now => {
                    let Some(Reverse((_, at))) = self.events.pop() else { continue };
                    let (index, event) = self.pending[at].clone();
                    if !self.connections[index].ended {
                        self.happen(index, event, tun)?;
                    }
                }
                next => {
                    let wait = next.map_or(Duration::from_millis(100), |next| next.0.0 - now);
                    let mut fds = [PollFd::new(tun.as_fd(), PollFlags::POLLIN)];
                    let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(wait)), None);
                }
            }
        }
        Ok(())
    }

    /// Processes a packet from the kernel.
    fn on_packet(&mut self, now: Instant, packet: &[u8]) -> Result<(), RealTimeError> {
        let Some(segment) = Segment::read(packet) else { return Ok(()) };
        let Some(&index) = self.by_remote.get(&segment.to.0) else { return Ok(()) };
        let connection = &mut self.connections[index];
        if connection.ended {
            return Ok(());
        }
        let time = span(now.saturating_duration_since(connection.begun));
        let name = &connection.trial.name;
        if segment.flags & RST != 0 {
            return Err(RealTimeError::Message(format!("{name}: the kernel reset the connection")));
        }
        if segment.flags & SYN != 0 {
            if connection.first.is_none() {
                let timestamp = segment.timestamp.unwrap_or_default().0;
                connection.first = Some((segment.sequence, timestamp));
                connection.receiver.on_handshake(timestamp);
                connection.files.syn_ack(time, segment.flags & ECE != 0);
                let rtt = connection.trial.rtt;
                self.schedule(index, time + rtt, Event::Established);
            }
            return Ok(());
        }
        let Some((first, _)) = connection.first else { return Ok(()) };
        if segment.length == 0 {
            return Ok(());
        }
        let from = u64::from(segment.sequence.wrapping_sub(first));
        let range = (from, from + segment.length as u64);
        connection.files.sent(time, range);
        if let Some(arrival) = connection.path.carry(connection.trial, time, range.0) {
            let timestamp = segment.timestamp.unwrap_or_default().0;
            let cwr = segment.flags & CWR != 0;
            let data = Data { range, timestamp, marked: arrival.marked, cwr };
            self.schedule(index, arrival.time, Event::Arrival(data));
        }
        Ok(())
    }

    fn happen(&mut self, index: usize, event: Event, tun: &mut Tun) -> Result<(), RealTimeError> {
        let connection = &mut self.connections[index];
        match event {
            Event::Syn => {
                connection.begun = Instant::now();
                let trial = connection.trial;
                let mss = MSS as u16 + if trial.timestamps { TIMESTAMP_SIZE } else { 0 };
                let flags = SYN | if trial.ecn { ECE | CWR } else { 0 };
                connection.files.syn(mss);
                connection.files.uptime(self.ticks.uptime(connection.begun));
                connection.inject(tun, flags, 0, &Answer::default(), Some(mss))?;
            }
            Event::Established => {
                let answer = Answer { ack: 1, echo: connection.echo(), ..Answer::default() };
                connection.answer(tun, &answer)?;
                let accepted = self.accept(index)?;
                self.connections[index].socket = Some(accepted);
                let trial = self.connections[index].trial;
                let now = self.connections[index].now();
                for (time, segments) in &trial.writes {
                    self.schedule(index, now + *time, Event::Write(*segments));
                }
                self.schedule(index, LONGEST, Event::End);
            }
            Event::Write(segments) => connection.write(segments * MSS)?,
            Event::Arrival(data) => {
                let now = connection.now();
                match connection.receiver.on_data(now, &data) {
                    Some(answer) => self.on_answer(index, &answer, tun)?,
                    None => {
                        let due = connection.receiver.due().unwrap_or(now);
                        self.schedule(index, due, Event::DelayedAck);
                    }
                }
            }
            Event::DelayedAck => {
                if connection.receiver.due().is_some_and(|due| due <= connection.now()) {
                    let answer = connection.receiver.on_timer();
                    self.on_answer(index, &answer, tun)?;
                }
            }
            Event::End => connection.end(),
        }
        Ok(())
    }

    /// Processes an acknowledgement of the receiver.
    fn on_answer(
        &mut self,
        index: usize,
        answer: &Answer,
        tun: &mut Tun,
    ) -> Result<(), RealTimeError> {
        let connection = &mut self.connections[index];
        let number = connection.acks;
        connection.acks += 1;
        if connection.trial.lost_acks.contains(&number) {
            return Ok(());
        }
        connection.answer(tun, answer)?;
        let end = 1 + connection.trial.segments() * MSS;
        if answer.ack == end {
            let now = connection.now();
            self.schedule(index, now + LINGER, Event::End);
        }
        Ok(())
    }

    /// Accepts the kernel's socket of connection `index`.
    fn accept(&self, index: usize) -> Result<TcpStream, RealTimeError> {
        let connection = &self.connections[index];
        let listener = match connection.trial.control {
            Control::Cubic => &self.listeners[0],
            Control::Reno => &self.listeners[1],
        };
        let fail = |error: io::Error| RealTimeError::system(connection.trial.name.clone())(error);
        let until = Instant::now() + PATIENCE;
        loop {
            match listener.accept() {
                Ok((stream, SocketAddr::V4(peer))) if *peer.ip() == connection.remote => {
                    stream.set_nodelay(true).map_err(fail)?;
                    stream.set_nonblocking(true).map_err(fail)?;
                    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
                    setsockopt(&stream, sockopt::Linger, &linger)
                        .map_err(|error| fail(error.into()))?;
                    return Ok(stream);
                }
                Ok((_, peer)) => {
                    return Err(RealTimeError::Message(format!("{peer} connected out of turn")));
                }
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until =>
                {
                    thread::yield_now();
                }
                Err(error) => return Err(fail(error)),
            }
        }
    }
}

impl Connection<'_> {
    /// Returns the time since the SYN.
    fn now(&self) -> Span {
        span(self.begun.elapsed())
    }

    /// Returns the kernel's timestamp in its SYN-ACK.
    fn echo(&self) -> u32 {
        self.first.unwrap_or_default().1
    }

    /// Gives the kernel an acknowledgement, and records it with the kernel's state.
    fn answer(&mut self, tun: &mut Tun, answer: &Answer) -> Result<(), RealTimeError> {
        let time = self.now();
        let flags = ACK | if answer.ece { ECE } else { 0 };
        self.inject(tun, flags, 1, answer, None)?;
        let echo = answer.echo.wrapping_sub(self.echo());
        self.files.acknowledgement(time, answer, echo);
        self.note_state()
    }

    fn write(&mut self, bytes: u64) -> Result<(), RealTimeError> {
        let time = self.now();
        let name = &self.trial.name;
        let Some(socket) = &mut self.socket else { return Ok(()) };
        let written =
            socket.write(&vec![0; bytes as usize]).map_err(RealTimeError::system(name))?;
        if written as u64 != bytes {
            return Err(RealTimeError::Message(format!(
                "{name}: the socket took {written} of {bytes} bytes"
            )));
        }
        self.files.write(time, bytes);
        self.note_state()
    }

    fn note_state(&mut self) -> Result<(), RealTimeError> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let info = tcp_info(socket).map_err(RealTimeError::system(&self.trial.name))?;
        self.files.state(&info);
        Ok(())
    }

    /// Gives the kernel a segment from the other end.
    fn inject(
        &self,
        tun: &mut Tun,
        flags: u8,
        sequence: u32,
        answer: &Answer,
        mss: Option<u16>,
    ) -> Result<(), RealTimeError> {
        let (first, _) = self.first.unwrap_or_default();
        let absolute = |sequence: u64| first.wrapping_add(sequence as u32);
        let port = match self.trial.control {
            Control::Cubic => CUBIC_PORT,
            Control::Reno => RENO_PORT,
        };
        let clock = 1 + self.begun.elapsed().as_millis() as u32;
        let segment = Segment {
            from: (self.remote, REMOTE_PORT),
            to: (HOST, port),
            sequence,
            ack: if flags & ACK == 0 { 0 } else { absolute(answer.ack) },
            flags,
            length: 0,
            timestamp: self.trial.timestamps.then_some((clock, answer.echo)),
            mss,
            sacks: answer.sacks.iter().map(|sack| (absolute(sack.0), absolute(sack.1))).collect(),
        };
        tun.write(&[IoSlice::new(&segment.write())])
            .map(|_| ())
            .map_err(RealTimeError::system(&self.trial.name))
    }

    /// Resets the connection.
    fn end(&mut self) {
        self.ended = true;
        self.socket = None;
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(duration.as_nanos() as u64)
}
