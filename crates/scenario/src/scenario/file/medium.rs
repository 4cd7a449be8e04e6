//! Shared 802.11 media.

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_wifi::{ChannelWidth, GuardInterval, Ht, MAX_SCALE, Preamble};

use super::channel::{check_contenders, keys_with_channel, write_contenders};
use super::error::ScenarioError;
use super::keys::{Inline, Section as _, keys, within};
use super::reader::{Place, Reader};
use super::station::{FileRate, FileStation, UsualRates};
use super::value::words;
use crate::scenario::spec::{
    Layer, McsSpec, MediumSpec, PortSpec, QueueChoice, RouterChoice, Scenario,
};

/// Maximum number of stations of a medium.
const STATIONS: usize = 500;
/// Signal extension of 802.11n at 2.4 GHz: the time after each frame in which nothing is sent.
const EXTENSION: Span = Span::from_micros(6);

keys_with_channel! {
    {
        /// A channel that an access point and its stations contend for.
        FileMedium: "medium" of MediumSpec = MediumSpec::new("", Layer::B(Preamble::Long));
        /// different from the names of all links and other media
        [required] name: String => name;
        /// the times of `"802.11b"`, `"802.11g"` (without stations of 802.11b), `"802.11a"` or
        /// `"802.11n"`, which has A-MPDUs
        layer: LayerName, default "`\"802.11b\"`";
        /// of 802.11b: frames at 1 Mbit/s always have the long one
        preamble: Preamble, default "`\"long\"`";
        /// 802.11n: the channel
        width: ChannelWidth, default "`\"20MHz\"`";
        /// 802.11n: the guard interval
        guard: GuardInterval, default "`\"long\"`";
        /// 802.11n: the band
        band: Band, default "`\"5GHz\"`";
        /// divisor of all times, also of `max_airtime`, of those of contenders and of the CTS of
        /// `protection`; rates must be multiples of it (Table 1 of the XCP-b paper)
        scale: u32, in within(1..=MAX_SCALE, "write scale = 2, with twice the rates") => scale;
        /// rates of control frames: acknowledgements, RTS and CTS use the highest of these that is
        /// not above the rate of the data
        basic_rates: Vec<Rate>, default "`[\"1Mbps\"]`; of OFDM 6, 12 and 24 Mbit/s" => basic_rates;
        /// frames of more bytes than this are preceded by RTS and CTS
        rts_above: u32 => rts;
        /// 802.11g: each frame is preceded by a CTS of 802.11b at 1 Mbit/s
        protection: bool => protection;
        /// a packet that comes to a station while the medium is idle is sent without a backoff;
        /// false as in ns-2
        immediate_access: bool => immediate_access;
        /// how long stations wait that have heard a collision
        after_collision: Wait, default "`\"eifs\"` for 802.11b, else `\"difs\"`";
        /// how long a station waits whose frame collided and ended before another one; `"eifs"` as
        /// in ns-2
        after_own_collision: Wait, default "`\"difs\"`";
        /// number of transmissions after which a packet is given up: of a frame without RTS, of an
        /// RTS, and of the frame after it
        transmissions: u32, default "`7`; `4` of a frame after an RTS, except in A-MPDUs",
            in within(1..=255, "write transmissions = 7") => transmissions;
    }
    {
        /// rate of data frames of all stations without their own rate; `"minstrel"` if senders
        /// choose it
        rate: FileRate;
        /// 802.11n: modulation and coding of all stations without their own, see
        /// `[[medium.station]]`
        mcs: McsSpec;
        /// of all stations and of the access point: see `[[link]]`
        queue: QueueChoice, default "by the flows";
        /// of all stations and of the access point: packets, bytes, `"inf"` or `"sojourn=100ms"`
        buffer: BufferSize, default "`50`";
        /// of all stations and of the access point: see `[[link]]`
        router: RouterChoice, default "by the flows";
        /// settings that differ at the access point: `{ queue = "fq_codel", buffer = 100, router =
        /// "none" }`
        access_point: PortSpec, default "as at the stations";
        tables {
            /// The stations.
            station: FileStation;
        }
    }
}

