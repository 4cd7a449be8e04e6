//! Creates the observers of an emulation: logs, captures, meters, summaries.

use std::io;
use std::path::Path;

use paceline_cc::{Rate, Time};
use paceline_emulator::output::{
    LogHead, MahimahiLog, Meter, PageFacts, Pcapng, Releases, ReportObserver, SharedReport,
    WatchedElement,
};
use paceline_emulator::{Direction, Element, Observer};
use paceline_path::Service;

use super::{DEFAULT_SEED, DirectionSetup, Plan};
use crate::host;
use crate::names::command_line;
use crate::output::{self, Error};

/// The observers of an emulation, and the shared report of its figures if an option needs them.
pub(super) type Watching = (Vec<Box<dyn Observer>>, Option<SharedReport>);

/// Creates all observers that a plan asks for, and their files.
pub(super) fn observers(plan: &Plan) -> Result<Watching, Error> {
    let options = &plan.options;
    let mut made: Vec<Box<dyn Observer>> = Vec::new();
    for (direction, side) in [(Direction::Up, &plan.up), (Direction::Down, &plan.down)] {
        let Some(path) = &side.log else { continue };
        let Some((stage, capacity)) = side.first_link() else {
            return Err(Error::Usage(format!("{}: there is no link to log", path.display())));
        };
        let log = MahimahiLog::create(path, head(side), (direction, stage), capacity);
        made.push(Box::new(log.map_err(fail(path))?));
    }
    let watched = watched(plan);
    if let Some(path) = &options.pcap {
        let capture = Pcapng::create(path, bottlenecks(&watched), options.snaplen);
        made.push(Box::new(capture.map_err(fail(path))?));
    }
    if let Some(path) = &options.releases {
        let last = |side: &DirectionSetup| side.hops.len().saturating_sub(1);
        let releases = Releases::create(path, last(&plan.up), last(&plan.down));
        made.push(Box::new(releases.map_err(fail(path))?));
    }
    let mut report = None;
    if options.summary.is_some() || options.output.is_some() || !options.fail_if.is_empty() {
        let links = watched.iter().filter(|it| it.service.is_some()).cloned().collect();
        let warmup = Time::ZERO + options.warmup.unwrap_or_default();
        let mut accountant = ReportObserver::new(links).with_warmup(warmup);
        if let Some(path) = &options.summary {
            accountant = accountant.with_json(path).map_err(fail(path))?;
        }
        if let Some(folder) = &options.output {
            output::is_folder_name(folder)?;
            accountant = accountant.with_report(folder, facts(plan)).map_err(fail(folder))?;
        }
        report = Some(accountant.found());
        made.push(Box::new(accountant));
    }
    let shown = metered(plan, &watched);
    if !shown.is_empty() {
        made.push(Box::new(Meter::new(shown)));
    }
    Ok((made, report))
}

fn fail(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| output::wrong_place(path, source)
}

/// Returns every element of both directions; for a direction without any, the element that only
/// passes packets on.
fn watched(plan: &Plan) -> Vec<WatchedElement> {
    let mut list = Vec::new();
    for (direction, side) in [(Direction::Up, &plan.up), (Direction::Down, &plan.down)] {
        let plain = |stage, name: &str| WatchedElement {
            direction,
            stage,
            name: name.into(),
            queue: String::new(),
            service: None,
        };
        let mut links = side.links.iter();
        for (stage, hop) in side.hops.iter().enumerate() {
            list.push(match hop {
                Element::Link(_) | Element::AccessPoint(_) => {
                    let own = links.next().cloned();
                    let (name, queue) = own.map_or_else(
                        || (side.name.clone(), side.queue.clone()),
                        |(name, queue)| (Some(name), Some(queue)),
                    );
                    WatchedElement {
                        name: name.unwrap_or_else(|| "link".into()),
                        queue: queue.unwrap_or_default(),
                        service: hop.capacity().cloned(),
                        ..plain(stage, "")
                    }
                }
                // A shared path has no capacity of its own.
                Element::Shared(_) => WatchedElement {
                    name: side.name.clone().unwrap_or_else(|| "shared".into()),
                    service: Some(Service::constant(Rate::ZERO)),
                    ..plain(stage, "")
                },
                _ => plain(stage, plan.kind),
            });
        }
        if side.hops.is_empty() {
            list.push(plain(0, plan.kind));
        }
    }
    list
}

/// Returns the links, or all elements if there are no links.
fn bottlenecks(watched: &[WatchedElement]) -> Vec<WatchedElement> {
    let links: Vec<_> = watched.iter().filter(|it| it.service.is_some()).cloned().collect();
    if links.is_empty() { watched.to_vec() } else { links }
}

/// Returns the elements whose rate the live meter shows, and `true` if it shows the delay, too.
fn metered(plan: &Plan, watched: &[WatchedElement]) -> Vec<(WatchedElement, bool)> {
    let mut shown = Vec::new();
    for it in bottlenecks(watched) {
        let side = if it.direction == Direction::Up { &plan.up } else { &plan.down };
        let (rate, delay) = side.meter;
        if plan.options.meter || rate || delay {
            shown.push((it, plan.options.meter || delay));
        }
    }
    shown
}

fn head(side: &DirectionSetup) -> LogHead {
    LogHead {
        trace: side.name.clone().unwrap_or_default(),
        command: words(),
        queue: side.queue.clone().unwrap_or_default(),
        config: std::env::var("MAHIMAHI_SHELL_PREFIX").ok().filter(|text| !text.is_empty()),
    }
}

/// Returns the arguments joined by spaces without quotes, as Mahimahi writes them.
fn words() -> String {
    let words: Vec<_> =
        host::arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

fn facts(plan: &Plan) -> PageFacts {
    PageFacts {
        title: plan.prompt.trim().trim_matches(['[', ']']).to_string(),
        command: command_line(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: Some(plan.options.seed.unwrap_or(DEFAULT_SEED)),
    }
}

#[cfg(test)]
mod tests {
    use paceline_sim::scenario::parse;

    use super::*;
    use crate::emulation::{Emulation, scenario};

    #[test]
    fn each_link_of_a_way_has_its_name_and_queue() {
        let text = "duration = \"1s\"\n[[link]]\nname = \"first\"\nrate = \"5Mbps\"\nbuffer = 20\n\
            [[link]]\nname = \"second\"\nrate = \"2Mbps\"\nqueue = \"codel\"\n\
            [[flow]]\nscheme = \"cubic\"\npath = [\"first\", \"second\"]\n";
        let scenario = parse("two.toml", text, None).expect("a scenario");
        let (up, down) = scenario::sides_of(&scenario, "two.toml", None).expect("a path");
        let options = Emulation::default();
        let plan = Plan { kind: "link", prompt: String::new(), up, down, options };
        let links = bottlenecks(&watched(&plan));
        let seen: Vec<(&str, &str)> =
            links.iter().map(|link| (link.name.as_str(), link.queue.as_str())).collect();
        assert_eq!(seen, [("first", "droptail [20p]"), ("second", "codel [250p]")]);
    }
}
