//! A machine whose functions are written in C.
#![allow(unsafe_code, reason = "a stack's functions are called here")]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use paceline_cc::Ecn;
use paceline_quic_sim::{Machine, MachineStats, Transmission};

use crate::border::lossy_text;

/// Virtual time at which the client connects, in nanoseconds: `PACELINE_START`.
const START: u64 = 1_000_000_000;
/// The time that never comes: `PACELINE_NEVER`.
const NEVER: u64 = u64::MAX;
/// Least bytes of the buffers that machines write to: the largest UDP payload.
const CAPACITY: usize = 65_536;
/// Number of datagrams for which these buffers have room: `paceline_quic.h` promises it.
const DATAGRAMS: usize = 10;
/// Number of timers in a row that may expire at one time.
const TIMERS_AT_ONCE: u32 = 10_000;

/// `paceline_transmission`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CTransmission {
    /// Bytes of all datagrams together; 0 if there are none.
    pub size: usize,
    /// Bytes of each datagram but the last; 0 for a single one.
    pub segment: usize,
    /// Their ECN field.
    pub ecn: c_int,
}

/// `paceline_machine_stats`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CStats {
    /// The congestion window in bytes.
    pub cwnd: u64,
    /// The pacing rate in bit/s; 0 if there is none.
    pub pacing_bps: u64,
    /// Packets sent since the start.
    pub sent: u64,
    /// Packets declared lost since the start.
    pub lost: u64,
    /// The largest datagram in bytes.
    pub mtu: u16,
}

type SelfPointer = *mut c_void;

/// Declares the table of a stack's functions as C passes it, where each may be null, and as machines
/// call it.
macro_rules! calls {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// `paceline_machine_calls`.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the header describes the functions")]
        pub struct MachineCalls {
            $(pub $name: Option<unsafe extern "C" fn(SelfPointer $(, $argument)*) $(-> $result)?>,)*
            pub failure: Option<unsafe extern "C" fn(SelfPointer) -> *const c_char>,
            pub destroy: Option<unsafe extern "C" fn(SelfPointer)>,
        }

        /// The functions of a stack, none of which is missing.
        #[derive(Clone, Copy)]
        pub(crate) struct Calls {
            $($name: unsafe extern "C" fn(SelfPointer $(, $argument)*) $(-> $result)?,)*
            failure: Option<unsafe extern "C" fn(SelfPointer) -> *const c_char>,
            destroy: unsafe extern "C" fn(SelfPointer),
        }

        impl Calls {
            /// Checks that no function is missing.
            ///
            /// # Errors
            /// One is; the error names it.
            pub(crate) fn new(calls: &MachineCalls) -> Result<Calls, String> {
                let missing = |name: &str| format!("calls.{name} is NULL: the stack needs this function");
                Ok(Calls {
                    $($name: calls.$name.ok_or_else(|| missing(stringify!($name)))?,)*
                    failure: calls.failure,
                    destroy: calls.destroy.ok_or_else(|| missing("destroy"))?,
                })
            }
        }
    };
}

calls! {
    connect: fn(u64);
    is_established: fn() -> c_int;
    timeout: fn() -> u64;
    on_timeout: fn(u64);
    on_datagram: fn(u64, c_int, *const u8, usize, *mut u8, usize, *mut CTransmission);
    transmit: fn(u64, *mut u8, usize, *mut CTransmission);
    write: fn(*const u8, usize) -> usize;
    finish: fn();
    reset: fn();
    read: fn() -> u64;
    rtt: fn() -> u64;
    stats: fn(*mut CStats);
}

/// The origin of both ends' times: the instant at which the client connects.
pub(crate) type Origin = Arc<OnceLock<Instant>>;

/// A machine of a stack in C. It calls the stack's functions only on the thread on which it was
/// made.
pub(crate) struct CMachine {
    calls: Calls,
    this: SelfPointer,
    thread: ThreadId,
    origin: Origin,
    /// Bytes of the buffers that it writes to.
    capacity: usize,
    /// Why Paceline does not call the machine any more.
    problem: Cell<Option<&'static str>>,
    timers: (u64, u32),
}

// SAFETY: every function checks that it is on the machine's thread before it uses the pointer;
// elsewhere the pointer is not used, and not freed.
unsafe impl Send for CMachine {}

impl CMachine {
    /// Takes over a machine that a stack has made on this thread.
    ///
    /// # Safety
    /// `this` is a machine for `calls`, which nothing else uses or frees.
    pub(crate) unsafe fn new(
        calls: Calls,
        this: SelfPointer,
        origin: Origin,
        datagram_size: u16,
    ) -> CMachine {
        let (thread, problem, timers) = (thread::current().id(), Cell::new(None), (0, 0));
        let capacity = CAPACITY.max(DATAGRAMS * usize::from(datagram_size));
        CMachine { calls, this, thread, origin, capacity, problem, timers }
    }

    /// Returns the machine's pointer if it may be used.
    fn this(&self) -> Option<SelfPointer> {
        if thread::current().id() != self.thread {
            self.stop("Paceline called the machine on another thread");
        }
        self.problem.get().is_none().then_some(self.this)
    }

