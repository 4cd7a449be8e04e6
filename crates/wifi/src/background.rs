//! Background stations: stations of other networks that use the same channel, of whose frames only
//! the times are modelled.

use paceline_cc::{Span, Stream, Time};

use super::Medium;

/// How much of the past of background stations is simulated when a station gets a packet to send.
/// Their earlier behaviour does not matter.
const HISTORY: Span = Span::from_millis(500);

/// Settings of a background station. It contends like any other station, and never gives a frame
/// up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundConfig {
    /// Minimum and maximum duration of a frame, including its acknowledgement; durations are
    /// uniform in between.
    pub airtime: (Span, Span),
    /// Mean pause after a frame, exponentially distributed; zero if there always is another frame.
    pub gap: Span,
}

impl BackgroundConfig {
    /// Creates a station whose frames take from half to one and a half times `airtime`.
    pub fn new(airtime: Span, gap: Span) -> BackgroundConfig {
        BackgroundConfig { airtime: (airtime / 2, airtime + airtime / 2), gap }
    }

    /// Returns the part of the time in which it transmits if it never has to wait.
    pub(super) fn load(&self) -> f64 {
        let airtime = (self.airtime.0 + self.airtime.1).as_secs_f64() / 2.0;
        airtime / (airtime + self.gap.as_secs_f64()).max(1e-9)
    }
}

/// A background station.
pub(super) struct Background {
    random: Stream,
    settings: BackgroundConfig,
    pub(super) has_frame: bool,
    /// True while it transmits.
    pub(super) on_air: bool,
    /// When its next frame comes, if it has none.
    comes: Time,
    /// Duration of its next frame without a collision.
    pub(super) airtime: Span,
    /// Duration of its next frame with a collision; `None` if it is the same.
    pub(super) collision: Option<Span>,
    /// Frames that arrived, and frames that collided.
    pub(super) sent: u64,
    pub(super) collided: u64,
}

impl Background {
    pub(super) fn new(settings: BackgroundConfig, random: Stream) -> Background {
        let mut station = Background {
            random,
            settings,
            has_frame: false,
            on_air: false,
            comes: Time::ZERO,
            airtime: Span::ZERO,
            collision: None,
            sent: 0,
            collided: 0,
        };
        station.pause(Time::ZERO);
        station.airtime = station.draw_airtime();
        station
    }

    fn draw_airtime(&mut self) -> Span {
        let (shortest, longest) = self.settings.airtime;
        let more = longest - shortest;
        if more.is_zero() { shortest } else { shortest + more.mul_f64(self.random.uniform()) }
    }

    /// Begins a pause at `from`.
    fn pause(&mut self, from: Time) {
        self.has_frame = false;
        self.comes = match self.settings.gap.is_zero() {
            true => from,
            false => {
                from + Span::from_secs_f64(self.random.exponential(self.settings.gap.as_secs_f64()))
            }
        };
    }

    /// Ends its transmission.
    fn end(&mut self, at: Time, collided: bool) {
        self.on_air = false;
        if collided {
            self.collided += 1;
        } else {
            self.sent += 1;
            if !self.settings.gap.is_zero() {
                self.pause(at);
            }
        }
        self.airtime = self.draw_airtime();
    }

    /// Forgets everything before `from`. Draws pauses again that ended before, which is correct
    /// because exponential times have no memory. Without this, all background stations would
    /// transmit one after the other.
    fn restart(&mut self, from: Time) {
        if !self.settings.gap.is_zero() && (self.has_frame || self.comes < from) {
            self.pause(from);
        }
    }
}

impl Medium {
    /// Returns when the next station or background station starts, or gets a frame to send.
    pub(super) fn next_start(&self) -> Time {
        let all = self.stations.len() + self.background.len();
        let waiting = self.background.iter().filter(|station| !station.has_frame);
        let comes = waiting.map(|station| station.comes).min().unwrap_or(Time::NEVER);
        self.contention.earliest(all).min(comes)
    }

    /// Returns true if no station has a frame, so that background stations need no simulation.
    fn nobody_waits(&self) -> bool {
        !self.simulating_background && self.stations.iter().all(|station| !station.has_frame())
    }

    /// Sets the next event while the medium is idle.
    pub(super) fn set_due(&mut self) {
        self.due = if self.nobody_waits() { Time::NEVER } else { self.next_start() };
    }

    /// Gives frames to background stations at `at`, while the medium is idle. Returns true if a
    /// transmission is also due then.
    pub(super) fn background_frames(&mut self, at: Time) -> bool {
        let difs = self.config.phy.difs();
        for (number, station) in (self.stations.len()..).zip(&mut self.background) {
            if !station.has_frame && station.comes <= at {
                station.has_frame = true;
                self.contention.frame_came(number, at, difs, false, true);
            }
        }
        self.due = self.next_start();
        self.due <= at
    }

    /// Lets a background station transmit alone from `at` on.
    pub(super) fn transmit_background(&mut self, at: Time, number: usize) {
        let airtime = self.background.get(number).map_or(Span::ZERO, |station| station.airtime);
        let end = at + airtime;
        self.contention.resume_all(end + self.config.phy.difs());
        self.end_at(end, false);
    }

    /// Ends an exchange at `at`: background stations continue with their next frames.
    pub(super) fn end_background(&mut self, at: Time) {
        let Medium { config, contention, collided, .. } = self;
        let (difs, cw) = (config.phy.difs(), (config.phy.cw_min, config.phy.cw_max));
        for (number, station) in (self.stations.len()..).zip(&mut self.background) {
            if station.on_air {
                station.end(at, *collided);
                match *collided {
                    true => contention.widen(number, cw.1),
                    false => contention.reset(number, cw.0),
                }
                contention.draw(number);
                contention.resume(number, contention.counts_from(number), station.has_frame);
            } else if !station.has_frame && station.comes < at {
                station.has_frame = true;
                contention.frame_came(number, station.comes, difs, true, true);
            }
        }
    }

    /// Simulates background stations among themselves until `now`. For a packet that comes after a
    /// time in which no station had any.
    pub(super) fn catch_up_background(&mut self, now: Time) {
        let earliest = now - HISTORY;
        if self.end < earliest {
            for (number, station) in (self.stations.len()..).zip(&mut self.background) {
                station.restart(earliest);
                self.contention.resume(number, earliest, station.has_frame);
            }
            self.end = earliest;
        }
        self.simulating_background = true;
        self.due = self.next_start();
        while self.due < now {
            self.next_event();
        }
        self.simulating_background = false;
    }

    /// Lets background stations contend among themselves until the first of them has had `turns`
    /// turns. Returns its turns without a collision, and when the last exchange ended.
    pub(super) fn run_background(&mut self, turns: u64) -> (u64, Time) {
        let had = |medium: &Medium| {
            medium.background.first().map_or((turns, 0), |first| (first.sent, first.collided))
        };
        self.simulating_background = true;
        self.due = self.next_start();
        while had(self).0 + had(self).1 < turns && self.due != Time::NEVER {
            self.next_event();
        }
        self.simulating_background = false;
        (had(self).0, self.end)
    }
}
