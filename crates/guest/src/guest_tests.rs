//! Guests that are threads of the test. They use the protocol of old kernels, with a message for
//! each time.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::thread::JoinHandle;

use super::*;

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const RUN: u32 = 6;

/// Layout of the guest's memory: the rings, and buffers behind them.
const RECEIVE_RING: u64 = 0;
const TRANSMIT_RING: u64 = 0x2000;
const AVAILABLE: u64 = 0x1000;
const USED: u64 = 0x1800;
const BUFFERS: u64 = 0x4000;
const MEMORY: u64 = 0x10000;
/// First physical address of the guest.
const BASE: u64 = 0x100_0000;
const RING: u16 = 8;

/// The guest's side of all sockets.
struct Fake {
    calendar: UnixStream,
    device: UnixStream,
    calls: UnixStream,
    /// The simulator's end of the socket for calls.
    calls_for_simulator: Option<UnixStream>,
    memory: File,
    sequence: u32,
    sent: u16,
    received: u16,
}

impl Fake {
    fn say(&mut self, operation: u32, time: u64) {
        self.sequence += 1;
        let mut bytes = operation.to_le_bytes().to_vec();
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        // Fails if the simulator has given up, which some tests intend.
        let _ = self.calendar.write_all(&bytes);
    }

    /// Returns the next message for the clock; `None` after the simulator has ended the guest.
    fn hear(&mut self) -> Option<(u32, u64)> {
        let mut bytes = [0; 16];
        self.calendar.read_exact(&mut bytes).ok()?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[at + i]));
        Some((word(0), u64::from(word(8)) | u64::from(word(12)) << 32))
    }

    fn ask(&mut self, operation: u32, time: u64) -> Option<()> {
        self.say(operation, time);
        (self.hear()?.0 == ACK).then_some(())
    }

    /// Requests to run at `until` and waits; returns the time at which it runs.
    fn sleep(&mut self, until: u64) -> Option<u64> {
        self.ask(REQUEST, until)?;
        self.ask(WAIT, 0)?;
        let (operation, time) = self.hear()?;
        self.acknowledge();
        (operation == RUN).then_some(time)
    }

    /// Acknowledges RUN, as kernels without shared memory do.
    fn acknowledge(&mut self) {
        self.say(ACK, 0);
    }

    fn request(&mut self, request: u32, payload: &[u8], file: Option<&File>) -> Option<()> {
        let mut bytes = request.to_le_bytes().to_vec();
        // Version 1, with a reply requested.
        bytes.extend(9u32.to_le_bytes());
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        system::send(&self.device, &bytes, file.as_slice()).ok()?;
        let mut reply = [0; HEADER + 8];
        self.device.read_exact(&mut reply).ok()
    }

    fn ring(&mut self, number: u32, start: u64) -> Option<()> {
        let words = |words: [u32; 2]| words.map(u32::to_le_bytes).concat();
        self.request(8, &words([number, RING.into()]), None)?;
        self.request(10, &words([number, 0]), None)?;
        let mut addresses = words([number, 0]);
        for part in [0, USED, AVAILABLE, 0] {
            addresses.extend((BASE + start + part).to_le_bytes());
        }
        self.request(9, &addresses, None)
    }

    /// Sets the device up, with buffers in the receive ring.
    fn set_up(&mut self) -> Option<()> {
        self.say(START, 1);
        self.hear()?;
        let features: u64 = 1 << 32 | 1 << 30 | 1 << 5;
        self.request(2, &features.to_le_bytes(), None)?;
        let features: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;
        self.request(16, &features.to_le_bytes(), None)?;
        let calls = File::from(OwnedFd::from(self.calls_for_simulator.take()?));
        self.request(21, &[], Some(&calls))?;
        let mut table = [1u32, 0].map(u32::to_le_bytes).concat();
        for word in [BASE, MEMORY, BASE, 0] {
            table.extend(word.to_le_bytes());
        }
        let memory = self.memory.try_clone().ok()?;
        self.request(5, &table, Some(&memory))?;
        for number in 0..RING {
            // The device writes to this buffer.
            self.descriptor(RECEIVE_RING, number, 0x200, 2);
            self.put(RECEIVE_RING + AVAILABLE + 4 + 2 * u64::from(number), &number.to_le_bytes());
        }
        self.put(RECEIVE_RING + AVAILABLE + 2, &RING.to_le_bytes());
        // No interrupts for sent frames, as virtio_net without napi_tx.
        self.put(TRANSMIT_RING + AVAILABLE, &[1, 0]);
        self.ring(0, RECEIVE_RING)?;
        self.ring(1, TRANSMIT_RING)
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write_all_at(bytes, at).expect("the guest's memory");
    }

    fn buffer(ring: u64, number: u16) -> u64 {
        BUFFERS + ring + 0x200 * u64::from(number)
    }

    fn descriptor(&self, ring: u64, number: u16, length: u32, flags: u16) {
        let mut bytes = (BASE + Fake::buffer(ring, number)).to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0, 0]);
        self.put(ring + 16 * u64::from(number), &bytes);
    }

    /// Sends a frame.
    fn send(&mut self, frame: &[u8]) -> Option<()> {
        let number = self.sent % RING;
        self.put(Fake::buffer(TRANSMIT_RING, number), &[0; 12]);
        self.put(Fake::buffer(TRANSMIT_RING, number) + 12, frame);
        self.descriptor(TRANSMIT_RING, number, 12 + frame.len() as u32, 0);
        let slot = TRANSMIT_RING + AVAILABLE + 4 + 2 * u64::from(number);
        self.put(slot, &number.to_le_bytes());
        self.sent += 1;
        self.put(TRANSMIT_RING + AVAILABLE + 2, &self.sent.to_le_bytes());
        self.request(35, &[1, 0, 0, 0, 0, 0, 0, 0], None)
    }

    fn report(&mut self, kind: u8, body: &[u8]) -> Option<()> {
        let mut frame = vec![2, 0, 0, 0, 0, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
        frame.extend(b"PLG1");
        frame.extend([kind, 255]);
        frame.extend((body.len() as u16).to_le_bytes());
        frame.extend([0; 8]);
        frame.extend(body);
        self.send(&frame)
    }

    /// Takes a frame that has arrived, requests to run at `wake` as a kernel's interrupt handler
    /// does, and answers the call.
    fn receive(&mut self, wake: u64) -> Option<Vec<u8>> {
        let mut call = [0; HEADER + 8];
        self.calls.read_exact(&mut call).ok()?;
        call[4] = 5;
        let slot = RECEIVE_RING + USED + 4 + 8 * u64::from(self.received % RING);
        self.received += 1;
        let mut used = [0; 8];
        self.memory.read_exact_at(&mut used, slot).ok()?;
        let number = u16::from(used[0]);
        let length = usize::from(used[4]) + 256 * usize::from(used[5]);
        let mut frame = vec![0; length];
        self.memory.read_exact_at(&mut frame, Fake::buffer(RECEIVE_RING, number)).ok()?;
        self.ask(REQUEST, wake)?;
        self.calls.write_all(&call).ok()?;
        Some(frame.split_off(12))
    }
}

