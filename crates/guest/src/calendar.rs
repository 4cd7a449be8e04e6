//! The guest's clock (`include/uapi/linux/um_timetravel.h`): the guest requests a time to run,
//! waits, and runs when the calendar tells it to. Virtual time passes for the guest only while it
//! waits or reads its clock.
//!
//! Kernels from 6.12 on keep the times in memory that both sides share; older kernels send a
//! message for each. The guest may not run ahead of the simulator: it stops at every reading of its
//! clock that costs virtual time.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use crate::error::Error;
use crate::system;

/// Client number of the calendar in the shared memory.
const CALENDAR: u16 = 0;
/// Client number of the guest in the shared memory.
const GUEST: u16 = 1;
/// `UM_TIMETRAVEL_SCHEDSHM_VERSION`.
const SHARED_VERSION: u32 = 2;
/// Bytes of the shared memory: a page of header, and 16 clients of 128 bytes.
const SHARED_SIZE: u64 = 4096 + 16 * CLIENT_SIZE;
const CLIENTS_AT: u64 = 4096;
const CLIENT_SIZE: u64 = 128;
/// Offset of the fields `free_until`, `current_time` and `running_id` in the header.
const TIMES_AT: u64 = 8;
/// The client reads and writes times in the shared memory (`UM_TIMETRAVEL_SCHEDSHM_CAP_TIME_SHARE`).
const TIME_SHARE: u32 = 1;
/// The client has a request (`UM_TIMETRAVEL_SCHEDSHM_FLAGS_REQ_RUN`).
const REQUESTED: u32 = 1;
/// Wall-clock time of the guest at boot, in ns since 1970; constant, so that runs are equal.
const EPOCH_NS: u64 = 1_767_225_600_000_000_000;

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const GET_TIME_OF_DAY: u32 = 8;
const BROADCAST: u32 = 9;

/// Size of a message in bytes: operation, sequence number, time.
const MESSAGE: usize = 16;

/// Calendar of one guest. Times are nanoseconds since the guest's boot.
#[derive(Debug)]
pub(crate) struct Calendar {
    socket: UnixStream,
    shared: File,
    /// Time that the simulator has reached.
    now: u64,
    /// Time at which the guest wants to run, from its messages.
    requested: Option<u64>,
    /// Time at which the guest wants to run, from the shared memory when it last waited or answered
    /// a call.
    shared_wake: u64,
    /// Whether the guest waits for the message to run.
    is_waiting: bool,
    sequence: u32,
}

impl Calendar {
    /// Reads the guest's first message from a connection, and answers it.
    ///
    /// # Errors
    /// The message does not come, or is not the start of a clock.
    pub(crate) fn start(mut socket: UnixStream) -> Result<Calendar, Error> {
        let (operation, sequence, _) = read(&mut socket)?;
        if operation != START {
            return Err(Error::lies(format!("its clock begins with operation {operation}")));
        }
        let shared = system::sealed_memory_file("paceline-calendar", SHARED_SIZE)
            .map_err(Error::host("no memory for the guest's clock"))?;
        let write = |at, bytes: &[u8]| {
            shared.write_all_at(bytes, at).map_err(Error::host("the guest's clock"))
        };
        write(0, &SHARED_VERSION.to_le_bytes())?;
        write(4, &(SHARED_SIZE as u32).to_le_bytes())?;
        write(26, &16u16.to_le_bytes())?;
        write(CLIENTS_AT + CLIENT_SIZE * u64::from(CALENDAR), &TIME_SHARE.to_le_bytes())?;
        let mut calendar = Calendar {
            socket,
            shared,
            now: 0,
            requested: None,
            shared_wake: u64::MAX,
            is_waiting: false,
            sequence: 0,
        };
        // The guest runs until it waits for the first time.
        calendar.set_times(GUEST, 1)?;
        // Linux 6.12 expects two files in this answer, and misreads the message without them.
        let null = File::open("/dev/null").map_err(Error::host("/dev/null"))?;
        let answer = message(ACK, sequence, u64::from(GUEST));
        system::send(&calendar.socket, &answer, &[&calendar.shared, &null]).map_err(gone)?;
        Ok(calendar)
    }

    /// Returns the socket, on which callers wait for messages.
    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Returns the time that was reached.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// True while the guest waits for the message to run.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Writes the number of the runner, the present time, and the time up to which the runner may
    /// continue by itself.
    fn set_times(&mut self, running: u16, free_until: u64) -> Result<(), Error> {
        let mut bytes = [0; 18];
        bytes[..8].copy_from_slice(&free_until.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.now.to_le_bytes());
        bytes[16..].copy_from_slice(&running.to_le_bytes());
        self.shared.write_all_at(&bytes, TIMES_AT).map_err(Error::host("the guest's clock"))
    }

