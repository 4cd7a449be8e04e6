//! The data that the application has to send, and when.

mod audio;
mod frames;
mod overshoot;
mod video;

use paceline_cc::{Rate, Setup, Span, Stream, Time};

pub use audio::Audio;
pub use frames::FrameSource;
use video::Encoder;
pub use video::{Frame, Video, VideoStats};

/// A random amount, in seconds or in bytes.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Amount {
    /// Always this value.
    Fixed(f64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto with this shape and minimum.
    Pareto {
        /// The shape; the mean is infinite up to 1.
        shape: f64,
        /// The minimum.
        scale: f64,
    },
    /// Sizes in bytes of flows at ICSI in March 2012, increased by `plus`: Pareto's distribution
    /// with shape 0.5 and minimum 147, minus 40, at most 3.3 GB (Winstein's thesis, Fig. 3-3 and
    /// §3.6.1). The longest flows dominate the mean.
    Icsi {
        /// Bytes added to each flow; 16,000 in the thesis.
        plus: f64,
    },
}

/// Largest value of [`Amount::Icsi`], before `plus` is added.
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

/// Length of an on-period.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum On {
    /// Lasts for this time in seconds, during which there is always data to send.
    Time(Amount),
    /// Lasts until this number of bytes is acknowledged.
    Bytes(Amount),
}

/// The data that a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// There is always data to send.
    Bulk,
    /// This number of bytes (on the wire, headers included), then nothing more.
    Bytes(u64),
    /// The application produces data at a rate, in messages of a fixed size.
    Limited {
        /// The application's rate.
        rate: Rate,
        /// Size of a message in bytes.
        message: u32,
    },
    /// Switches between on- and off-periods.
    OnOff {
        /// The on-periods.
        on: On,
        /// The off-periods, in seconds.
        off: Amount,
        /// True if the flow begins with an off-period.
        starts_off: bool,
        /// True if each on-period is a new connection: window and estimates start anew.
        fresh: bool,
    },
    /// Frames of a video whose encoder follows the rate at which the flow may send.
    Video(Video),
    /// Packets of one size at a steady rate, whatever the rate at which the flow may send.
    Audio(Audio),
    /// The driver sets how many bytes wait: [`Sender::set_ready`](crate::Sender::set_ready). For
    /// drivers that carry data from outside.
    Supplied,
}

/// A finished transfer of a known size.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transfer {
    /// When its first byte was ready.
    pub start: Time,
    /// When its last byte was acknowledged.
    pub end: Time,
    /// Size in bytes on the wire.
    pub bytes: u64,
}

impl Transfer {
    /// Creates a transfer, for ends that do not come from this crate.
    pub fn new(start: Time, end: Time, bytes: u64) -> Transfer {
        Transfer { start, end, bytes }
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Not started, or between on-periods.
    Off,
    /// There is always something to send.
    Unlimited,
    /// `left` bytes wait to be sent.
    Counted,
    /// All bytes are sent; the last acknowledgement is awaited.
    Draining,
    /// No data will come any more.
    Over,
}

/// The application of one flow.
#[derive(Debug)]
pub(crate) struct Source {
    workload: Box<Workload>,
    /// Random stream of workloads that draw amounts. The stream is large, and most flows need none.
    random: Option<Box<Stream>>,
    phase: Phase,
    stop: Time,
    /// When the phase changes, or when the next message is ready.
    next: Time,
    /// Bytes that may be sent: `u64::MAX` in phase `Unlimited`, and zero in all phases except
    /// `Counted`.
    left: u64,
    /// Size in bytes of the present transfer, and when it began.
    transfer: u64,
    started: Time,
    encoder: Option<Box<Encoder>>,
    /// Total on-time without the present on-period, and when the present one began.
    was_on: Span,
    on_since: Option<Time>,
}

impl Source {
    /// Returns the application of `workload`. `random` makes the random stream for workloads that
    /// draw amounts. With `own_packets`, packets carry data of one frame of a video or of audio only.
    pub(crate) fn new(
        workload: Workload,
        start: Time,
        stop: Time,
        own_packets: bool,
        random: impl FnOnce() -> Stream,
    ) -> Source {
        let encoder = match &workload {
            Workload::Video(video) => Some(Box::new(Encoder::new(video, own_packets))),
            Workload::Audio(audio) => Some(Box::new(Encoder::new(&audio.frames(), own_packets))),
            _ => None,
        };
        let draws = encoder.is_some() || matches!(workload, Workload::OnOff { .. });
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

    /// Draws an amount; returns zero if the workload draws none.
    fn draw(&mut self, amount: &Amount) -> f64 {
        self.random.as_mut().map_or(0.0, |random| amount.draw(random))
    }

    /// Returns the bytes that may be sent now, at most `u64::MAX`.
    #[inline]
    pub(crate) fn ready(&self) -> u64 {
        self.left
    }

    /// Returns when [`Source::update`] is next worth calling.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Returns true from the start of an on-period until its last byte is acknowledged.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.phase, Phase::Off | Phase::Over)
    }