keys! {
    /// The queue and router of the access point.
    FilePort: "medium.access_point" of PortSpec = PortSpec::packets(50);
    /// limit of its queue
    buffer: BufferSize, default "that of the medium" => buffer;
    /// its queue
    queue: QueueChoice, default "that of the medium" => queue;
    /// its router
    router: RouterChoice, default "that of the medium" => router;
}

impl Inline for PortSpec {
    type File = FilePort;
}

/// The layer without its settings.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum LayerName {
    B,
    G,
    A,
    N,
}

/// The bands of 802.11n.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Band {
    Ghz5,
    Ghz2,
}

/// How long stations wait after a collision.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Eifs,
    Difs,
}

impl Wait {
    fn of(eifs: bool) -> Wait {
        if eifs { Wait::Eifs } else { Wait::Difs }
    }
}

words! {
    LayerName {
        "802.11b" => LayerName::B,
        "802.11g" => LayerName::G,
        "802.11a" => LayerName::A,
        "802.11n" => LayerName::N,
    }
    ChannelWidth { "20MHz" => ChannelWidth::Mhz20, "40MHz" => ChannelWidth::Mhz40 }
    GuardInterval { "long" => GuardInterval::Long, "short" => GuardInterval::Short }
    Preamble { "long" => Preamble::Long, "short" => Preamble::Short }
    Band { "5GHz" => Band::Ghz5, "2.4GHz" => Band::Ghz2 }
    Wait { "eifs" => Wait::Eifs, "difs" => Wait::Difs }
}

impl Reader<'_> {
    /// Reads a medium with its stations.
    pub(super) fn medium(
        &self,
        file: &FileMedium,
        sofar: &Scenario,
    ) -> Result<MediumSpec, ScenarioError> {
        let mut medium = FileMedium::usual();
        file.apply(self, &mut medium)?;
        let taken = sofar.media.iter().any(|other| other.name == medium.name);
        if taken || sofar.links.iter().any(|link| link.name == medium.name) {
            let message = "another medium or link has this name";
            return self.fail(&file.name, message, "give each medium its own name");
        }
        medium.layer = self.layer(file)?;
        let (airtime, gap) = (&file.contender_airtime, &file.contender_gap);
        check_contenders(self, &file.contenders, airtime, gap)?;
        let sane = |rate: &Rate| rate.as_bps() > 0 && medium.phy().has_rate(*rate);
        let is_empty = file.basic_rates.is_some() && medium.basic_rates.is_empty();
        if is_empty || !medium.basic_rates.iter().all(sane) {
            let message = "basic_rates are rates of the layer, at least one";
            let help = "write basic_rates = [\"1Mbps\", \"2Mbps\"]";
            return self.fail(&file.basic_rates, message, help);
        }
        let eifs = file.after_collision(self)?.map(|wait| wait == Wait::Eifs);
        medium.eifs_after_collision = eifs;
        medium.eifs_after_own_collision = file.after_own_collision(self)? == Some(Wait::Eifs);
        let mut usual = PortSpec::packets(50);
        usual.queue = file.queue(self)?.unwrap_or(usual.queue);
        usual.buffer = file.buffer(self)?.unwrap_or(usual.buffer);
        usual.router = file.router(self)?.unwrap_or(usual.router);
        self.needs_no_rate(&file.buffer, usual.buffer)?;
        medium.access_point = usual.clone();
        if let Some(access_point) = &file.access_point {
            access_point.value.apply(self, &mut medium.access_point)?;
            self.needs_no_rate(&access_point.value.buffer, medium.access_point.buffer)?;
        }
        if file.station.is_empty() || file.station.len() > STATIONS {
            let message = format!("a medium has 1 to {STATIONS} stations");
            let help = "add [[medium.station]] with name and rate";
            return self.fail(&file.name, message, help);
        }
        let rates = UsualRates { rate: file.rate.as_ref(), mcs: file.mcs.as_ref() };
        for station in &file.station {
            let station = self.station(&station.value, &medium, &rates, &usual, sofar)?;
            medium.stations.push(station);
        }
        Ok(medium)
    }

    /// Returns the layer, with settings that only it has.
    fn layer(&self, file: &FileMedium) -> Result<Layer, ScenarioError> {
        let layer = file.layer(self)?.unwrap_or(LayerName::B);
        if layer != LayerName::B && file.preamble.is_some() {
            let message = "only 802.11b has long and short preambles";
            let help = "leave preamble out, or write layer = \"802.11b\"";
            return self.fail(&file.preamble, message, help);
        }
        if layer != LayerName::N {
            let help = "leave it out, or write layer = \"802.11n\"";
            let band = "802.11a is at 5 GHz, 802.11b and g are at 2.4 GHz; leave it out";
            let of_n = [
                (file.width.place(), "only 802.11n has channels of a width", help),
                (file.guard.place(), "only 802.11n has guard intervals", help),
                (file.band.place(), "only 802.11n is in both bands", band),
                (file.max_frames.place(), "only 802.11n has A-MPDUs", help),
                (file.max_airtime.place(), "only 802.11n has A-MPDUs", help),
            ];
            if let Some((place, message, help)) =
                of_n.into_iter().find(|(place, ..)| place.is_some())
            {
                return self.fail(&place, message, help);
            }
        }
        Ok(match layer {
            LayerName::B => Layer::B(file.preamble(self)?.unwrap_or(Preamble::Long)),
            LayerName::G => Layer::G,
            LayerName::A => Layer::A,
            LayerName::N => {
                let mut ht = Ht::default();
                ht.width = file.width(self)?.unwrap_or(ht.width);
                ht.guard = file.guard(self)?.unwrap_or(ht.guard);
                if file.band(self)? == Some(Band::Ghz2) {
                    ht.extension = EXTENSION;
                }
                Layer::N(ht)
            }
        })
    }

    /// Returns an error for buffers whose size in bytes depends on a rate.
    pub(super) fn needs_no_rate(
        &self,
        place: &impl Place,
        buffer: BufferSize,
    ) -> Result<(), ScenarioError> {
        if !buffer.needs_rate() {
            return Ok(());
        }
        let message = "the rate of a station at a medium depends on the others, so that a time or a \
                       bandwidth-delay product is no number of bytes";
        let help = "write buffer = 50 (packets), or buffer = \"sojourn=50ms\", which drops packets \
                    that have waited for longer";
        self.fail(place, message, help)
    }
}

