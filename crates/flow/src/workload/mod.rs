//! What the application has to send, and when.

mod video;

use paceline_cc::{Rate, Setup, Span, Stream, Time};

use video::Encoder;
pub use video::{Frame, Video, VideoStats};

/// A random amount: of time in seconds, or of bytes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Amount {
    /// Always the same.
    Fixed(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this shape and least value.
    Pareto {
        /// The shape; the mean is infinite up to 1.
        shape: f64,
        /// The least value.
        scale: f64,
    },
    /// The bytes of flows at ICSI in March 2012, and `plus` more: Pareto's distribution with shape
    /// 0.5 and least value 147, less 40, and at most 3.3 GB (Winstein's thesis, Fig. 3-3 and
    /// §3.6.1). Its mean is that of the longest flows.
    Icsi {
        /// Bytes added to each; 16,000 in the thesis.
        plus: f64,
    },
}

/// The longest of [`Amount::Icsi`], without what is added.
const LONGEST_ICSI: f64 = 3.3e9;

impl Amount {
    /// Draws an amount.
    pub fn draw(&self, random: &mut Stream) -> f64 {
        match *self {
            Amount::Fixed(value) => value,
            Amount::Exponential(mean) => random.exponential(mean),
            Amount::Pareto { shape, scale } => random.pareto(shape, scale),
            Amount::Icsi { plus } => plus + (random.pareto(0.5, 147.0) - 40.0).min(LONGEST_ICSI),
        }
    }
}

/// How long an on-period lasts.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum On {
    /// For so many seconds, during which there is always something to send.
    Time(Amount),
    /// Until so many bytes are acknowledged.
    Bytes(Amount),
}

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Always something to send.
    Bulk,
    /// So many bytes (on the wire, headers included), then nothing more.
    Bytes(u64),
    /// The application makes data at this rate, in messages of so many bytes.
    Limited {
        /// The application's rate.
        rate: Rate,
        /// Bytes of a message.
        message: u32,
    },
    /// Switches on and off.
    OnOff {
        /// The on-periods.
        on: On,
        /// The off-periods, in seconds.
        off: Amount,
        /// True if the flow begins with an off-period.
        starts_off: bool,
        /// True if each on-period is a new connection: window and estimates begin anew.
        fresh: bool,
    },
    /// Frames of a video whose encoder follows the rate that the flow may send at.
    Video(Video),
    /// The driver says how many bytes wait: [`Sender::set_ready`](crate::Sender::set_ready). For
    /// drivers that carry somebody's data.
    Supplied,
}

/// A finished transfer: when its first byte was ready, when its last was acknowledged, its size.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transfer {
    /// When it began.
    pub start: Time,
    /// When its last byte was acknowledged.
    pub end: Time,
    /// Bytes on the wire.
    pub bytes: u64,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Not started, or between on-periods.
    Off,
    /// There is always something to send.
    Unlimited,
    /// `left` bytes wait to be sent.
    Counted,
    /// All bytes are sent; waiting for their acknowledgement.
    Draining,
    /// Nothing will come any more.
    Over,
}

/// The application of one flow.
#[derive(Debug)]
pub(crate) struct Source {
    workload: Box<Workload>,
    /// Of workloads that draw amounts. The stream is large, and most flows need none.
    random: Option<Box<Stream>>,
    phase: Phase,
    stop: Time,
    /// When the phase changes, or the next message is ready.
    next: Time,
    /// Bytes that may be sent: `u64::MAX` in phase `Unlimited`, and zero but in `Counted`.
    left: u64,
    /// Bytes of the present transfer, and when it began.
    transfer: u64,
    started: Time,
    encoder: Option<Box<Encoder>>,
    /// How long it was on, the present period not included, and when that began.
    was_on: Span,
    on_since: Option<Time>,
}

impl Source {
    /// The application of `workload`; `random` gives the random stream of those that draw.
    pub(crate) fn new(
        workload: Workload,
        start: Time,
        stop: Time,
        random: impl FnOnce() -> Stream,
    ) -> Source {
        let encoder = match &workload {
            Workload::Video(video) => Some(Box::new(Encoder::new(video))),
            _ => None,
        };
        let draws = matches!(workload, Workload::OnOff { .. } | Workload::Video(_));
        let mut source = Source {
            encoder,
            workload: Box::new(workload),
            random: draws.then(|| Box::new(random())),
            phase: Phase::Off,
            stop,
            next: start,
            left: 0,
            transfer: 0,
            started: start,
            was_on: Span::ZERO,
            on_since: None,
        };
        if let Workload::OnOff { off, starts_off: true, .. } = *source.workload {
            let wait = Span::from_secs_f64(source.draw(&off));
            source.next += wait;
        }
        source
    }

