//! Workloads of flows.

use paceline_cc::{Rate, Span};
use paceline_flow::{Amount, Audio, On, Video, Workload};

use super::error::ScenarioError;
use super::keys::{Inline, at_least, keys, within};
use super::limits::{self, AUDIO_RATES};
use super::reader::{At, Reader};
use super::table::Table;
use super::text::preimage;
use super::value::words;

/// An application that writes at a limited rate.
pub(super) struct Limited {
    rate: Rate,
    /// Bytes of a message; `None` for messages of one packet.
    message: Option<u32>,
}

keys! {
    /// Messages at a rate.
    FileLimited: "flow.limited" of Limited = Limited { rate: Rate::ZERO, message: None };
    /// rate of the bytes of all messages
    [required] rate: Rate, in at_least(Rate::from_bps(1), "write rate = \"2Mbps\"")
        .or("an application with a rate of zero sends nothing") => rate;
    /// bytes of a message
    message: u32, default "`mss`", in at_least(1, "write message = 1500")
        .or("a message of no bytes sends nothing") => message;
}

impl Limited {
    pub(super) fn new(rate: Rate, message: u32, mss: u32) -> Limited {
        Limited { rate, message: (message != mss).then_some(message) }
    }

    pub(super) fn workload(&self, mss: u32) -> Workload {
        Workload::Limited { rate: self.rate, message: self.message.unwrap_or(mss) }
    }
}

impl Inline for Limited {
    type File = FileLimited;
}

/// An application that switches on and off.
pub(super) struct OnOff {
    on: On,
    off: Span,
    starts_off: bool,
    fresh: bool,
}

keys! {
    /// On- and off-periods.
    FileOnOff: "flow.on_off" of OnOff = OnOff::new(On::Bytes(Amount::Fixed(0.0)), Span::ZERO);
    /// mean on-time, exponentially distributed
    on: Span;
    /// instead of `on`: mean on-size in bytes, exponentially distributed
    on_bytes: f64;
    /// instead of `on`: the lengths of flows seen at ICSI in 2012 (Pareto with shape 0.5 and
    /// minimum 147, minus 40, at most 3.3 GB; Winstein's thesis, Fig. 3-3), with this many bytes
    /// added to each
    on_icsi: f64;
    /// mean off-time, exponentially distributed
    [required] off: Span => off;
    /// shape of a Pareto distribution for the on-periods instead of the exponential one, with the
    /// same mean if above 1
    pareto: f64;
    /// true if the flow begins with an off-period
    starts_off: bool => starts_off;
    /// true if each on-period begins with a new connection
    fresh: bool => fresh;
}

impl OnOff {
    /// Creates an application that begins with an off-period and opens a new connection for each
    /// on-period.
    fn new(on: On, off: Span) -> OnOff {
        OnOff { on, off, starts_off: true, fresh: true }
    }

    /// Returns the periods of a workload, if files can express them.
    pub(super) fn of(
        on: On,
        off: Amount,
        starts_off: bool,
        fresh: bool,
    ) -> Result<OnOff, ScenarioError> {
        let Amount::Exponential(mean) = off else {
            let message = "off-periods are not exponential";
            return Err(ScenarioError::new(message).help("in files they always are"));
        };
        let off = period("off", mean, |period| period == mean)?;
        Ok(OnOff { on, off, starts_off, fresh })
    }

    pub(super) fn workload(&self) -> Workload {
        Workload::OnOff {
            on: self.on,
            off: Amount::Exponential(self.off.as_secs_f64()),
            starts_off: self.starts_off,
            fresh: self.fresh,
        }
    }
}

impl Inline for OnOff {
    type File = FileOnOff;

    fn finish(
        &mut self,
        reader: &Reader<'_>,
        written: &At<FileOnOff>,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        let shape = file.pareto(reader)?;
        let amount = |mean: f64| match shape {
            None => Amount::Exponential(mean),
            Some(shape) => Amount::Pareto { shape, scale: pareto_scale(shape, mean) },
        };
        self.on = match (file.on(reader)?, file.on_bytes(reader)?, file.on_icsi(reader)?) {
            (Some(time), None, None) => On::Time(amount(time.as_secs_f64())),
            (None, Some(bytes), None) if bytes >= 1.0 => On::Bytes(amount(bytes)),
            (None, None, Some(plus)) if !(0.0..=1e12).contains(&plus) || shape.is_some() => {
                let message = "on_icsi is a number of bytes, and has no shape of its own (pareto)";
                return reader.fail(written, message, "write on_icsi = 16000");
            }
            (None, None, Some(plus)) => On::Bytes(Amount::Icsi { plus }),
            _ => {
                let message = "on_off needs one of on (time), on_bytes and on_icsi";
                return reader.fail(written, message, "write on = \"5s\"");
            }
        };
        if shape.is_some_and(|shape| !(shape.is_finite() && shape > 0.0)) {
            let message = "the shape of a Pareto distribution is positive and finite";
            return reader.fail(written, message, "write pareto = 1.5");
        }
        reader.within(written, limits::cycle(&self.on, self.off))
    }

