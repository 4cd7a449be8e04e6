//! Links in scenario files.

use paceline_cc::Span;
use paceline_path::BufferSize;
use serde::Deserialize;
use toml::Spanned;

use super::error::ScenarioError;
use super::limits;
use super::read::{self, Buffer, Period, Speed};
use super::reader::{FileStretch, Reader};
use crate::scenario::spec::{Capacity, LinkSpec, QueueChoice, RouterChoice, Scenario};
use crate::scenario::wifi::FileWifi;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileLink {
    name: Spanned<String>,
    rate: Option<Speed>,
    trace: Option<Spanned<String>>,
    schedule: Option<Spanned<Vec<FileStep>>>,
    period: Option<Period>,
    pub(super) wifi: Option<Spanned<FileWifi>>,
    opportunity: Option<Spanned<u32>>,
    overhead: Option<u32>,
    once: Option<bool>,
    queue: Option<Spanned<String>>,
    buffer: Option<Buffer>,
    rtt: Option<Period>,
    router: Option<Spanned<String>>,
    after: Option<Spanned<FileStretch>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileStep {
    at: Period,
    rate: Speed,
}

impl Reader<'_> {
    pub(super) fn link(
        &self,
        spanned: Spanned<FileLink>,
        sofar: &Scenario,
    ) -> Result<LinkSpec, ScenarioError> {
        let place = Spanned::new(spanned.span(), ());
        let read = spanned.into_inner();
        if sofar.links.iter().any(|link| link.name == *read.name.get_ref()) {
            return self.fail(
                &read.name,
                "two links have this name",
                "give each link its own name",
            );
        }
        let name = read.name.get_ref();
        let capacity = match (&read.rate, &read.trace, &read.schedule, &read.wifi) {
            (Some(rate), None, None, None) => Capacity::Constant(rate.0),
            (None, Some(trace), None, None) => self.trace(trace, &read)?,
            (None, None, Some(steps), None) => self.schedule(steps, read.period.map(|p| p.0))?,
            (None, None, None, Some(wifi)) => match wifi.get_ref().spec(sofar.duration) {
                Ok(spec) => Capacity::Wifi(Box::new(spec)),
                Err((message, help)) => return self.fail(wifi, message, help),
            },
            _ => {
                return self.fail(
                    &read.name,
                    format!("link `{name}` needs exactly one of rate, trace, schedule and wifi"),
                    "write rate = \"12Mbps\" or trace = \"lte-driving\"",
                );
            }
        };
        if matches!(capacity, Capacity::Constant(rate) if rate.as_bps() == 0) {
            return self.fail(
                &place,
                format!("link `{name}` has rate zero"),
                "write rate = \"12Mbps\"",
            );
        }
        match &capacity {
            Capacity::Constant(rate) => self.within(&place, limits::rate(*rate))?,
            Capacity::Schedule { steps, .. } => {
                steps.iter().try_for_each(|step| self.within(&place, limits::rate(step.1)))?;
            }
            Capacity::Trace { .. } | Capacity::Wifi(_) => {}
        }
        let router = match &read.router {
            None => RouterChoice::Auto,
            Some(text) => read::router(text.get_ref(), self.names)
                .map_err(|message| self.wrong(text, message))?,
        };
        let queue = match &read.queue {
            None => QueueChoice::Auto,
            Some(text) => {
                read::queue(text.get_ref(), self.names).map_err(|error| self.wrong(text, error))?
            }
        };
        Ok(LinkSpec {
            name: name.clone(),
            capacity,
            queue,
            buffer: read.buffer.map_or(BufferSize::Packets(250), |buffer| buffer.0),
            rtt: read.rtt.map(|rtt| rtt.0),
            router,
            after: self.stretch(read.after)?,
        })
    }

    fn trace(&self, name: &Spanned<String>, read: &FileLink) -> Result<Capacity, ScenarioError> {
        let written = name.get_ref().as_str();
        let trace = match paceline_trace::load(&self.place(written)) {
            Ok(trace) => trace,
            Err(error) => {
                return Err(ScenarioError::new(error.to_string()).at(
                    self.file,
                    self.text,
                    Some(name.span()),
                ));
            }
        };
        let opportunity = match &read.opportunity {
            Some(bytes) if !(1..=limits::OPPORTUNITY).contains(bytes.get_ref()) => {
                let message = format!("an opportunity offers 1 to {} bytes", limits::OPPORTUNITY);
                return self.fail(bytes, message, "write opportunity = 1504");
            }
            Some(bytes) => *bytes.get_ref(),
            None => 1504,
        };
        let overhead = read.overhead.unwrap_or(4);
        Ok(Capacity::Trace { trace, opportunity, overhead, repeat: !read.once.unwrap_or(false) })
    }

    fn schedule(
        &self,
        steps: &Spanned<Vec<FileStep>>,
        period: Option<Span>,
    ) -> Result<Capacity, ScenarioError> {
        let list: Vec<_> = steps.get_ref().iter().map(|step| (step.at.0, step.rate.0)).collect();
        let service = paceline_path::Service::schedule(&list, period);
        match service {
            Ok(_) => Ok(Capacity::Schedule { steps: list, period }),
            Err(error) => self.fail(
                steps,
                error.to_string(),
                "write schedule = [{ at = \"0s\", rate = \"12Mbps\" }, { at = \"5s\", rate = \"6Mbps\" }]",
            ),
        }
    }
}
