//! Links.

use paceline_cc::{Rate, Span};
use paceline_path::{BufferSize, MAHIMAHI_OPPORTUNITY};
use paceline_trace::Trace;

use super::error::ScenarioError;
use super::keys::{Inline, Section as _, keys, table_of, within};
use super::limits::{self, OPPORTUNITY};
use super::reader::{At, Place as _, Reader};
use super::text::quoted;
use crate::scenario::spec::{
    Capacity, LinkSpec, MAHIMAHI_OVERHEAD, QueueChoice, RouterChoice, Scenario, Stretch, WifiSpec,
};

keys! {
    /// A link with its queue and router.
    FileLink: "link" of LinkSpec = LinkSpec::new("", Capacity::Constant(Rate::ZERO));
    /// the name by which flows refer to it
    [required] name: String => name;
    /// the link always has this rate
    rate: Rate;
    /// the rate from each time on: `[{ at = "0s", rate = "12Mbps" }, ...]`
    schedule: Vec<(Span, Rate)>;
    /// with `schedule`: time after which it repeats
    period: Span, default "the schedule does not repeat";
    /// a built-in trace, or a file in Mahimahi's format or CSV. The path of a file is relative to that
    /// of the scenario
    trace: String;
    /// of a trace: bytes that each opportunity offers
    opportunity: u32, default "`1504`",
        in within(1..=OPPORTUNITY, "write opportunity = 1504")
            .or("an opportunity offers {least} to {most} bytes");
    /// of a trace: bytes that a packet needs in addition to its own
    overhead: u32, default "`4`";
    /// of a trace: true if it does not repeat; after its end no packet passes
    once: bool, default "`false`";
    /// limit of the queue: packets (`250`), bytes (`"64kB"`), time (`"100ms"`), bandwidth-delay products
    /// (`"1.5bdp"`), `"inf"`, or a limit of waiting times (`"sojourn=100ms"`); see Buffers below
    buffer: BufferSize => buffer;
    /// RTT for a buffer in bandwidth-delay products. It must be given if the flows over the link
    /// have different RTTs, or if there are none
    rtt: Span, default "the RTT of its flows" => rtt;
    /// `"codel[target=5ms]"`; `paceline schemes` lists all. If the flows over a link name different
    /// queues, the link must name one
    queue: QueueChoice, default "the queue that the schemes of its flows name (`cubic+codel`), or else \
        droptail" => queue;
    /// the router of a scheme such as ABC: `"auto"` takes that of the link's flows; otherwise the
    /// name of a scheme, or `"none"`. If flows over the link have different routers (`abc` and
    /// `xcp`, or one scheme with different parameters), the link must name one
    router: RouterChoice => router;
    /// delay, loss and other impairments after the link
    after: Stretch => after;
    /// the link of an 802.11n access point: see `[link.wifi]` below
    wifi: WifiSpec;
}

keys! {
    /// A step of a link's schedule, or of the rates of a station.
    RateStep: "link.schedule" of (Span, Rate) = (Span::ZERO, Rate::ZERO);
    /// time since the beginning, the first 0
    [required] at: Span => 0;
    /// rate from then on
    [required] rate: Rate => 1;
}

impl Inline for (Span, Rate) {
    type File = RateStep;
}

