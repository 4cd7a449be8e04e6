//! Parses Mahimahi's command lines: `mm-delay`, `mm-loss`, `mm-onoff`, `mm-link`, `mm-meter`, and
//! those of its scripts that plot logs.

use std::ffi::OsString;
use std::path::PathBuf;

use paceline_cc::{Span, Spec};
use paceline_path::Limit;

/// Names under which the program behaves as Mahimahi's program of this name.
pub(crate) const NAMES: [&str; 7] = [
    "mm-delay",
    "mm-link",
    "mm-loss",
    "mm-meter",
    "mm-onoff",
    "mm-throughput-graph",
    "mm-delay-graph",
];

/// Options of one direction of `mm-link` and `mm-meter`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Direction {
    pub(crate) log: Option<PathBuf>,
    pub(crate) meter: (bool, bool),
    pub(crate) queue: String,
    pub(crate) queue_args: String,
}

/// Arguments of `mm-link` or `mm-meter`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MahimahiArguments {
    pub(crate) up: Direction,
    pub(crate) down: Direction,
    pub(crate) once: bool,
    /// Arguments that are no options: traces, then the program.
    pub(crate) rest: Vec<OsString>,
}

const LINK_OPTIONS: [(&str, bool); 12] = [
    ("uplink-log", true),
    ("downlink-log", true),
    ("once", false),
    ("meter-uplink", false),
    ("meter-downlink", false),
    ("meter-uplink-delay", false),
    ("meter-downlink-delay", false),
    ("meter-all", false),
    ("uplink-queue", true),
    ("downlink-queue", true),
    ("uplink-queue-args", true),
    ("downlink-queue-args", true),
];
const METER_OPTIONS: [(&str, bool); 3] =
    [("meter-uplink", false), ("meter-downlink", false), ("meter-all", false)];

/// Reads the words after `mm-link` as `getopt_long` does: options may stand anywhere before `--`
/// and may be shortened as long as they are unique, and `-u` and `-d` name the logs.
pub(crate) fn link_words(words: Vec<OsString>) -> Result<MahimahiArguments, String> {
    options(words, &LINK_OPTIONS, &[("-u", "uplink-log"), ("-d", "downlink-log")])
}

/// Reads the words after `mm-meter`.
pub(crate) fn meter_words(words: Vec<OsString>) -> Result<MahimahiArguments, String> {
    options(words, &METER_OPTIONS, &[])
}

fn options(
    words: Vec<OsString>,
    known: &[(&'static str, bool)],
    short: &[(&str, &'static str)],
) -> Result<MahimahiArguments, String> {
    let plain = Direction {
        log: None,
        meter: (false, false),
        queue: "infinite".into(),
        queue_args: String::new(),
    };
    let mut read =
        MahimahiArguments { up: plain.clone(), down: plain, once: false, rest: Vec::new() };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            read.rest.extend(words);
            break;
        }
        if !text.starts_with('-') || text == "-" {
            read.rest.push(word);
            continue;
        }
        let (name, takes, given) = match short.iter().find(|(letter, _)| text.starts_with(letter)) {
            Some((letter, name)) if !text.starts_with("--") => {
                let rest = &text[letter.len()..];
                (*name, true, (!rest.is_empty()).then(|| OsString::from(rest)))
            }
            _ => {
                let long = text.strip_prefix("--").ok_or_else(|| unknown(text))?;
                let (name, given) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(OsString::from(value))),
                    None => (long, None),
                };
                let (name, takes) = find(name, known)?;
                (name, takes, given)
            }
        };
        let value = match (takes, given) {
            (true, Some(value)) => value,
            (true, None) => words.next().ok_or(format!("--{name} needs a value"))?,
            (false, None) => OsString::new(),
            (false, Some(_)) => return Err(format!("--{name} takes no value")),
        };
        read.set(name, value)?;
    }
    Ok(read)
}

fn unknown(text: &str) -> String {
    format!("unknown option {text}; write -- before a program that has options")
}

