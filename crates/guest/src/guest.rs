//! A running guest: its process, its clock and its network device, driven from one thread. Times are
//! nanoseconds since the guest's boot.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::build::BuiltGuest;
use crate::calendar::{Calendar, gone, read_soon};
use crate::error::Error;
use crate::files::{self, PROTOCOL};
use crate::frame;
use crate::frames::{self, Body, GuestReport};
use crate::launch::{self, Process, Start, Started};
use crate::system;
use crate::vhost::{self, Device, HEADER, Header, LONGEST, RECEIVE, TRANSMIT};

/// Guest time at which simulated time begins, in ns. The guest has finished its set-up by then
/// (PROTOCOL.md).
pub(crate) const ORIGIN: u64 = 1_000_000_000;
/// Interval at which the process of a silent guest is checked, in ms.
const LOOK_INTERVAL: u16 = 200;
/// Longest time for which an error waits for the process of a guest whose connections are closed.
const LONGEST_END: Duration = Duration::from_secs(3);
/// Runs at one virtual time, and messages in one run, after which a guest counts as hanging.
const MOST_STEPS: u32 = 1_000_000;
/// Most frames that a guest may send at one time.
const MOST_FRAMES: usize = 100_000;
/// Most reports that are kept until the caller takes them.
const MOST_REPORTS: usize = 100_000;

/// A running guest.
#[derive(Debug)]
pub(crate) struct Guest {
    calendar: Calendar,
    device: Device,
    /// Socket of the device's requests, or the listener to which the guest will connect.
    requests: Connection,
    /// Socket over which the device notifies the guest of used buffers.
    calls: Option<UnixStream>,
    is_call_answered: bool,
    /// Whether the guest wants a call because its frames were sent.
    is_transmit_call_due: bool,
    frames: Vec<Vec<u8>>,
    reports: Vec<GuestReport>,
    /// Messages since the beginning of the last run.
    steps: u32,
    longest_silence: Duration,
    most_steps: u32,
    /// Whether the guest, once it is set up, sends no message but that it waits or has answered a call. Then these are read
    /// without waiting for several sockets.
    is_direct: bool,
    /// Frames for which the guest had no buffer.
    pub(crate) without_buffer: u64,
    /// Last field, so that connections are closed before the process is killed and reaped.
    process: Option<Process>,
}

#[derive(Debug)]
enum Connection {
    Awaited(UnixListener),
    Open(UnixStream),
}

/// Content of the guest's `hello`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Congestion controls of the kernel.
    pub(crate) schemes: Vec<String>,
}

impl Guest {
    /// Starts a guest and lets it set itself up, until its time is [`ORIGIN`].
    ///
    /// # Errors
    /// The host or the guest reports an error, or the guest ends, hangs or violates a protocol.
    pub(crate) fn boot(
        built: &BuiltGuest,
        start: &Start,
        device: Device,
    ) -> Result<(Guest, Hello), Error> {
        let longest_silence = files::longest_silence()?;
        let Started { mut process, calendar, device: listener } = launch::start(built, start)?;
        let first = accept(&calendar, &mut process, longest_silence).and_then(Calendar::start);
        let calendar = first.map_err(|error| explain(error, Some(&mut process), &[]))?;
        let mut guest =
            Guest::over(calendar, Connection::Awaited(listener), device, longest_silence);
        guest.process = Some(process);
        let set_up = guest.set_up();
        let hello = guest.explained(set_up)?;
        if let Some(process) = &mut guest.process {
            process.remove_folder();
        }
        guest.read_directly()?;
        Ok((guest, hello))
    }

    fn over(
        calendar: Calendar,
        requests: Connection,
        device: Device,
        longest_silence: Duration,
    ) -> Guest {
        Guest {
            calendar,
            device,
            requests,
            calls: None,
            is_call_answered: true,
            is_transmit_call_due: false,
            frames: Vec::new(),
            reports: Vec::new(),
            steps: 0,
            longest_silence,
            most_steps: MOST_STEPS,
            is_direct: false,
            without_buffer: 0,
            process: None,
        }
    }