    /// Draws an amount; zero if the workload is none that draws.
    fn draw(&mut self, amount: &Amount) -> f64 {
        self.random.as_mut().map_or(0.0, |random| amount.draw(random))
    }

    /// Bytes that may be sent now, at most `u64::MAX`.
    #[inline]
    pub(crate) fn ready(&self) -> u64 {
        self.left
    }

    /// When [`Source::update`] is next worth calling.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// True from the start of an on-period until its last byte is acknowledged.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.phase, Phase::Off | Phase::Over)
    }

    /// Tells an encoder at which rate the flow may send.
    #[inline]
    pub(crate) fn set_target(&mut self, target: Rate) {
        if let Some(encoder) = &mut self.encoder {
            encoder.set_target(target);
        }
    }

    /// The frames so far, if it is a video.
    pub(crate) fn video(&self) -> Option<(&[Frame], VideoStats)> {
        self.encoder.as_ref().map(|encoder| (encoder.frames(), encoder.stats()))
    }

    /// Moves on to `now`. True if a new connection begins.
    pub(crate) fn update(&mut self, now: Time) -> bool {
        let mut fresh = false;
        while self.next <= now {
            if self.next >= self.stop || self.phase == Phase::Over {
                let at = self.next;
                self.left = 0;
                self.phase = Phase::Over;
                self.next = Time::NEVER;
                self.note_phase(at);
                break;
            }
            let at = self.next;
            fresh |= self.step();
            self.note_phase(at);
        }
        fresh
    }

    /// Ends everything at `now`: nothing more comes.
    pub(crate) fn stop(&mut self, now: Time) {
        (self.stop, self.next) = (now, now);
    }

    /// Notes whether it is on from `at` on.
    fn note_phase(&mut self, at: Time) {
        match (self.on_since, self.is_on()) {
            (None, true) => self.on_since = Some(at),
            (Some(since), false) => {
                self.was_on += at.since(since);
                self.on_since = None;
            }
            _ => {}
        }
    }

    /// Returns since when it is on: since when it has something to send, or waits for the last
    /// acknowledgement of it; `None` while it is off.
    #[inline]
    pub(crate) fn on_since(&self) -> Option<Time> {
        self.on_since
    }

    /// How long until `now` it had something to send, or waited for the last acknowledgement of it.
    pub(crate) fn on_time(&self, now: Time) -> Span {
        self.was_on + self.on_since.map_or(Span::ZERO, |since| now.since(since))
    }

    fn step(&mut self) -> bool {
        let at = self.next;
        match (&*self.workload, self.phase) {
            (Workload::Bulk, _) => {
                (self.phase, self.left) = (Phase::Unlimited, u64::MAX);
                self.next = self.stop;
            }
            (Workload::Bytes(bytes), _) => {
                let bytes = *bytes;
                self.begin(at, bytes);
                self.next = self.stop;
            }
            (Workload::Limited { rate, message }, _) => {
                self.phase = Phase::Counted;
                self.left = self.left.saturating_add(*message as u64);
                let gap = rate.time_for(*message as u64).max(Span::from_nanos(1));
                self.next = (at + gap).min(self.stop.max(at + Span::from_nanos(1)));
            }
            (Workload::Video(_), _) => {
                self.phase = Phase::Counted;
                if let (Some(encoder), Some(random)) = (&mut self.encoder, &mut self.random) {
                    self.left = encoder.frame(at, self.left, random);
                    self.next = at + encoder.gap();
                }
            }
            (Workload::Supplied, _) => {
                // What the driver had before the start.
                (self.phase, self.left) = (Phase::Counted, self.transfer);
                self.next = self.stop;
            }
            (&Workload::OnOff { off, .. }, Phase::Unlimited) => {
                (self.phase, self.left) = (Phase::Off, 0);
                self.next = at + Span::from_secs_f64(self.draw(&off));
            }
            (&Workload::OnOff { on: On::Time(time), fresh, .. }, _) => {
                let length = self.draw(&time);
                (self.phase, self.left) = (Phase::Unlimited, u64::MAX);
                // At least a nanosecond, so that time moves on.
                self.next = at + Span::from_secs_f64(length).max(Span::from_nanos(1));
                return fresh;
            }
            (&Workload::OnOff { on: On::Bytes(bytes), fresh, .. }, _) => {
                let bytes = self.draw(&bytes).max(1.0) as u64;
                self.begin(at, bytes);
                self.next = self.stop;
                return fresh;
            }
        }
        false
    }

    fn begin(&mut self, at: Time, bytes: u64) {
        self.phase = Phase::Counted;
        self.left = bytes;
        self.transfer = bytes;
        self.started = at;
    }

    /// `bytes` of those ready are sent.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u64) {
        if self.phase == Phase::Counted {
            self.left -= bytes.min(self.left);
            if let Some(encoder) = &mut self.encoder {
                encoder.on_packet(bytes);
            } else if self.left == 0
                && !matches!(*self.workload, Workload::Limited { .. } | Workload::Supplied)
            {
                self.phase = Phase::Draining;
            }
        }
    }

    /// So many bytes wait, in place of those that waited before. Without meaning but for
    /// [`Workload::Supplied`].
    #[inline]
    pub(crate) fn set_ready(&mut self, bytes: u64) {
        match self.phase {
            _ if !self.is_supplied() => {}
            Phase::Counted => self.left = bytes,
            _ => self.transfer = bytes,
        }
    }

    /// True if more may come of what the driver supplies.
    #[inline]
    pub(crate) fn is_supplied(&self) -> bool {
        matches!(*self.workload, Workload::Supplied) && self.phase != Phase::Over
    }

    /// True if everything of a counted transfer was sent and its end is to be noticed.
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.phase == Phase::Draining
    }

    /// The transfer of a given size that is not finished at `now`, which stands for its end.
    pub(crate) fn unfinished(&self, now: Time) -> Option<Transfer> {
        let counted =
            matches!(*self.workload, Workload::Bytes(_) | Workload::OnOff { on: On::Bytes(_), .. });
        let runs = matches!(self.phase, Phase::Counted | Phase::Draining);
        let transfer = Transfer { start: self.started, end: now, bytes: self.transfer };
        (counted && runs).then_some(transfer)
    }

    /// All that was sent is acknowledged: ends a counted transfer.
    pub(crate) fn on_drained(&mut self, now: Time) -> Transfer {
        let done = Transfer { start: self.started, end: now, bytes: self.transfer };
        match *self.workload {
            Workload::OnOff { off, .. } => {
                self.phase = Phase::Off;
                self.next = now + Span::from_secs_f64(self.draw(&off));
            }
            _ => {
                self.phase = Phase::Over;
                self.next = Time::NEVER;
            }
        }
        self.note_phase(now);
        done
    }
}