    fn write_rest(&self, table: &mut Table) -> Result<(), ScenarioError> {
        let (On::Time(amount) | On::Bytes(amount)) = self.on;
        // The inverse of how the reader interprets a mean.
        let (guess, shape) = match (self.on, amount) {
            (On::Bytes(_), Amount::Icsi { plus }) => return table.put("on_icsi", &plus),
            (On::Time(_), Amount::Icsi { .. }) => {
                return Err(ScenarioError::new(
                    "on-periods have the flow lengths of ICSI as times",
                )
                .help("these are bytes: On::Bytes"));
            }
            (_, Amount::Fixed(_)) => {
                return Err(ScenarioError::new("on-periods are all of one length")
                    .help("in files they are exponential or Pareto"));
            }
            (_, Amount::Exponential(mean)) => (mean, None),
            (_, Amount::Pareto { shape, scale }) => (pareto_mean(shape, scale), Some(shape)),
        };
        let gives = |mean: f64| match amount {
            Amount::Pareto { shape, scale } => pareto_scale(shape, mean) == scale,
            _ => mean == guess,
        };
        match self.on {
            On::Time(_) => table.put("on", &period("on", guess, gives)?)?,
            On::Bytes(_) => {
                let mean = preimage(guess, gives).ok_or_else(|| {
                    ScenarioError::new(format!("no mean of {guess} bytes gives these on-periods"))
                        .help("files write on-periods by their mean")
                })?;
                table.put("on_bytes", &mean)?;
            }
        }
        table.put_field("pareto", shape, None)
    }
}

/// Returns the minimum of a Pareto distribution with this mean, which is scale * shape / (shape -
/// 1).
fn pareto_scale(shape: f64, mean: f64) -> f64 {
    if shape > 1.0 { mean * (shape - 1.0) / shape } else { mean }
}

/// Returns the mean of a Pareto distribution with this minimum, up to rounding.
fn pareto_mean(shape: f64, scale: f64) -> f64 {
    if shape > 1.0 { scale * shape / (shape - 1.0) } else { scale }
}

/// Returns a time near `seconds` that `gives` accepts: files write whole nanoseconds.
fn period(key: &str, seconds: f64, gives: impl Fn(f64) -> bool) -> Result<Span, ScenarioError> {
    let nanos = Span::from_secs_f64(seconds).as_nanos();
    let near = (nanos.saturating_sub(1)..=nanos.saturating_add(1)).map(Span::from_nanos);
    near.into_iter().find(|span| gives(span.as_secs_f64())).ok_or_else(|| {
        ScenarioError::new(format!("{key} is {seconds} s in the mean"))
            .help("files write whole nanoseconds")
    })
}

keys! {
    /// Frames of an encoder that follows the scheme's rate.
    FileVideo: "flow.video" of Video = Video::default();
    /// frames per second
    fps: f64, in within(0.1..=1000.0, "write fps = 30") => fps;
    /// lowest rate of the encoder
    min: Rate => min;
    /// highest rate of the encoder
    max: Rate => max;
    /// time constant with which the encoder follows a higher rate of the scheme
    lag: Span => lag;
    /// time constant with which the encoder follows a lower rate of the scheme
    fall_lag: Span => fall_lag;
    /// share by which the sizes of frames vary
    noise: f64, in within(0.0..=1.0, "write noise = 0.2").or("noise is a share from 0 to 1") => noise;
    /// every frame whose number is a multiple of this is a key frame; 0 for the first alone
    key_every: u32 => key_every;
    /// size of a key frame, in multiples of other frames
    key_size: f64, in within(1.0..=100.0, "write key_size = 4") => key_size;
    /// how many times the receiver asks for a lost packet, an RTT apart (NACK); 0 for none. Schemes that send lost
    /// data again by themselves need no requests
    requests: u32 => requests;
    /// shortest time from a key frame to one that the receiver asks for (PLI), because a packet was lost that is not
    /// sent again, or has not arrived for 3 s; 0 for none on request
    key_gap: Span => key_gap;
    /// below this rate for 2 s the picture gets smaller, above 1.5 times this larger again, each time with
    /// a key frame; 0 for one size
    small_below: Rate => small_below;
    /// a frame is skipped if data worth more than this time is waiting
    queue: Span, in at_least(Span::from_nanos(1), "write queue = \"200ms\"")
        .or("a queue of no time lets no frame wait") => queue;
    /// time over which the encoder averages by how much its frames overshoot its rate, which it divides by this
    /// overshoot; 0 for an encoder that takes all of the rate
    overshoot_window: Span => overshoot_window;
}

impl Inline for Video {
    type File = FileVideo;

    fn finish(
        &mut self,
        reader: &Reader<'_>,
        written: &At<FileVideo>,
    ) -> Result<(), ScenarioError> {
        reader.within(written, limits::video(self))
    }
}