    /// Runs the guest through boot and set-up.
    fn set_up(&mut self) -> Result<Hello, Error> {
        self.wait()?;
        for _ in 0..self.most_steps {
            let wake = self.calendar.wake();
            if wake >= ORIGIN {
                self.calendar.advance(ORIGIN)?;
                // Frames that a kernel sends by itself when a device comes up, such as router
                // solicitations.
                self.frames.clear();
                return self.hello();
            }
            let time = wake.max(self.calendar.now());
            self.advance_to(time, time)?;
        }
        Err(Error::Hangs("it does not get through its set-up".into()))
    }

    /// Reads messages without waiting for several sockets from now on, if the guest shares the memory of its clock.
    fn read_directly(&mut self) -> Result<(), Error> {
        let Some(calls) = &self.calls else { return Ok(()) };
        if !self.calendar.read_shared()? {
            return Ok(());
        }
        let short = Some(Duration::from_millis(LOOK_INTERVAL.into()));
        for socket in [self.calendar.socket(), calls] {
            socket.set_read_timeout(short).map_err(Error::host("a socket of the guest"))?;
        }
        self.is_direct = true;
        Ok(())
    }

    /// Takes the `hello` out of the reports.
    fn hello(&mut self) -> Result<Hello, Error> {
        let (mut hello, mut kept) = (None, Vec::new());
        for report in self.reports.drain(..) {
            match report.body {
                Body::Hello { protocol: PROTOCOL, schemes, .. } => hello = Some(Hello { schemes }),
                Body::Hello { protocol, .. } => {
                    return Err(Error::Unusable(format!(
                        "the guest's /init speaks protocol {protocol}, and this program {PROTOCOL}; \
                         build it again with `paceline linux build`"
                    )));
                }
                Body::Error(text) => return Err(Error::Reported(text)),
                // Programs may run, and end, before the run begins.
                Body::Exit(_) | Body::Output(_) => kept.push(report),
                _ => {}
            }
        }
        self.reports = kept;
        hello.ok_or_else(|| {
            Error::Hangs(format!(
                "its set-up was not complete at {} s of its time: it has sent no hello",
                ORIGIN / 1_000_000_000
            ))
        })
    }

    /// Returns the time at which the guest wants to run next; `u64::MAX` if it waits only for the
    /// device.
    pub(crate) fn wake(&self) -> u64 {
        if self.is_transmit_call_due { self.calendar.now() } else { self.calendar.wake() }
    }

    /// Delivers a frame to the guest at `now`.
    ///
    /// # Errors
    /// The guest ends, hangs or violates a protocol.
    pub(crate) fn deliver(&mut self, now: u64, frame: &[u8]) -> Result<(), Error> {
        let delivered = self.deliver_to(now, frame);
        self.explained(delivered)
    }

    fn deliver_to(&mut self, now: u64, frame: &[u8]) -> Result<(), Error> {
        self.calendar.advance(now)?;
        self.steps = 0;
        if !self.device.give_frame(frame)? {
            self.without_buffer += 1;
            return Ok(());
        }
        if self.device.wants_call(RECEIVE) { self.call(RECEIVE) } else { Ok(()) }
    }

    /// Runs the guest for all of its events up to `now`; if it has some, it may go on by itself up to
    /// `until`.
    ///
    /// # Errors
    /// The guest ends, hangs or violates a protocol.
    pub(crate) fn advance(&mut self, now: u64, until: u64) -> Result<(), Error> {
        let advanced = self.advance_to(now, until);
        self.explained(advanced)
    }

    fn advance_to(&mut self, now: u64, until: u64) -> Result<(), Error> {
        for _ in 0..self.most_steps {
            if std::mem::take(&mut self.is_transmit_call_due) && self.device.wants_call(TRANSMIT) {
                self.calendar.advance(now)?;
                self.call(TRANSMIT)?;
            }
            if self.calendar.wake() > now {
                return Ok(());
            }
            self.calendar.run(now, until)?;
            self.wait()?;
        }
        Err(Error::Hangs(format!("its time does not go on at {now} ns")))
    }