    /// Advances the time without running the guest.
    ///
    /// # Errors
    /// The shared memory cannot be written.
    pub(crate) fn advance(&mut self, now: u64) -> Result<(), Error> {
        self.now = self.now.max(now);
        self.set_times(CALENDAR, u64::MAX)
    }

    /// Lets the guest run from `now` until it waits. It may process by itself all events up to
    /// `until`, which is then the time that was reached.
    ///
    /// # Errors
    /// The guest is gone, or does not read its socket.
    pub(crate) fn run(&mut self, now: u64, until: u64) -> Result<(), Error> {
        self.now = self.now.max(now);
        let until = self.now.max(until);
        self.set_times(GUEST, until.saturating_add(1))?;
        (self.is_waiting, self.requested, self.shared_wake) = (false, None, u64::MAX);
        self.sequence = self.sequence.wrapping_add(1);
        self.send(RUN, self.sequence, self.now)?;
        self.now = until;
        Ok(())
    }

    /// Returns the time at which the guest wants to run; `u64::MAX` if it waits only for the
    /// device.
    pub(crate) fn wake(&self) -> u64 {
        self.shared_wake.min(self.requested.unwrap_or(u64::MAX))
    }

    /// Reads the time that a guest which waits or has answered a call has written to the shared
    /// memory. Returns true if this guest uses the shared memory.
    ///
    /// # Errors
    /// The shared memory cannot be read.
    pub(crate) fn read_shared(&mut self) -> Result<bool, Error> {
        let mut client = [0; 16];
        let at = CLIENTS_AT + CLIENT_SIZE * u64::from(GUEST);
        self.shared.read_exact_at(&mut client, at).map_err(Error::host("the guest's clock"))?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| client[at + i]));
        self.shared_wake = match word(4) & REQUESTED {
            0 => u64::MAX,
            _ => u64::from(word(8)) | u64::from(word(12)) << 32,
        };
        Ok(word(0) & TIME_SHARE != 0)
    }

    /// Reads a message of the guest and answers it.
    ///
    /// # Errors
    /// The guest is gone, or its message is invalid.
    pub(crate) fn on_message(&mut self) -> Result<(), Error> {
        let message = read(&mut self.socket)?;
        self.process(message)
    }

    /// Waits for a message as long as the socket's reads do, and does [`Calendar::on_message`]. Returns false if none has
    /// come.
    ///
    /// # Errors
    /// The guest is gone, or its message is invalid.
    pub(crate) fn on_message_soon(&mut self) -> Result<bool, Error> {
        let mut bytes = [0; MESSAGE];
        if !read_soon(&mut self.socket, &mut bytes)? {
            return Ok(false);
        }
        self.process(parse(bytes)).map(|()| true)
    }

    fn process(&mut self, (operation, sequence, time): (u32, u32, u64)) -> Result<(), Error> {
        let answer = match operation {
            ACK => return Ok(()),
            REQUEST => {
                // Idle kernels request the largest time.
                self.requested = Some(time).filter(|time| *time < i64::MAX as u64);
                0
            }
            WAIT => {
                self.is_waiting = true;
                if self.read_shared()? {
                    return Ok(());
                }
                0
            }
            GET => self.now,
            UPDATE if time > self.now => {
                let now = self.now;
                return Err(Error::lies(format!("its clock is at {time} ns, and it is {now} ns")));
            }
            UPDATE | BROADCAST => 0,
            GET_TIME_OF_DAY => EPOCH_NS + self.now,
            _ => return Err(Error::lies(format!("operation {operation} for its clock"))),
        };
        self.send(ACK, sequence, answer)
    }

    fn send(&mut self, operation: u32, sequence: u32, time: u64) -> Result<(), Error> {
        self.socket.write_all(&message(operation, sequence, time)).map_err(gone)
    }
}

fn message(operation: u32, sequence: u32, time: u64) -> [u8; MESSAGE] {
    let mut bytes = [0; MESSAGE];
    bytes[..4].copy_from_slice(&operation.to_le_bytes());
    bytes[4..8].copy_from_slice(&sequence.to_le_bytes());
    bytes[8..].copy_from_slice(&time.to_le_bytes());
    bytes
}

fn read(socket: &mut UnixStream) -> Result<(u32, u32, u64), Error> {
    let mut bytes = [0; MESSAGE];
    socket.read_exact(&mut bytes).map_err(gone)?;
    Ok(parse(bytes))
}

fn parse(bytes: [u8; MESSAGE]) -> (u32, u32, u64) {
    let [o0, o1, o2, o3, s0, s1, s2, s3, time @ ..] = bytes;
    let (operation, sequence) = ([o0, o1, o2, o3], [s0, s1, s2, s3]);
    (u32::from_le_bytes(operation), u32::from_le_bytes(sequence), u64::from_le_bytes(time))
}

