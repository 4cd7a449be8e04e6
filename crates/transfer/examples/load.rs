//! Load tests of servers over UDP: many concurrent connections, and datagrams of attackers.
//!
//! - `load connections [N] [SECONDS] [LOOPS]`: N concurrent senders, each at 100 kbit/s, to a
//!   server with LOOPS event loops. Prints the server's memory and processor time per connection,
//!   and whether all data has arrived.
//! - `load abuse [N] [recv|tunnel]`: N datagrams that are forged, replayed, truncated or reflected.
//!   Prints what the server has accepted, and its memory and processor time. The server is that of
//!   `paceline recv` or that of `paceline tunnel`, which needs the right to create a TUN device:
//!   `unshare --net load abuse N tunnel`.
//!
//! The server is a separate process (`load serve`), so that its memory and processor time can be
//! measured.
#![allow(clippy::print_stdout, missing_docs)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use paceline_cc::{Ecn, Rate, Span, Stream, Time};
use paceline_flow::Workload;
use paceline_os::udp::Socket;
use paceline_transfer::tunnel;
use paceline_transfer::udp::{ClientOptions, Event, ServerOptions, Source, Target, send, serve};
use paceline_wire::key::{Identity, Key};
use paceline_wire::{Connection, Initiator, Limits, Offer, ServerLimits, Service, Sink};

const USAGE: &str = "load connections [N] [SECONDS] [LOOPS] | load abuse [N] [recv|tunnel]";

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| match words.get(at) {
        Some(word) => word.parse::<u64>(),
        None => Ok(usual),
    };
    match words.first().map(String::as_str) {
        Some("serve") if words.get(1).is_some_and(|word| word == "tunnel") => serve_tunnel(),
        Some("serve") => serve_here(usize::try_from(number(2, 1)?)?.try_into()?),
        Some("connections") => connections(number(1, 1000)?, number(2, 10)?, number(3, 1)?),
        Some("abuse") => match words.get(2).map_or("recv", String::as_str) {
            "recv" => abuse(number(1, 10_000_000)?, Service::Stream),
            "tunnel" => abuse(number(1, 10_000_000)?, Service::Datagrams),
            _ => Err(USAGE.into()),
        },
        _ => Err(USAGE.into()),
    }
}

fn serve_here(loops: NonZeroUsize) -> Result<(), Failure> {
    let identity = Identity::generate()?;
    println!("{}", identity.key());
    let mut limits = ServerLimits::default();
    limits.each.idle = Span::from_secs(60);
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = ServerOptions {
        listen,
        identity,
        clients: None,
        outlives_hangup: false,
        limits,
        loops,
        realtime: false,
        target: Target::Nowhere,
        outside_links: false,
        disk: paceline_transfer::udp::DiskLimits::default(),
        once: false,
        qlog: None,
        series: false,
        progress: None,
    };
    serve(&options, &mut |event| match event {
        Event::Listening(at) => println!("{at}"),
        Event::Stopping(stats) => println!("{} {}", stats.accepted, stats.ignored),
        _ => {}
    })?;
    Ok(())
}

/// The device of the tunnel, and an IPv4 packet to it from a client's address.
const DEVICE: &str = "load0";

fn inner_packet() -> Vec<u8> {
    let mut packet = vec![0; 1000];
    packet[..20].copy_from_slice(&[
        0x45, 0, 3, 232, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1,
    ]);
    packet
}

fn serve_tunnel() -> Result<(), Failure> {
    let identity = Identity::generate()?;
    println!("{}", identity.key());
    let mut limits = ServerLimits::default();
    limits.each.idle = Span::from_secs(60);
    let (addresses, routes) = (vec![tunnel::Prefix::parse("10.77.0.1/24")?], Vec::new());
    let device = tunnel::DeviceOptions { name: DEVICE.into(), addresses, routes, offload: true };
    let listen = SocketAddr::from(([0, 0, 0, 0], 5312));
    let (clients, once) = (None, false);
    let options = tunnel::ServerOptions {
        listen,
        identity,
        limits,
        device,
        clients,
        once,
        loops: NonZeroUsize::MIN,
        outlives_hangup: false,
    };
    tunnel::server(&options, &mut |event| match event {
        tunnel::Event::Listening(_) => println!("127.0.0.1:5312"),
        tunnel::Event::Stopping(stats) => println!("{} {}", stats.accepted, stats.ignored),
        _ => {}
    })?;
    Ok(())
}

/// Returns the number of packets that have left the tunnel.
fn out_of_tunnel() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/net/dev").ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("load0:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A server in a separate process.
struct Server {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    key: Key,
    at: SocketAddr,
}