    /// Returns the frames that the guest has sent since the last call, in order.
    pub(crate) fn take_frames(&mut self) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.frames.drain(..)
    }

    /// Returns the reports since the last call, in order.
    pub(crate) fn take_reports(&mut self) -> impl Iterator<Item = GuestReport> + '_ {
        self.reports.drain(..)
    }

    /// Processes messages until the guest waits, and takes the frames that it has sent until then.
    fn wait(&mut self) -> Result<(), Error> {
        self.steps = 0;
        while !self.calendar.is_waiting() {
            if self.is_direct {
                self.count_step()?;
                if self.calendar.on_message_soon()? {
                    continue;
                }
            }
            self.step()?;
        }
        self.take_from_device()
    }

    /// Tells the guest of used buffers, and processes messages until it has answered.
    fn call(&mut self, ring: usize) -> Result<(), Error> {
        let Some(calls) = &mut self.calls else {
            return Err(Error::lies("it has named no socket for its device's calls"));
        };
        calls.write_all(&vhost::call(ring)).map_err(gone)?;
        self.is_call_answered = false;
        self.steps = 0;
        if self.is_direct && read_soon(calls, &mut [0; HEADER + 8])? {
            return self.on_call_answered();
        }
        while !self.is_call_answered {
            self.step()?;
        }
        Ok(())
    }

    /// Counts a message of the guest.
    fn count_step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        match self.steps > self.most_steps {
            true => Err(Error::Hangs("it sends messages and never waits".into())),
            false => Ok(()),
        }
    }

    /// Waits for one message of the guest and processes it.
    fn step(&mut self) -> Result<(), Error> {
        self.count_step()?;
        let since = Instant::now();
        loop {
            let requests = match &self.requests {
                Connection::Awaited(listener) => listener.as_fd(),
                Connection::Open(socket) => socket.as_fd(),
            };
            let mut ready = vec![
                PollFd::new(self.calendar.socket().as_fd(), PollFlags::POLLIN),
                PollFd::new(requests, PollFlags::POLLIN),
            ];
            if let Some(calls) = self.calls.as_ref().filter(|_| !self.is_call_answered) {
                ready.push(PollFd::new(calls.as_fd(), PollFlags::POLLIN));
            }
            match poll(&mut ready, PollTimeout::from(LOOK_INTERVAL)) {
                Err(nix::Error::EINTR) => continue,
                Err(error) => return Err(Error::host("waiting for the guest")(error.into())),
                Ok(0) => {}
                Ok(_) => {
                    let is_ready = |at: usize| {
                        ready.get(at).and_then(PollFd::revents).is_some_and(|it| !it.is_empty())
                    };
                    let (calendar, requests) = (is_ready(0), is_ready(1));
                    // The order is fixed, so that runs are equal when several sockets are readable.
                    return match (requests, calendar) {
                        (true, _) => self.on_request(),
                        (_, true) => self.calendar.on_message(),
                        _ => self.on_call_answer(),
                    };
                }
            }
            if let Some(how) = self.process.as_mut().and_then(Process::ended) {
                return Err(Error::Ended(how));
            }
            if since.elapsed() > self.longest_silence {
                let seconds = self.longest_silence.as_secs();
                return Err(Error::Hangs(format!(
                    "it has said nothing for {seconds} s; a program that neither sleeps nor asks the time never ends \
                     its instant"
                )));
            }
        }
    }

    fn on_request(&mut self) -> Result<(), Error> {
        let socket = match &mut self.requests {
            Connection::Open(socket) => socket,
            Connection::Awaited(listener) => {
                let (socket, _) = listener.accept().map_err(Error::host("the guest's device"))?;
                limit_waits(&socket, self.longest_silence)?;
                self.requests = Connection::Open(socket);
                return Ok(());
            }
        };
        let (mut header, mut files) = ([0; HEADER], Vec::new());
        let length = system::receive(socket, &mut header, &mut files).map_err(gone)?;
        if length == 0 {
            return Err(Error::Ended("its device is closed".into()));
        }
        socket.read_exact(&mut header[length..]).map_err(gone)?;
        let header = Header::read(header)?;
        let mut payload = [0; LONGEST];
        let payload = &mut payload[..header.size];
        socket.read_exact(payload).map_err(gone)?;
        let done = self.device.request(header, payload, files)?;
        if let Some(calls) = done.calls {
            let calls = UnixStream::from(calls);
            limit_waits(&calls, self.longest_silence)?;
            self.calls = Some(calls);
        }
        if done.has_frames {
            self.take_from_device()?;
        }
        if let (Some(reply), Connection::Open(socket)) = (done.reply, &mut self.requests) {
            socket.write_all(&reply).map_err(gone)?;
        }
        Ok(())
    }

    /// Takes the frames that the guest sends: frames for the network, and reports.
    fn take_from_device(&mut self) -> Result<(), Error> {
        let mut has_taken = false;
        while let Some(frame) = self.device.take_frame()? {
            has_taken = true;
            if frame::ether_type(frame) == frames::ETHER_TYPE {
                self.reports.extend(frames::parse(&frame[frame::ETHERNET..]));
            } else {
                self.frames.push(frame.to_vec());
            }
            if self.frames.len() > MOST_FRAMES || self.reports.len() > MOST_REPORTS {
                return Err(Error::Hangs(format!(
                    "it sends more than {MOST_FRAMES} frames at once"
                )));
            }
        }
        self.is_transmit_call_due |= has_taken && self.device.wants_call(TRANSMIT);
        Ok(())
    }

    fn on_call_answer(&mut self) -> Result<(), Error> {
        let Some(calls) = &mut self.calls else { return Ok(()) };
        let mut answer = [0; HEADER + 8];
        calls.read_exact(&mut answer).map_err(gone)?;
        self.on_call_answered()
    }

    fn on_call_answered(&mut self) -> Result<(), Error> {
        self.is_call_answered = true;
        self.calendar.read_shared().map(drop)
    }

    /// Adds to an error the guest's report, or the way in which its process has ended.
    fn explained<T>(&mut self, result: Result<T, Error>) -> Result<T, Error> {
        if result.is_err() {
            // A report before its end may say why. If the rings are invalid, the first error counts.
            let _ = self.take_from_device();
        }
        result.map_err(|error| explain(error, self.process.as_mut(), &self.reports))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Fails if the guest is gone and has closed its end already.
        let _ = self.calendar.socket().shutdown(Shutdown::Both);
    }
}