impl Reader<'_> {
    pub(super) fn link(
        &self,
        written: &At<FileLink>,
        sofar: &Scenario,
    ) -> Result<LinkSpec, ScenarioError> {
        let file = &written.value;
        let mut link = FileLink::usual();
        file.apply(self, &mut link)?;
        if sofar.links.iter().any(|other| other.name == link.name) {
            return self.fail(
                &file.name,
                "two links have this name",
                "give each link its own name",
            );
        }
        let choices = [
            file.rate.is_some(),
            file.trace.is_some(),
            file.schedule.is_some(),
            file.wifi.is_some(),
        ];
        if choices.into_iter().filter(|is_given| *is_given).count() != 1 {
            let name = &link.name;
            let message =
                format!("link `{name}` needs exactly one of rate, trace, schedule and wifi");
            let help = "write rate = \"12Mbps\" or trace = \"lte-driving\"";
            return self.fail(&file.name, message, help);
        }
        self.lone_keys(file)?;
        if let Some(rate) = file.rate(self)? {
            if rate.as_bps() == 0 {
                let message = format!("link `{}` has rate zero", link.name);
                return self.fail(written, message, "write rate = \"12Mbps\"");
            }
            self.within(written, limits::rate(rate))?;
            link.capacity = Capacity::Constant(rate);
        } else if let Some(steps) = file.schedule(self)? {
            let period = file.period(self)?;
            if let Err(error) = paceline_path::Service::schedule(&steps, period) {
                let help = "write schedule = [{ at = \"0s\", rate = \"12Mbps\" }, { at = \"5s\", \
                            rate = \"6Mbps\" }]";
                return self.fail(&file.schedule, error.to_string(), help);
            }
            steps.iter().try_for_each(|step| self.within(written, limits::rate(step.1)))?;
            link.capacity = Capacity::Schedule { steps, period };
        } else if let Some(name) = &file.trace {
            link.capacity = self.trace(name, file)?;
        } else if let Some(wifi) = file.wifi(self)? {
            link.capacity = Capacity::Wifi(Box::new(wifi));
        }
        Ok(link)
    }

    /// Returns an error at a key of a schedule or of a trace on a link without one.
    fn lone_keys(&self, file: &FileLink) -> Result<(), ScenarioError> {
        if file.schedule.is_none() {
            let help = "only a schedule repeats; leave period out";
            self.needs(("period", &file.period), "schedule", help)?;
        }
        if file.trace.is_some() {
            return Ok(());
        }
        let of_trace = [
            ("opportunity", file.opportunity.place()),
            ("overhead", file.overhead.place()),
            ("once", file.once.place()),
        ];
        of_trace.into_iter().try_for_each(|(name, key)| {
            let help = format!(
                "write trace = \"lte-driving\" in place of rate, schedule or wifi, or leave {name} out"
            );
            self.needs((name, &key), "trace", &help)
        })
    }

    fn trace(&self, name: &At<String>, file: &FileLink) -> Result<Capacity, ScenarioError> {
        let trace = paceline_trace::load(&self.find(&name.value))
            .map_err(|error| self.wrong(name, error))?;
        Ok(Capacity::Trace {
            trace,
            opportunity: file.opportunity(self)?.unwrap_or(MAHIMAHI_OPPORTUNITY),
            overhead: file.overhead(self)?.unwrap_or(MAHIMAHI_OVERHEAD),
            repeat: !file.once(self)?.unwrap_or(false),
        })
    }
}

/// Writes a link with its heading.
pub(super) fn written(
    spec: &LinkSpec,
    trace_file: &mut dyn FnMut(&Trace) -> String,
) -> Result<String, ScenarioError> {
    let mut table = FileLink::written(spec, &FileLink::usual())?;
    let mut section = String::new();
    match &spec.capacity {
        Capacity::Constant(rate) => table.put("rate", rate)?,
        Capacity::Schedule { steps, period } => {
            table.put("schedule", steps)?;
            table.put_field("period", *period, None)?;
        }
        Capacity::Trace { trace, opportunity, overhead, repeat } => {
            table.set("trace", quoted(&trace_file(trace)));
            // Check here: a trace's file is not read back when the scenario is written.
            if !(1..=OPPORTUNITY).contains(opportunity) {
                let message = format!("opportunity is {opportunity} bytes");
                let help = format!("an opportunity offers 1 to {OPPORTUNITY} bytes");
                return Err(ScenarioError::new(message).help(help));
            }
            table.put_field("opportunity", Some(*opportunity), Some(MAHIMAHI_OPPORTUNITY))?;
            table.put_field("overhead", Some(*overhead), Some(MAHIMAHI_OVERHEAD))?;
            table.put_field("once", Some(!repeat), Some(false))?;
        }
        Capacity::Wifi(spec) => section = format!("\n[link.wifi]\n{}", table_of(&**spec)?.lines()),
    }
    Ok(format!("[[link]]\n{}{section}", table.lines()))
}