impl Server {
    fn start(kind: &str, loops: u64) -> Result<Server, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child =
            command.args(["serve", kind, &loops.to_string()]).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let key = Key::parse(line.trim())?;
        line.clear();
        lines.read_line(&mut line)?;
        let at = line.trim().parse()?;
        Ok(Server { child, lines, key, at })
    }

    fn proc(&self, file: &str) -> Result<String, Failure> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?)
    }

    /// Returns the memory in use, in bytes.
    fn memory(&self) -> Result<u64, Failure> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: u64 = line.ok_or("no VmRSS")?.trim_end_matches("kB").trim().parse()?;
        Ok(kib << 10)
    }

    /// Returns the processor time so far, in seconds. The kernel's resolution is 10 ms.
    fn cpu(&self) -> Result<f64, Failure> {
        let stat = self.proc("stat")?;
        let rest = stat.rsplit(')').next().unwrap_or_default();
        let ticks = rest.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        Ok(ticks.sum::<Result<f64, _>>()? / 100.0)
    }

    /// Ends the server. Returns the handshakes that it answered and the datagrams that it ignored.
    fn stop(mut self) -> Result<(u64, u64), Failure> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest)?;
        self.child.wait()?;
        let mut numbers = rest.split_whitespace().map(str::parse::<u64>);
        let mut next = || numbers.next().ok_or("no counters");
        Ok((next()??, next()??))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connections(count: u64, seconds: u64, loops: u64) -> Result<(), Failure> {
    let server = Server::start("recv", loops)?;
    let before = server.memory()?;
    let start = Instant::now();
    let rate = Rate::from_bps(100_000);
    let client = |server: &Server, seed: u64| ClientOptions {
        to: vec![server.at],
        key: server.key.clone(),
        offer: Offer {
            service: Service::Filler,
            scheme: "cubic".into(),
            mtu: 1500,
            window: 32 << 20,
            ..Offer::default()
        },
        limits: Limits {
            workload: Workload::Limited { rate, message: 1500 },
            stop: Span::from_secs(seconds),
            idle: Span::from_secs(60),
            silence: Span::from_secs(60),
            seed,
            ..Limits::default()
        },
        source: Source::Packets,
        retry: Span::ZERO,
        name: None,
        events: None,
        qlog: None,
        series: false,
        waits_for_server: false,
        abandons: false,
        limit: None,
        progress: None,
        listen: None,
        gate: None,
    };
    let threads: Vec<_> = (0..count)
        .map(|seed| {
            let options = client(&server, seed);
            let builder = thread::Builder::new().stack_size(256 << 10);
            builder.spawn(move || send(&options))
        })
        .collect::<Result<_, _>>()?;
    thread::sleep(Duration::from_secs(seconds).saturating_sub(Duration::from_millis(500)));
    let (during, cpu) = (server.memory()?, server.cpu()?);
    let measured = start.elapsed().as_secs_f64();
    let (mut done, mut sent, mut arrived) = (0u64, 0, 0);
    for thread in threads {
        match thread.join() {
            Ok(Ok(finished)) => {
                done += 1;
                sent += finished.sent.sent;
                arrived += finished.summary.packets;
            }
            Ok(Err(error)) => println!("a sender: {error}"),
            Err(_) => println!("a sender has panicked"),
        }
    }
    let (accepted, _) = server.stop()?;
    let each = (during.saturating_sub(before)) as f64 / count as f64;
    println!("connections: {accepted} accepted, {done} of {count} told by the server what arrived");
    println!("packets: {sent} sent, {arrived} arrived");
    println!("server's memory: {before} bytes without, {during} with; {each:.0} per connection");
    println!("server's processor time: {cpu:.2} s in {measured:.1} s");
    Ok(())
}

/// A sink that discards everything.
struct DiscardingSink;
impl Sink for DiscardingSink {}