/// Returns the socket with limits for the time that a read or a write may take.
fn limit_waits(socket: &UnixStream, longest: Duration) -> Result<(), Error> {
    let limited = socket
        .set_read_timeout(Some(longest))
        .and_then(|()| socket.set_write_timeout(Some(longest)));
    limited.map_err(Error::host("a socket of the guest"))
}

/// Waits for the guest's first connection.
fn accept(
    listener: &UnixListener,
    process: &mut Process,
    longest_silence: Duration,
) -> Result<UnixStream, Error> {
    let since = Instant::now();
    loop {
        let mut ready = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ready, PollTimeout::from(LOOK_INTERVAL)) {
            Ok(0) | Err(nix::Error::EINTR) => {}
            Ok(_) => {
                let (socket, _) = listener.accept().map_err(Error::host("the guest's clock"))?;
                limit_waits(&socket, longest_silence)?;
                return Ok(socket);
            }
            Err(error) => return Err(Error::host("waiting for the guest")(error.into())),
        }
        if let Some(how) = process.ended() {
            return Err(Error::Ended(how));
        }
        if since.elapsed() > longest_silence {
            let seconds = longest_silence.as_secs();
            return Err(Error::Hangs(format!("it has not connected within {seconds} s")));
        }
    }
}

fn explain(error: Error, process: Option<&mut Process>, reports: &[GuestReport]) -> Error {
    let reported = reports.iter().rev().find_map(|report| match &report.body {
        Body::Error(text) => Some(text.clone()),
        _ => None,
    });
    if let Some(text) = reported {
        return Error::Reported(text);
    }
    let Some(process) = process else { return error };
    match error {
        Error::Ended(what) => {
            let since = Instant::now();
            let mut how = process.ended();
            while how.is_none() && since.elapsed() < LONGEST_END {
                std::thread::sleep(Duration::from_millis(10));
                how = process.ended();
            }
            Error::Ended(with_log(&how.unwrap_or(what), process))
        }
        Error::Hangs(what) => Error::Hangs(with_log(&what, process)),
        other => other,
    }
}

fn with_log(what: &str, process: &Process) -> String {
    match process.log_tail() {
        log if log.is_empty() => what.to_string(),
        log => format!("{what}; the end of its log:\n{log}"),
    }
}

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