/// Returns a guest that behaves as `act`, and its thread, which returns the result of `act`.
fn guest<T: Send + 'static>(
    act: impl FnOnce(&mut Fake) -> Option<T> + Send + 'static,
) -> (Guest, JoinHandle<Option<T>>) {
    let pair = || UnixStream::pair().expect("sockets");
    let ((calendar, theirs), (device, their_device), (calls, our_calls)) = (pair(), pair(), pair());
    let memory = system::memory_file("guest", MEMORY).expect("a memfd");
    let thread = std::thread::spawn(move || {
        let mut fake = Fake {
            calendar: theirs,
            device: their_device,
            calls,
            calls_for_simulator: Some(our_calls),
            memory,
            sequence: 0,
            sent: 0,
            received: 0,
        };
        act(&mut fake)
    });
    let calendar = Calendar::start(calendar).expect("a clock");
    let requests = Connection::Open(device);
    let device = Device::new([2, 0, 0, 0, 0, 1], 1500);
    (Guest::over(calendar, requests, device, Duration::from_secs(60)), thread)
}

/// Sets a guest up: sends its hello, then waits until simulated time begins.
fn hello(fake: &mut Fake) -> Option<u64> {
    fake.set_up()?;
    fake.sleep(500)?;
    fake.report(1, b"\x01\x006.1.0\0cubic bbr\0")?;
    fake.sleep(ORIGIN + 10)
}

#[test]
fn frames_go_in_and_out_at_their_times() {
    let (mut guest, thread) = guest(|fake| {
        fake.set_up()?;
        fake.sleep(500)?;
        // A frame that a kernel sends before this time is not forwarded.
        fake.send(&[9; 60])?;
        fake.report(1, b"\x01\x006.1.0\0cubic bbr\0")?;
        fake.ask(REQUEST, u64::MAX)?;
        fake.ask(WAIT, 0)?;
        let frame = fake.receive(ORIGIN + 70)?;
        let (operation, time) = fake.hear()?;
        fake.acknowledge();
        fake.send(&frame)?;
        fake.report(5, b"a note")?;
        fake.ask(REQUEST, u64::MAX)?;
        fake.ask(WAIT, 0)?;
        Some((operation, time, frame))
    });
    let hello = guest.set_up().expect("a guest");
    assert_eq!(hello.schemes, ["cubic", "bbr"]);
    assert_eq!((guest.wake(), guest.take_frames().count()), (u64::MAX, 0));
    guest.deliver(ORIGIN + 70, &[7; 60]).expect("a delivery");
    assert_eq!(guest.wake(), ORIGIN + 70);
    guest.advance(ORIGIN + 70, ORIGIN + 70).expect("a run");
    assert_eq!(guest.take_frames().collect::<Vec<_>>(), [vec![7; 60]]);
    let reports: Vec<_> = guest.take_reports().map(|report| report.body).collect();
    assert_eq!(reports, [Body::Note("a note".into())]);
    assert_eq!(guest.wake(), u64::MAX);
    let (operation, time, frame) = thread.join().expect("the guest").expect("its course");
    assert_eq!((operation, time, frame), (RUN, ORIGIN + 70, vec![7; 60]));
}