    /// Tells a video's encoder the rate at which the flow may send.
    #[inline]
    pub(crate) fn set_target(&mut self, target: Rate, left_out_share: f64) {
        if let (Some(encoder), Workload::Video(_)) = (&mut self.encoder, &*self.workload) {
            encoder.set_target(target, left_out_share);
        }
    }

    /// Tells a video's encoder one more than the largest segment that was lost and is not sent again.
    #[inline]
    pub(crate) fn set_lost_end(&mut self, lost_end: u64) {
        if let Some(encoder) = &mut self.encoder {
            encoder.set_lost_end(lost_end);
        }
    }

    /// Returns the frames so far and their counts, if the workload is a video.
    pub(crate) fn video(&self) -> Option<(&[Frame], VideoStats)> {
        let encoder = self.encoder.as_ref()?;
        let is_video = matches!(*self.workload, Workload::Video(_));
        is_video.then(|| (encoder.frames(), encoder.stats()))
    }

    /// Returns the packets so far, if the workload is audio.
    pub(crate) fn audio(&self) -> Option<&[Frame]> {
        let is_audio = matches!(*self.workload, Workload::Audio(_));
        self.encoder.as_ref().filter(|_| is_audio).map(|encoder| encoder.frames())
    }

    /// Moves on to `now`. Returns true if a new connection begins.
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

    /// Ends the workload at `now`: no more data comes.
    pub(crate) fn stop(&mut self, now: Time) {
        (self.stop, self.next) = (now, now);
    }

    /// Notes whether the workload is on from time `at` on.
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

    /// Returns since when the workload is on, that is, has data to send or waits for the
    /// acknowledgement of its last data; `None` while it is off.
    #[inline]
    pub(crate) fn on_since(&self) -> Option<Time> {
        self.on_since
    }

    /// Returns how long until `now` the workload was on: it had data to send or waited for the
    /// acknowledgement of its last data.
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
            (Workload::Video(_) | Workload::Audio(_), _) => {
                self.phase = Phase::Counted;
                if let (Some(encoder), Some(random)) = (&mut self.encoder, &mut self.random) {
                    self.left = encoder.frame(at, self.left, random);
                    self.next = at + encoder.gap();
                }
            }
            (Workload::Supplied, _) => {
                // Data that the driver supplied before the start.
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
                // At least a nanosecond, so that time goes on.
                let soon = Span::from_nanos(1);
                self.next = at + Span::from_secs_f64(length).max(soon);
                self.next = self.next.min(self.stop.max(at + soon));
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

    /// Returns the bytes of new data that the next packet takes, at most `largest`, which is above zero.
    #[inline]
    pub(crate) fn packet_bytes(&self, largest: u64) -> u64 {
        match &self.encoder {
            Some(encoder) => encoder.packet_bytes(largest),
            None => largest,
        }
    }

    /// Takes `bytes` of the ready bytes, which are sent.
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

    /// Sets the number of bytes that wait, replacing the number set before. Has no effect except
    /// for [`Workload::Supplied`].
    #[inline]
    pub(crate) fn set_ready(&mut self, bytes: u64) {
        match self.phase {
            _ if !self.is_supplied() => {}
            Phase::Counted => self.left = bytes,
            _ => self.transfer = bytes,
        }
    }

    /// Returns true if the driver may supply more data.
    #[inline]
    pub(crate) fn is_supplied(&self) -> bool {
        matches!(*self.workload, Workload::Supplied) && self.phase != Phase::Over
    }

    /// Returns true if all data of a counted transfer was sent and its end is awaited.
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.phase == Phase::Draining
    }

    /// Returns the transfer of known size that is not finished at `now`, with `now` as its end.
    pub(crate) fn unfinished(&self, now: Time) -> Option<Transfer> {
        let counted =
            matches!(*self.workload, Workload::Bytes(_) | Workload::OnOff { on: On::Bytes(_), .. });
        let runs = matches!(self.phase, Phase::Counted | Phase::Draining);
        let transfer = Transfer { start: self.started, end: now, bytes: self.transfer };
        (counted && runs).then_some(transfer)
    }

    /// Ends a counted transfer, since all data sent is acknowledged.
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

/// The on-periods of a workload that switches by time: when each begins and ends. They do not
/// depend on the network, so they are known in advance. A flow with equal workload, start and
/// random stream has equal on-periods.
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
    /// Returns the on-periods of the flow with this setup, which starts at `start`; `None` if the
    /// workload does not switch by time.
    pub fn new(workload: Workload, start: Time, setup: &Setup) -> Option<Periods> {
        let by_time = matches!(workload, Workload::OnOff { on: On::Time(_), .. });
        let random = || setup.random("workload");
        by_time.then(|| Periods(Source::new(workload, start, Time::NEVER, false, random)))
    }
}

impl Iterator for Periods {
    type Item = (Time, Time);

    fn next(&mut self) -> Option<(Time, Time)> {
        let source = &mut self.0;
        // One step at a time, since a period of zero length between two others is an edge of both.
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
        let (start, stop) = (Time::from_secs(1), Time::from_secs(100));
        Source::new(workload, start, stop, false, || Stream::new(1, "source"))
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
    fn the_driver_sets_supplied_bytes() {
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
        // The share of flows longer than x is sqrt(147 / (x + 40)).
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
            false,
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
