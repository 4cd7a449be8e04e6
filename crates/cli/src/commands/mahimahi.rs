//! `paceline mm-link` and others: Mahimahi's commands with Mahimahi's arguments.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use paceline_cc::Span;
use paceline_sim::scenario::{Capacity, LinkSpec, RouterChoice, Scenario};

use super::{delay, log, loss, onoff};
use crate::emulation::link::link;
use crate::emulation::mahimahi::{Direction, NAMES, link_words, meter_words, queue, seconds};
use crate::emulation::{DEFAULT_SEED, DirectionSetup, Emulation, Plan};
use crate::output::{self, Error};

/// Install Mahimahi's commands, for existing scripts
///
/// Scripts that call mm-delay, mm-link and others then run unchanged. docs/howto/from-mahimahi.md has them line by line.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  paceline mahimahi install bin")]
pub(crate) enum Mahimahi {
    /// Make links to this program under Mahimahi's names, for scripts that call Mahimahi's commands
    Install(Install),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  paceline mahimahi install bin
  PATH=$PWD/bin:$PATH ./test.sh")]
pub(crate) struct Install {
    /// The folder for the links; it must be in the PATH of the scripts
    folder: PathBuf,
}

/// Arguments of a command, as Mahimahi's command of this name reads them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Raw {
    /// As Mahimahi's command reads them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    words: Vec<OsString>,
}

impl Mahimahi {
    pub(crate) fn run(self) -> Result<(), Error> {
        let Mahimahi::Install(Install { folder }) = self;
        let own = crate::host::program().map_err(Error::Message)?;
        let fail = |path: &std::path::Path, source| Error::Io { path: Some(path.into()), source };
        std::fs::create_dir_all(&folder).map_err(|source| fail(&folder, source))?;
        for name in NAMES {
            let path = folder.join(name);
            match std::fs::symlink_metadata(&path) {
                Ok(found) if !found.is_symlink() => {
                    let path = path.display();
                    return Err(Error::Message(format!(
                        "{path} exists and is no link: name another folder, or remove it"
                    )));
                }
                Ok(_) => std::fs::remove_file(&path).map_err(|source| fail(&path, source))?,
                Err(_) => {}
            }
            std::os::unix::fs::symlink(&own, &path).map_err(|source| fail(&path, source))?;
            output::note(&format!("wrote {}", path.display()));
        }
        Ok(())
    }
}

impl Raw {
    pub(crate) fn run(self, name: &str) -> Result<ExitCode, Error> {
        run(name, self.words)
    }
}

/// Runs Mahimahi's command of this name; the words are those after it.
pub(crate) fn run(name: &str, words: Vec<OsString>) -> Result<ExitCode, Error> {
    if name.ends_with("-graph") {
        return graph(name, &words).map(|()| ExitCode::SUCCESS);
    }
    let plan = match name {
        "mm-delay" => delay_plan(words),
        "mm-loss" => loss_plan(words),
        "mm-onoff" => onoff_plan(words),
        "mm-meter" => meter_plan(words),
        _ => link_plan(words),
    };
    let plan = plan.map_err(|problem| match problem {
        Error::Usage(problem) | Error::Message(problem) => {
            Error::Message(format!("{problem}\n{}", usage(name)))
        }
        other => other,
    })?;
    // Mahimahi's commands end with 1 if their arguments are wrong.
    plan.run().map_err(|error| match error {
        Error::Usage(problem) => Error::Message(problem),
        other => other,
    })
}

fn usage(name: &str) -> &'static str {
    match name {
        "mm-delay" => "usage: mm-delay DELAY-MILLISECONDS [COMMAND...]",
        "mm-loss" => "usage: mm-loss uplink|downlink RATE [COMMAND...]",
        "mm-onoff" => "usage: mm-onoff uplink|downlink MEAN-ON-TIME MEAN-OFF-TIME [COMMAND...]",
        "mm-throughput-graph" => "usage: mm-throughput-graph MS-PER-BIN [LOG] > SVG",
        "mm-delay-graph" => "usage: mm-delay-graph [LOG] > SVG",
        "mm-meter" => "usage: mm-meter [--meter-uplink] [--meter-downlink] [COMMAND...]",
        _ => {
            "\
usage: mm-link UPLINK-TRACE DOWNLINK-TRACE [OPTION]... [COMMAND]
  --once
  --uplink-log=FILE --downlink-log=FILE
  --meter-uplink --meter-uplink-delay --meter-downlink --meter-downlink-delay --meter-all
  --uplink-queue=QUEUE --downlink-queue=QUEUE  (infinite, droptail, drophead, codel, pie)
  --uplink-queue-args=ARGS --downlink-queue-args=ARGS  (NAME=NUMBER, ...: packets, bytes;
      target, interval, qdelay_ref, max_burst in milliseconds)"
        }
    }
}

/// Plots a log to standard output. Without a named log reads standard input.
fn graph(name: &str, words: &[OsString]) -> Result<(), Error> {
    let wrong = |problem: &str| Error::Message(format!("{problem}\n{}", usage(name)));
    let (bin, files) = match (name, words) {
        ("mm-throughput-graph", [bin, files @ ..]) => {
            let bin = bin.to_str().and_then(|bin| bin.parse().ok()).filter(|&bin: &u64| bin > 0);
            (bin.ok_or_else(|| wrong("expected milliseconds per bin"))?, files)
        }
        ("mm-throughput-graph", []) => return Err(wrong("arguments are missing")),
        (_, files) => (500, files),
    };
    let file = match files {
        [] => PathBuf::from("-"),
        [file] => file.into(),
        _ => return Err(wrong("expected one log")),
    };
    let read = log::read(&file, bin)?;
    let title = file.display().to_string();
    let svg = match name {
        "mm-delay-graph" => read.delay_svg(&title),
        _ => read.throughput_svg(&title).map_err(Error::Message)?,
    };
    let lines = log::summary_lines(&read);
    let skipped = if name == "mm-delay-graph" { 2 } else { 0 };
    lines.iter().skip(skipped).for_each(|line| output::note(line));
    output::print(&svg)
}