#[test]
fn a_guest_without_buffers_loses_frames() {
    let (mut guest, thread) = guest(|fake| {
        fake.set_up()?;
        // This guest wants no interrupts.
        fake.put(RECEIVE_RING + AVAILABLE, &[1, 0]);
        fake.report(1, b"\x01\x006.1.0\0cubic\0")?;
        fake.sleep(ORIGIN)
    });
    guest.set_up().expect("a guest");
    for _ in 0..RING + 3 {
        guest.deliver(ORIGIN, &[1; 60]).expect("a delivery");
    }
    // A frame that is longer than its buffer is lost, too.
    assert_eq!(guest.without_buffer, 3);
    drop(guest);
    thread.join().expect("the guest");
}

#[test]
fn errors_say_what_the_guest_did() {
    let reported = |fake: &mut Fake| {
        fake.set_up()?;
        fake.report(4, b"pl.0.cc=foo: No such file or directory")
    };
    let (mut guest_, thread) = guest(reported);
    let set_up = guest_.set_up();
    let error = guest_.explained(set_up).expect_err("an error");
    assert!(matches!(&error, Error::Reported(text) if text.contains("pl.0.cc=foo")), "{error}");
    thread.join().expect("the guest");

    let (mut guest_, thread) = guest(|fake| {
        hello(fake)?;
        // The guest ends in the middle of a run.
        Some(())
    });
    guest_.set_up().expect("a guest");
    let error = guest_.advance(ORIGIN + 10, ORIGIN + 10).expect_err("an end");
    assert!(matches!(error, Error::Ended(_)), "{error}");
    thread.join().expect("the guest");

    let (mut guest_, _thread) = guest(|fake| {
        hello(fake)?;
        // The guest says nothing until the simulator ends it.
        fake.hear().map(drop)
    });
    guest_.set_up().expect("a guest");
    guest_.longest_silence = Duration::from_millis(300);
    let error = guest_.advance(ORIGIN + 10, ORIGIN + 10).expect_err("silence");
    assert!(matches!(error, Error::Hangs(_)), "{error}");
}

#[test]
fn a_guest_whose_time_stands_hangs() {
    let (mut guest, thread) = guest(|fake| {
        hello(fake)?;
        while fake.sleep(ORIGIN + 10).is_some() {}
        Some(())
    });
    guest.set_up().expect("a guest");
    guest.most_steps = 1000;
    let error = guest.advance(ORIGIN + 10, ORIGIN + 10).expect_err("no time passes");
    assert!(matches!(&error, Error::Hangs(text) if text.contains("go on")), "{error}");
    drop(guest);
    thread.join().expect("the guest");
}

#[test]
fn a_guest_that_never_says_hello_hangs() {
    let (mut guest, thread) = guest(|fake| {
        fake.set_up()?;
        fake.sleep(2 * ORIGIN)
    });
    let error = guest.set_up().expect_err("no hello");
    assert!(matches!(&error, Error::Hangs(text) if text.contains("hello")), "{error}");
    drop(guest);
    thread.join().expect("the guest");
}

#[test]
fn lies_are_found() {
    let lies: [fn(&mut Fake) -> Option<()>; 6] = [
        // More available buffers than the ring has.
        |fake| {
            fake.put(TRANSMIT_RING + AVAILABLE + 2, &900u16.to_le_bytes());
            fake.request(35, &[1, 0, 0, 0, 0, 0, 0, 0], None)
        },
        // A frame that is longer than the device allows.
        |fake| {
            fake.descriptor(TRANSMIT_RING, 1, 3000, 0);
            fake.put(TRANSMIT_RING + AVAILABLE + 4 + 2, &[1, 0]);
            fake.put(TRANSMIT_RING + AVAILABLE + 2, &2u16.to_le_bytes());
            fake.request(35, &[1, 0, 0, 0, 0, 0, 0, 0], None)
        },
        // A ring outside of the guest's memory.
        |fake| fake.ring(1, MEMORY),
        // A third ring.
        |fake| fake.ring(2, TRANSMIT_RING),
        // A request that no device has.
        |fake| fake.request(99, &[], None),
        // Memory whose file is cut short.
        |fake| {
            fake.memory.set_len(0).ok()?;
            fake.request(35, &[1, 0, 0, 0, 0, 0, 0, 0], None)
        },
    ];
    for lie in lies {
        let (mut guest, thread) = guest(move |fake| {
            hello(fake)?;
            lie(fake)
        });
        guest.set_up().expect("a guest");
        let error = guest.advance(ORIGIN + 10, ORIGIN + 10).expect_err("a lie");
        assert!(matches!(error, Error::Lies(_)), "{error}");
        drop(guest);
        thread.join().expect("the guest");
    }
}