/// The on-periods of a workload that switches by time: when each begins and ends. They do not depend
/// on what the network does, so that they are known without it. A flow with the same workload, start
/// and random stream has the same ones.
///
/// ```
/// use paceline_cc::{Setup, Time};
/// use paceline_flow::{Amount, On, Periods, Workload};
///
/// let workload = Workload::OnOff {
///     on: On::Time(Amount::Fixed(2.0)),
///     off: Amount::Fixed(1.0),
///     starts_off: true,
///     fresh: true,
/// };
/// let mut periods = Periods::new(workload, Time::ZERO, &Setup::new(1, 0)).expect("by time");
/// assert_eq!(periods.next(), Some((Time::from_secs(1), Time::from_secs(3))));
/// assert_eq!(periods.next(), Some((Time::from_secs(4), Time::from_secs(6))));
/// ```
#[derive(Debug)]
pub struct Periods(Source);

impl Periods {
    /// The on-periods of the flow with this setup, which starts at `start`; `None` if the workload
    /// does not switch by time.
    pub fn new(workload: Workload, start: Time, setup: &Setup) -> Option<Periods> {
        let by_time = matches!(workload, Workload::OnOff { on: On::Time(_), .. });
        let random = || setup.random("workload");
        by_time.then(|| Periods(Source::new(workload, start, Time::NEVER, random)))
    }
}

impl Iterator for Periods {
    type Item = (Time, Time);