/// Takes the first words as text; the rest is the program, perhaps behind `--`.
fn split<const N: usize>(words: Vec<OsString>) -> Result<([String; N], Emulation), Error> {
    let mut words = words.into_iter();
    let first: Vec<String> =
        words.by_ref().take(N).map(|word| word.to_string_lossy().into_owned()).collect();
    let first = first.try_into().map_err(|_| Error::Message("arguments are missing".into()))?;
    let mut command: Vec<_> = words.collect();
    if command.first().is_some_and(|word| word == "--") {
        command.remove(0);
    }
    Ok((first, Emulation { command, ends_mute: true, ..Emulation::default() }))
}

fn delay_plan(words: Vec<OsString>) -> Result<Plan, Error> {
    let ([text], options) = split::<1>(words)?;
    let delay: u64 =
        text.parse().ok().filter(|&delay| delay <= 3_600_000).ok_or_else(|| {
            Error::Message(format!("expected whole milliseconds, found `{text}`"))
        })?;
    let prompt = format!("[delay {delay} ms] ");
    Ok(delay::plan(Span::from_millis(delay), prompt, options))
}

/// Returns the value for the direction that Mahimahi calls by this name: up first, then down.
fn of_direction<T>(text: &str, value: T) -> Result<(Option<T>, Option<T>), Error> {
    match text {
        "uplink" => Ok((Some(value), None)),
        "downlink" => Ok((None, Some(value))),
        _ => Err(Error::Message(format!("expected uplink or downlink, found `{text}`"))),
    }
}

fn loss_plan(words: Vec<OsString>) -> Result<Plan, Error> {
    let ([direction, rate], options) = split::<2>(words)?;
    let rate = crate::args::probability(&rate).map_err(Error::Message)?;
    let (up, down) = of_direction(&direction, rate)?;
    loss::plan(up, down, options)
}

fn onoff_plan(words: Vec<OsString>) -> Result<Plan, Error> {
    let ([direction, on, off], options) = split::<3>(words)?;
    let time = |text: &str| seconds(text).map_err(Error::Message);
    let (up, down) = of_direction(&direction, (time(&on)?, time(&off)?))?;
    let mut plan = onoff::plan(up, down, options)?;
    let word = direction.trim_end_matches("link");
    plan.prompt = format!("[onoff ({word}) on={on}s off={off}s] ");
    Ok(plan)
}

fn meter_plan(words: Vec<OsString>) -> Result<Plan, Error> {
    let read = meter_words(words).map_err(Error::Message)?;
    let side = |direction: Direction| DirectionSetup {
        meter: direction.meter,
        ..DirectionSetup::default()
    };
    let options = Emulation { command: read.rest, ends_mute: true, ..Emulation::default() };
    let prompt = "[meter] ".into();
    Ok(Plan { kind: "meter", prompt, up: side(read.up), down: side(read.down), options })
}

fn link_plan(words: Vec<OsString>) -> Result<Plan, Error> {
    let mut read = link_words(words).map_err(Error::Message)?;
    if read.rest.len() < 2 {
        return Err(Error::Message("two traces are needed".into()));
    }
    let command = read.rest.split_off(2);
    let side =
        |way: &str, file: &OsString, direction: Direction| -> Result<DirectionSetup, Error> {
            let name = file.to_string_lossy().into_owned();
            // As in Mahimahi, a file is preferred to a built-in trace of the same name.
            let load = match std::path::Path::new(file).exists() {
                true => paceline_trace::file::load_file,
                false => paceline_trace::load,
            };
            let trace = load(&name).map_err(|error| Error::Message(error.to_string()))?;
            let over = read.once.then(|| trace.period());
            let mut capacity = Capacity::trace(trace);
            if let Capacity::Trace { repeat, .. } = &mut capacity {
                *repeat = !read.once;
            }
            let alone = Scenario::new(&name).with(|scenario| scenario.seed = DEFAULT_SEED);
            let mut spec = LinkSpec::new(&format!("{way} {name}"), capacity);
            spec.router = RouterChoice::None;
            let made = queue(&direction.queue, &direction.queue_args).map_err(Error::Message)?;
            let (choice, limit) = (made.0, made.1);
            let bytes = limit.bytes.map(|bytes| format!("bytes={bytes}"));
            let packets = limit.packets.map(|packets| format!("packets={packets}"));
            let limits = bytes.into_iter().chain(packets).collect::<Vec<_>>().join(", ");
            let queue = match limits.as_str() {
                "" => direction.queue.clone(),
                limits => format!("{} [{limits}]", direction.queue),
            };
            let made = link(&alone, &spec, &choice, |_| limit)?;
            Ok(DirectionSetup {
                hops: vec![made],
                name: Some(name),
                queue: Some(queue),
                log: direction.log,
                meter: direction.meter,
                over,
                ..DirectionSetup::default()
            })
        };
    let up = side("up", &read.rest[0], read.up)?;
    let down = side("down", &read.rest[1], read.down)?;
    let options = Emulation { command, ends_mute: true, ..Emulation::default() };
    Ok(Plan { kind: "link", prompt: "[link] ".into(), up, down, options })
}