/// Writes a medium with its heading, and its stations.
pub(super) fn written(spec: &MediumSpec) -> Result<String, ScenarioError> {
    let mut table = FileMedium::written(spec, &FileMedium::usual())?;
    write_contenders(&spec.channel, &mut table)?;
    let layer = match spec.layer {
        Layer::B(preamble) => {
            table.put_field("preamble", Some(preamble), Some(Preamble::Long))?;
            LayerName::B
        }
        Layer::G => LayerName::G,
        Layer::A => LayerName::A,
        Layer::N(ht) => {
            table.put_field("width", Some(ht.width), Some(ChannelWidth::Mhz20))?;
            table.put_field("guard", Some(ht.guard), Some(GuardInterval::Long))?;
            let band = if ht.extension.is_zero() { Band::Ghz5 } else { Band::Ghz2 };
            table.put_field("band", Some(band), Some(Band::Ghz5))?;
            LayerName::N
        }
    };
    table.put_field("layer", Some(layer), Some(LayerName::B))?;
    table.put_field("after_collision", spec.eifs_after_collision.map(Wait::of), None)?;
    let wait = Wait::of(spec.eifs_after_own_collision);
    table.put_field("after_own_collision", Some(wait), Some(Wait::Difs))?;
    let usual = PortSpec::packets(50);
    table.put_field("access_point", Some(spec.access_point.clone()), Some(usual))?;
    let mut text = format!("[[medium]]\n{}", table.lines());
    for spec in &spec.stations {
        text += &format!("\n[[medium.station]]\n{}", super::station::written(spec)?.lines());
    }
    Ok(text)
}