/// Finds an option by its name, or by a beginning that no other option shares.
fn find(name: &str, known: &[(&'static str, bool)]) -> Result<(&'static str, bool), String> {
    if let Some(&exact) = known.iter().find(|(long, _)| *long == name) {
        return Ok(exact);
    }
    let mut near = known.iter().filter(|(long, _)| long.starts_with(name));
    match (near.next(), near.next()) {
        (Some(&one), None) => Ok(one),
        (Some(_), Some(_)) => Err(format!("--{name} may mean several options")),
        _ => Err(unknown(&format!("--{name}"))),
    }
}

impl MahimahiArguments {
    fn set(&mut self, name: &str, value: OsString) -> Result<(), String> {
        let text = || {
            let text = value.to_str().ok_or(format!("--{name}: expected text in UTF-8"))?;
            Ok::<_, String>(text.to_string())
        };
        match name {
            "uplink-log" => self.up.log = Some(value.into()),
            "downlink-log" => self.down.log = Some(value.into()),
            "once" => self.once = true,
            "meter-uplink" => self.up.meter.0 = true,
            "meter-downlink" => self.down.meter.0 = true,
            "meter-uplink-delay" => self.up.meter.1 = true,
            "meter-downlink-delay" => self.down.meter.1 = true,
            "uplink-queue" => self.up.queue = text()?,
            "downlink-queue" => self.down.queue = text()?,
            "uplink-queue-args" => self.up.queue_args = text()?,
            "downlink-queue-args" => self.down.queue_args = text()?,
            _ => (self.up.meter, self.down.meter) = ((true, true), (true, true)),
        }
        Ok(())
    }
}

/// Returns Mahimahi's queue of this name with its arguments, and its limit.
pub(crate) fn queue(name: &str, arguments: &str) -> Result<(Spec, Limit), String> {
    let get = |argument: &str| number(arguments, argument);
    let limit = Limit { packets: get("packets")?, bytes: get("bytes")?, sojourn: None };
    let needed = |argument: &str, value: Option<u64>| {
        let value = value.ok_or(format!("queue {name} needs {argument}=MILLISECONDS"))?;
        Ok::<_, String>((argument.to_string(), format!("{value}ms")))
    };
    let (ours, args) = match name {
        "infinite" if !arguments.is_empty() => {
            return Err("queue infinite takes no arguments".into());
        }
        "infinite" => return Ok((Spec { name: "infinite".into(), args: Vec::new() }, Limit::NONE)),
        "droptail" | "drophead" => (name, Vec::new()),
        "codel" => (
            "codel-mahimahi",
            vec![needed("target", get("target")?)?, needed("interval", get("interval")?)?],
        ),
        "pie" => (
            "pie-mahimahi",
            vec![
                needed("qdelay_ref", get("qdelay_ref")?)?,
                needed("max_burst", get("max_burst")?)?,
            ],
        ),
        _ => {
            return Err(format!(
                "unknown queue type {name}: infinite, droptail, drophead, codel or pie"
            ));
        }
    };
    if limit == Limit::NONE {
        return Err(format!("queue {name} needs packets=N or bytes=N in its arguments"));
    }
    Ok((Spec { name: ours.into(), args }, limit))
}

/// Returns the number after `name=` among a queue's arguments; `None` if it is missing or zero.
fn number(arguments: &str, name: &str) -> Result<Option<u64>, String> {
    for pair in arguments.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair
            .split_once('=')
            .ok_or(format!("queue arguments: expected NAME=NUMBER, found `{pair}`"))?;
        if !["packets", "bytes", "target", "interval", "qdelay_ref", "max_burst"].contains(&key) {
            return Err(format!("queue arguments: there is no `{key}`"));
        }
        if key == name {
            let value = value.parse::<u64>();
            let value =
                value.map_err(|_| format!("queue arguments: {name} needs a whole number"))?;
            return Ok((value > 0).then_some(value));
        }
    }
    Ok(None)
}

/// Reads a number of seconds that is not negative.
pub(crate) fn seconds(text: &str) -> Result<Span, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(Span::from_secs_f64(seconds)),
        _ => Err(format!("expected a number of seconds, found `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn options_stand_before_and_behind_the_traces() {
        let line = "--uplink-log=a up --once down -d b --uplink-queue droptail \
                    --uplink-queue-args=packets=5,bytes=7 --meter-uplink-d -- cmd --once";
        let read = link_words(words(line)).expect("an mm-link line");
        assert_eq!(read.rest, words("up down cmd --once"));
        assert_eq!(read.up.log, Some("a".into()));
        assert_eq!(read.down.log, Some("b".into()));
        assert_eq!(
            (read.once, read.up.meter, read.down.meter),
            (true, (false, true), (false, false))
        );
        let (queue, limit) = queue(&read.up.queue, &read.up.queue_args).expect("a queue");
        assert_eq!(queue.name, "droptail");
        assert_eq!((limit.packets, limit.bytes), (Some(5), Some(7)));
    }

    #[test]
    fn mistakes_are_told() {
        let refused = |text: &str| link_words(words(text)).err().unwrap_or_default();
        assert!(refused("a b --nope").contains("--nope"));
        assert!(refused("a b --meter").contains("several"));
        assert!(refused("a b --uplink-log").contains("needs a value"));
        assert!(refused("a b cmd -x").contains("write --"));
        assert!(queue("droptail", "").is_err());
        assert!(queue("codel", "packets=1").is_err_and(|e| e.contains("target")));
        assert!(queue("red", "packets=1").is_err());
        assert!(queue("droptail", "packets=x").is_err());
        assert!(queue("infinite", "").is_ok());
        assert!(queue("infinite", "packets=9").is_err_and(|e| e.contains("no arguments")));
    }

    #[test]
    fn aqms_are_mahimahis_own() {
        let (codel, _) = queue("codel", "packets=9, target=50, interval=100").expect("codel");
        assert_eq!(codel.name, "codel-mahimahi");
        assert!(paceline_path::queue::check(&codel).is_ok());
        let (pie, _) = queue("pie", "bytes=9,qdelay_ref=20,max_burst=30").expect("pie");
        assert!(paceline_path::queue::check(&pie).is_ok());
    }
}