    /// Calls the machine no more, for this reason.
    fn stop(&self, problem: &'static str) {
        self.problem.set(self.problem.get().or(Some(problem)));
    }

    /// Returns the time of an instant; the first instant is the origin.
    fn nanos(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(*self.origin.get_or_init(|| now));
        u64::try_from(since.as_nanos()).unwrap_or(NEVER).saturating_add(START)
    }

    /// Returns a transmission that the machine has written.
    fn transmission(&self, sent: &CTransmission) -> Option<Transmission> {
        let ecn = u8::try_from(sent.ecn).ok().filter(|bits| *bits < 4);
        match (ecn, sent.size) {
            (_, 0) => None,
            (_, size) if size > self.capacity => {
                self.stop("the machine wrote more bytes than its buffer has");
                None
            }
            (None, _) => {
                self.stop("the machine's ECN field is not 0 to 3");
                None
            }
            (Some(bits), size) => {
                let segment = (sent.segment > 0).then_some(sent.segment);
                Some(Transmission { size, segment, ecn: Ecn::of_bits(bits) })
            }
        }
    }
}

impl Drop for CMachine {
    fn drop(&mut self) {
        if thread::current().id() == self.thread {
            // SAFETY: the machine is on its thread, and is not used after this.
            unsafe { (self.calls.destroy)(self.this) };
        }
    }
}

// SAFETY of all calls below: `this` returns the pointer of a living machine on its own thread, and
// the buffers are valid during the call.
impl Machine for CMachine {
    fn connect(&mut self, now: Instant) {
        let now = self.nanos(now);
        if let Some(this) = self.this() {
            unsafe { (self.calls.connect)(this, now) };
        }
    }

    fn is_established(&self) -> bool {
        self.this().is_some_and(|this| unsafe { (self.calls.is_established)(this) } != 0)
    }

    fn timeout(&mut self) -> Option<Instant> {
        let origin = *self.origin.get()?;
        let expiry = unsafe { (self.calls.timeout)(self.this()?) };
        (expiry != NEVER)
            .then(|| origin.checked_add(Duration::from_nanos(expiry.saturating_sub(START))))
            .flatten()
    }

    fn on_timeout(&mut self, now: Instant) {
        let now = self.nanos(now);
        let (last, count) = self.timers;
        self.timers = if last == now { (now, count + 1) } else { (now, 1) };
        if self.timers.1 > TIMERS_AT_ONCE {
            self.stop("the machine's timer expires again and again at one time");
        }
        if let Some(this) = self.this() {
            unsafe { (self.calls.on_timeout)(this, now) };
        }
    }

    fn on_datagram(
        &mut self,
        now: Instant,
        ecn: Ecn,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Option<Transmission> {
        let (now, this) = (self.nanos(now), self.this()?);
        answer.resize(self.capacity, 0);
        let mut sent = CTransmission::default();
        let (bytes, place) = (datagram.as_ptr(), answer.as_mut_ptr());
        let on_datagram = self.calls.on_datagram;
        unsafe {
            on_datagram(
                this,
                now,
                c_int::from(ecn as u8),
                bytes,
                datagram.len(),
                place,
                self.capacity,
                &raw mut sent,
            );
        }
        self.transmission(&sent)
    }

    fn transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmission> {
        let (now, this) = (self.nanos(now), self.this()?);
        let capacity = self.capacity;
        buffer.resize(capacity, 0);
        let mut sent = CTransmission::default();
        unsafe { (self.calls.transmit)(this, now, buffer.as_mut_ptr(), capacity, &raw mut sent) };
        self.transmission(&sent)
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        let Some(this) = self.this() else { return 0 };
        let taken = unsafe { (self.calls.write)(this, bytes.as_ptr(), bytes.len()) };
        if taken > bytes.len() {
            self.stop("the machine took more bytes than were written");
            return 0;
        }
        taken
    }

    fn finish(&mut self) {
        if let Some(this) = self.this() {
            unsafe { (self.calls.finish)(this) };
        }
    }

    fn reset(&mut self) {
        if let Some(this) = self.this() {
            unsafe { (self.calls.reset)(this) };
        }
    }

    fn read(&mut self) -> u64 {
        self.this().map_or(0, |this| unsafe { (self.calls.read)(this) })
    }

    fn rtt(&self) -> Duration {
        let rtt = self.this().map_or(0, |this| unsafe { (self.calls.rtt)(this) });
        Duration::from_nanos(rtt)
    }

    fn stats(&mut self) -> MachineStats {
        let mut stats = CStats::default();
        if let Some(this) = self.this() {
            unsafe { (self.calls.stats)(this, &raw mut stats) };
        }
        let CStats { cwnd, pacing_bps, sent, lost, mtu } = stats;
        let pacing_bps = (pacing_bps > 0).then_some(pacing_bps);
        MachineStats { cwnd, mtu, pacing_bps, sent, lost }
    }

    fn failure(&self) -> Option<String> {
        if let Some(problem) = self.problem.get() {
            return Some(problem.into());
        }
        let (failure, this) = (self.calls.failure?, self.this()?);
        unsafe { lossy_text(failure(this)) }
    }
}