keys! {
    /// Audio, made at a steady rate whatever the scheme's rate.
    FileAudio: "flow.audio" of Audio = Audio::default();
    /// rate of the codec; each packet has 50 bytes of headers more (IPv4, UDP, SRTP)
    rate: Rate, in within(AUDIO_RATES, "write rate = \"32kbps\"") => rate;
    /// packets per second; at the rate, a packet may have at most 1200 bytes, headers included
    packets_per_s: f64, in within(1.0..=1000.0, "write packets_per_s = 50") => packets_per_s;
}

impl Inline for Audio {
    type File = FileAudio;

    fn finish(
        &mut self,
        reader: &Reader<'_>,
        written: &At<FileAudio>,
    ) -> Result<(), ScenarioError> {
        reader.within(written, limits::audio(self))
    }
}

/// A call in both directions.
pub(super) struct Call {
    pub(super) video: Video,
    pub(super) audio: Audio,
}

keys! {
    /// A call: four flows, one of video and one of audio in each direction. Data and acknowledgements of those
    /// in the other direction change sides: `path` and `back`, `data` and `acks`, `"down"` and `"up"`.
    FileCall: "flow.call" of Call = Call { video: Video::default(), audio: Audio::default() };
    /// the video of each direction, under the flow's scheme
    video: Video => video;
    /// the audio of each direction, which no scheme holds back
    audio: Audio => audio;
}

impl Inline for Call {
    type File = FileCall;
}

/// Short flows that arrive as a Poisson process.
pub(super) struct RandomFlows {
    pub(super) per_second: f64,
    pub(super) bytes: Amount,
}

/// Distributions of the sizes of short flows.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    Fixed,
    Exponential,
    Pareto,
}

words! {
    Sizes {
        "fixed" => Sizes::Fixed,
        "exponential" => Sizes::Exponential,
        "pareto" => Sizes::Pareto,
    }
}

keys! {
    /// Arrivals of short flows.
    FileArrivals: "flow.arrivals" of RandomFlows =
        RandomFlows { per_second: 0.0, bytes: Amount::Fixed(0.0) };
    /// mean number of arrivals per second, as a Poisson process; up to 100,000
    [required] per_second: f64 => per_second;
    /// mean size of each, in bytes
    [required] bytes: f64;
    /// distribution of their sizes
    sizes: Sizes, default "`\"fixed\"`";
    /// with `sizes = "pareto"`: shape of the distribution, above 1
    shape: f64;
}

impl Inline for RandomFlows {
    type File = FileArrivals;

    fn finish(
        &mut self,
        reader: &Reader<'_>,
        written: &At<FileArrivals>,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        let bytes = file.bytes(reader)?.unwrap_or(0.0);
        let is_sane = self.per_second > 0.0 && self.per_second <= 1e5;
        if !(is_sane && (1.0..=1e12).contains(&bytes)) {
            let message = "arrivals need per_second up to 100000 and bytes of at least 1";
            let help = "write arrivals = { per_second = 20, bytes = 10000 }";
            return reader.fail(written, message, help);
        }
        let sizes = file.sizes(reader)?.unwrap_or(Sizes::Fixed);
        if sizes != Sizes::Pareto {
            let help = "write sizes = \"pareto\" beside it, or leave shape out";
            reader.needs(("shape", &file.shape), "sizes = \"pareto\"", help)?;
        }
        self.bytes = match (sizes, file.shape(reader)?) {
            (Sizes::Fixed, _) => Amount::Fixed(bytes),
            (Sizes::Exponential, _) => Amount::Exponential(bytes),
            (Sizes::Pareto, Some(shape)) if shape > 1.0 && shape.is_finite() => {
                Amount::Pareto { shape, scale: pareto_scale(shape, bytes) }
            }
            (Sizes::Pareto, _) => {
                let message = "sizes = \"pareto\" needs a finite shape above 1";
                return reader.fail(written, message, "write shape = 1.2");
            }
        };
        Ok(())
    }

    fn write_rest(&self, table: &mut Table) -> Result<(), ScenarioError> {
        let (mean, sizes, shape) = match self.bytes {
            Amount::Fixed(bytes) => (bytes, Sizes::Fixed, None),
            Amount::Exponential(mean) => (mean, Sizes::Exponential, None),
            Amount::Pareto { shape, scale } => {
                let gives = |mean| shape > 1.0 && pareto_scale(shape, mean) == scale;
                let mean = preimage(pareto_mean(shape, scale), gives).ok_or_else(|| {
                    ScenarioError::new("no mean size gives this Pareto distribution")
                        .help("files write sizes by their mean, which needs a shape above 1")
                })?;
                (mean, Sizes::Pareto, Some(shape))
            }
            Amount::Icsi { .. } => {
                let message = "flows that arrive at random have the flow lengths of ICSI";
                return Err(ScenarioError::new(message).help("in files only on-periods have them"));
            }
        };
        table.put("bytes", &mean)?;
        table.put_field("sizes", Some(sizes), Some(Sizes::Fixed))?;
        table.put_field("shape", shape, None)
    }
}