/// Records all datagrams of a connection, in both directions.
fn record(server: &Server, service: Service) -> Result<Vec<Vec<u8>>, Failure> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    let start = Instant::now();
    let now = || Time::from_nanos(start.elapsed().as_nanos() as u64);
    let datagrams = service == Service::Datagrams;
    let scheme = String::from("cubic");
    let back = if datagrams { scheme.clone() } else { String::new() };
    let offer = Offer { service, scheme, back, mtu: 1280, window: 1 << 20, ..Offer::default() };
    let inner = inner_packet();
    let mut initiator = Initiator::new(now(), &server.key, server.at, offer, Limits::default())?;
    let mut connection: Option<Connection> = None;
    let (mut place, mut record) = (vec![0; 65_536], Vec::new());
    while start.elapsed() < Duration::from_secs(2) {
        if let Some(connection) = &mut connection {
            if !datagrams {
                connection.write(&[7; 5000]);
            } else if connection.waiting_datagrams() < 4 {
                connection.write_datagram(&inner);
            }
            while let Some(out) = connection.transmit(now(), &mut place) {
                socket.send_to(&place[..out.length], server.at)?;
                record.push(place[..out.length].to_vec());
            }
        } else if let Some(length) = initiator.transmit(now(), &mut place)? {
            socket.send_to(&place[..length], server.at)?;
            record.push(place[..length].to_vec());
        }
        let Ok((length, from)) = socket.recv_from(&mut place) else { continue };
        record.push(place[..length].to_vec());
        match &mut connection {
            Some(connection) => {
                connection.on_datagram(
                    now(),
                    from,
                    Ecn::NotEct,
                    &mut place[..length],
                    &mut DiscardingSink,
                );
            }
            None => connection = initiator.on_datagram(now(), &place[..length])?,
        }
        if record.len() > 3000 {
            break;
        }
    }
    // The connection is not closed, so that the server still has it during the replay.
    Ok(record)
}

/// Datagrams per group, and their size in bytes.
const GROUP: usize = 40;
const SIZE: usize = 1252;

fn abuse(count: u64, service: Service) -> Result<(), Failure> {
    let server = Server::start(if service == Service::Datagrams { "tunnel" } else { "recv" }, 1)?;
    let record = record(&server, service)?;
    thread::sleep(Duration::from_millis(300));
    let through = out_of_tunnel();
    let other = Identity::generate()?;
    let offer = Offer { scheme: "cubic".into(), mtu: 1280, ..Offer::default() };
    let mut foreign = vec![0; SIZE];
    Initiator::new(Time::ZERO, other.key(), server.at, offer, Limits::default())?
        .transmit(Time::ZERO, &mut foreign)?;
    let mut socket = Socket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let mut random = Stream::new(1, "abuse");
    let (before, cpu, start) = (server.memory()?, server.cpu()?, Instant::now());
    let (mut sent, mut group) = (0u64, vec![0; GROUP * SIZE]);
    while sent < count {
        for place in group.chunks_exact_mut(SIZE) {
            let kind = random.below(4);
            let old = &record[random.below(record.len() as u64) as usize];
            let from: &[u8] = if kind == 0 { &foreign } else { old };
            let length = from.len().min(SIZE);
            place[..length].copy_from_slice(&from[..length]);
            place[length..].fill(0);
            match kind {
                // Replace half of the datagrams of a foreign key by random bytes after a valid
                // first byte.
                0 if random.chance(0.5) => {
                    place[1..64].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
                    place[0] = [0x91, 0x92, 0x93, 0x41][random.below(4) as usize];
                }
                // Recorded datagrams with one changed bit; the other cases replay them unchanged,
                // of both directions.
                1 => place[random.below(length as u64) as usize] ^= 1 << random.below(8),
                _ => {}
            }
        }
        // The last datagram is truncated.
        let end = group.len() - random.below(SIZE as u64 - 1) as usize;
        socket.send(server.at, 0, &group[..end], SIZE);
        sent += GROUP as u64;
        // Datagrams that the server does not read in time are lost at its socket. Pause, so that it
        // reads most of them.
        if sent.is_multiple_of(2000) {
            thread::sleep(Duration::from_micros(200));
        }
    }
    thread::sleep(Duration::from_millis(500));
    let seconds = start.elapsed().as_secs_f64();
    let (after, cpu) = (server.memory()?, server.cpu()? - cpu);
    let mut answers = 0u64;
    let mut inbox = paceline_os::udp::Inbox::default();
    while socket
        .receive(&mut inbox, |group| answers += (group.bytes.len() / group.size.max(1)) as u64)?
        > 0
    {}
    let through_after = out_of_tunnel();
    let (accepted, ignored) = server.stop()?;
    println!("datagrams: {sent} sent in {seconds:.1} s, {ignored} seen by the server and ignored");
    println!("accepted: {} connections beside the recorded one", accepted.saturating_sub(1));
    if let (Some(before), Some(after)) = (through, through_after) {
        println!("packets out of the tunnel: {before} before, {after} after");
    }
    println!("answers: {answers} (requests for a cookie, to recorded first initiations)");
    println!("server's memory: {before} bytes before, {after} after");
    let each = cpu / ignored.max(1) as f64;
    println!("server's processor time: {cpu:.2} s, {:.2} µs per datagram", each * 1e6);
    Ok(())
}