/// Fills `bytes` from a guest's socket. Returns false if nothing has come within the time of the socket's reads.
///
/// # Errors
/// The guest is gone, or does not go on with a message that it has begun.
pub(crate) fn read_soon(socket: &mut UnixStream, bytes: &mut [u8]) -> Result<bool, Error> {
    use std::io::ErrorKind;
    let length = loop {
        match socket.read(bytes) {
            Ok(length) => break length,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Ok(false),
                _ => return Err(gone(error)),
            },
        }
    };
    match length {
        0 => Err(gone(ErrorKind::UnexpectedEof.into())),
        _ => socket.read_exact(&mut bytes[length..]).map_err(gone).map(|()| true),
    }
}

/// Converts the error of a failed read or write on a guest's socket.
pub(crate) fn gone(error: std::io::Error) -> Error {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Error::Hangs("it does not go on with a message that it has begun".into())
        }
        _ => Error::Ended("its connection is closed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a calendar, and the guest's end of its socket, in message mode.
    fn calendar() -> (Calendar, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().expect("sockets");
        theirs.write_all(&message(START, 1, 1)).expect("room");
        let calendar = Calendar::start(ours).expect("a calendar");
        assert_eq!(read(&mut theirs).expect("an answer"), (ACK, 1, 1));
        (calendar, theirs)
    }

    #[test]
    fn a_guest_that_sends_messages_runs_at_its_time() {
        let (mut calendar, mut guest) = calendar();
        guest.write_all(&message(REQUEST, 2, 4_000)).expect("room");
        guest.write_all(&message(WAIT, 3, 0)).expect("room");
        calendar.on_message().expect("a request");
        assert!(!calendar.is_waiting());
        calendar.on_message().expect("a wait");
        assert!(calendar.is_waiting());
        assert_eq!(read(&mut guest).expect("an answer"), (ACK, 2, 0));
        assert_eq!(read(&mut guest).expect("an answer"), (ACK, 3, 0));
        assert_eq!(calendar.wake(), 4_000);
        calendar.run(4_000, 4_000).expect("a guest");
        assert_eq!(read(&mut guest).expect("a message"), (RUN, 1, 4_000));
        assert_eq!((calendar.is_waiting(), calendar.wake()), (false, u64::MAX));
        for (operation, answer) in [(GET, 4_000), (GET_TIME_OF_DAY, EPOCH_NS + 4_000), (UPDATE, 0)]
        {
            guest.write_all(&message(operation, 9, 4_000)).expect("room");
            calendar.on_message().expect("a message");
            assert_eq!(read(&mut guest).expect("an answer"), (ACK, 9, answer));
        }
        // The largest time counts as no request.
        guest.write_all(&message(REQUEST, 10, u64::MAX)).expect("room");
        calendar.on_message().expect("a message");
        assert_eq!(calendar.wake(), u64::MAX);
    }

    #[test]
    fn a_guest_that_shares_memory_is_not_answered() {
        let (mut calendar, mut guest) = calendar();
        let at = CLIENTS_AT + CLIENT_SIZE;
        let mut client = [0; 16];
        client[0] = 1;
        client[4] = 1;
        client[8..].copy_from_slice(&7_777_777_777u64.to_le_bytes());
        calendar.shared.write_all_at(&client, at).expect("room");
        guest.write_all(&message(WAIT, 2, 0)).expect("room");
        calendar.on_message().expect("a wait");
        assert_eq!((calendar.is_waiting(), calendar.wake()), (true, 7_777_777_777));
        calendar.run(7_777_777_777, 7_777_777_777).expect("a guest");
        // The first message is RUN.
        assert_eq!(read(&mut guest).expect("a message").0, RUN);
        let mut times = [0; 18];
        calendar.shared.read_exact_at(&mut times, TIMES_AT).expect("the header");
        assert_eq!(times[..8], 7_777_777_778u64.to_le_bytes());
        assert_eq!(times[8..16], 7_777_777_777u64.to_le_bytes());
        assert_eq!(times[16..], [1, 0]);
    }

    #[test]
    fn lies_and_ends_are_errors() {
        for (operation, time) in [(UPDATE, 1), (77, 0), (START, 0), (RUN, 0)] {
            let (mut calendar, mut guest) = calendar();
            guest.write_all(&message(operation, 2, time)).expect("room");
            assert!(matches!(calendar.on_message(), Err(Error::Lies(_))), "{operation}");
        }
        let (mut calendar, guest) = calendar();
        drop(guest);
        assert!(matches!(calendar.on_message(), Err(Error::Ended(_))));
        let (ours, mut theirs) = UnixStream::pair().expect("sockets");
        theirs.write_all(&message(WAIT, 1, 1)).expect("room");
        assert!(matches!(Calendar::start(ours), Err(Error::Lies(_))));
    }

    #[test]
    fn the_shared_memory_cannot_be_cut() {
        let (calendar, _guest) = calendar();
        assert!(calendar.shared.set_len(0).is_err());
    }
}