    fn next(&mut self) -> Option<(Time, Time)> {
        let source = &mut self.0;
        // One step at a time: a period of no length between two others is an edge of each.
        let mut edge = || {
            let at = source.next();
            (at != Time::NEVER).then(|| source.step())?;
            Some(at)
        };
        Some((edge()?, edge()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(workload: Workload) -> Source {
        Source::new(workload, Time::from_secs(1), Time::from_secs(100), || Stream::new(1, "source"))
    }

    #[test]
    fn bulk_starts_and_stops() {
        let mut source = source(Workload::Bulk);
        assert_eq!((source.ready(), source.next()), (0, Time::from_secs(1)));
        source.update(Time::from_secs(1));
        assert_eq!((source.ready(), source.next()), (u64::MAX, Time::from_secs(100)));
        source.update(Time::from_secs(100));
        assert_eq!((source.ready(), source.next()), (0, Time::NEVER));
        assert_eq!(source.on_time(Time::from_secs(200)), Span::from_secs(99));
    }

    #[test]
    fn limited_makes_its_rate() {
        let rate = Rate::from_mbps(1.0);
        let mut source = source(Workload::Limited { rate, message: 1250 });
        source.update(Time::from_secs(11));
        // 10 s of 125 kB/s, the first message at once.
        assert_eq!(source.ready(), 1_251_250);
        source.update(Time::from_secs(200));
        assert_eq!((source.ready(), source.next()), (0, Time::NEVER));
    }

    #[test]
    fn periods_without_a_pause_follow_each_other() {
        let workload = Workload::OnOff {
            on: On::Time(Amount::Fixed(2.0)),
            off: Amount::Fixed(0.0),
            starts_off: true,
            fresh: true,
        };
        let periods = Periods::new(workload, Time::ZERO, &Setup::new(1, 0)).expect("by time");
        let expected = [0, 2, 4].map(|at| (Time::from_secs(at), Time::from_secs(at + 2)));
        assert_eq!(periods.take(3).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn supplied_bytes_are_what_the_driver_says() {
        let mut source = source(Workload::Supplied);
        source.set_ready(1000);
        assert_eq!(source.ready(), 0, "it has not begun");
        source.update(Time::from_secs(1));
        assert_eq!(source.ready(), 1000, "what waited before the start");
        source.set_ready(3000);
        source.take(3000);
        assert!(!source.is_draining() && source.ready() == 0 && source.is_supplied());
        source.set_ready(1500);
        assert_eq!(source.ready(), 1500);
        source.update(Time::from_secs(100));
        source.set_ready(1500);
        assert!(source.ready() == 0 && !source.is_supplied());
    }

    #[test]
    fn on_off_by_bytes_waits_for_the_acknowledgement() {
        let mut source = source(Workload::OnOff {
            on: On::Bytes(Amount::Fixed(3000.0)),
            off: Amount::Fixed(2.0),
            starts_off: false,
            fresh: true,
        });
        assert!(source.update(Time::from_secs(1)));
        source.take(1500);
        assert!(!source.is_draining());
        source.take(1500);
        assert!(source.is_draining() && source.ready() == 0);
        let done = source.on_drained(Time::from_secs(5));
        assert_eq!((done.bytes, done.start), (3000, Time::from_secs(1)));
        assert_eq!(source.next(), Time::from_secs(7));
        assert_eq!(source.on_time(Time::from_secs(6)), Span::from_secs(4));
        assert!(source.update(Time::from_secs(7)));
        assert_eq!(source.ready(), 3000);
        assert_eq!(source.on_time(Time::from_secs(9)), Span::from_secs(6));
    }

    #[test]
    fn flow_lengths_of_icsi() {
        let mut random = Stream::new(1, "flows");
        let amount = Amount::Icsi { plus: 16_000.0 };
        let mut lengths: Vec<f64> = (0..100_000).map(|_| amount.draw(&mut random)).collect();
        lengths.sort_by(f64::total_cmp);
        assert!(lengths[0] >= 16_107.0 && lengths[99_999] <= 3.3e9 + 16_000.0);
        // The share above x + 40 is the root of 147 / (x + 40).
        for (share, length) in [(0.5, 548.0), (0.9, 14_660.0), (0.99, 1_469_960.0)] {
            let seen = lengths[(share * 1e5) as usize] - 16_000.0;
            assert!((seen / length - 1.0).abs() < 0.1, "{share}: {seen}");
        }
    }

    #[test]
    fn on_off_by_time_has_its_duty_cycle() {
        let mut source = Source::new(
            Workload::OnOff {
                on: On::Time(Amount::Exponential(1.0)),
                off: Amount::Exponential(3.0),
                starts_off: true,
                fresh: false,
            },
            Time::ZERO,
            Time::NEVER,
            || Stream::new(1, "source"),
        );
        let on = (0..100_000)
            .filter(|&i| {
                source.update(Time::from_millis(100 * i));
                source.ready() > 0
            })
            .count();
        assert!((22_000..28_000).contains(&on), "{on}");
    }
}
