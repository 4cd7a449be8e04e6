//! Runs an emulation until the program inside ends.

use std::process::ExitCode;
use std::time::Duration;

use paceline_cc::Time;
use paceline_emulator::output::EmulationReport;
use paceline_emulator::router::Router;
use paceline_emulator::shell::{Shell, ShellOptions};
use paceline_emulator::{Chain, Control, Emulator, EmulatorOptions, EndReason, Summary};
use paceline_os::priority;
use paceline_os::{Interrupts, RealTimeError};
use paceline_report::{TestCase, TestFailure, junit};

use super::{Condition, Emulation, Plan, condition, ending, observers};
use crate::output::{self, Error};

impl Plan {
    /// Starts the program and carries its packets. Returns the program's exit status.
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        self.options.check_names()?;
        self.options.junit.as_deref().map_or(Ok(()), output::has_folder)?;
        // Creates files first, so that an error is reported before anything runs.
        let (observers, figures) = observers::observers(&self)?;
        let Plan { kind, prompt, up, down, options } = self;
        let files = ending::files(&options, &up, &down);
        let mut shell = ShellOptions::new(kind, options.command.clone());
        let who = name(&prompt);
        shell.prompt = prompt;
        shell.outside = options.outside.clone();
        shell.wait_for = options.wait_for;
        shell.offload = true;
        shell.network = options.network()?;
        shell.grace =
            options.grace.map_or(Duration::ZERO, |it| Duration::from_nanos(it.as_nanos()));
        if options.realtime {
            // Restores this for the programs, since they would inherit the emulator's priority.
            shell.nice = Some(priority::niceness());
        }
        let goes_round = options.outside.as_ref().filter(|_| kind != "gap").and(around());
        if let Some(around) = &goes_round {
            output::note(&format!("warning: {who}: {}", passes_by(around)));
        }
        tune(&options)?;
        let (shell, devices) = Shell::start(&shell).map_err(told)?;
        if !options.quiet {
            shell
                .remarks()
                .iter()
                .for_each(|remark| output::note(&format!("note: {who}: {remark}")));
        }
        // As in Mahimahi, only the uplink's trace ends the emulation.
        let end = up.over.map_or(Time::NEVER, |over| Time::ZERO + over);
        let early = (Chain::new(up.prelude), Chain::new(down.prelude));
        let (up, down) = (Chain::new(up.hops), Chain::new(down.hops));
        let tuning = EmulatorOptions { end, ..EmulatorOptions::default() };
        let mut emulator = Emulator::new(devices.inner, devices.outer, up, down, tuning);
        if let Some(trigger) = &options.start_on {
            emulator.begin_on(trigger.clone(), early.0, early.1);
        }
        observers.into_iter().for_each(|observer| emulator.watch(observer));
        // Binds the processor now, after the program inside has started, so that the program may
        // use all processors.
        let bound = options.cpu.map_or(Ok(()), priority::bind_to);
        let ran = bound.and_then(|()| emulator.run(&[shell.ended()], &mut |_| Control::Stop));
        let summary = match ran {
            Ok(summary) => summary,
            Err(error) => {
                shell.stop();
                let _ = shell.finish();
                return Err(told(error));
            }
        };
        if let EndReason::Closed(_) | EndReason::Over = summary.ended {
            shell.stop();
        }
        let end = shell.finish().map_err(told)?;
        // As in Mahimahi, the end of the trace is a success.
        let status = if summary.ended == EndReason::Over { 0 } else { end.status };
        report(&summary, &who, &options);
        if let Some(problem) = &end.not_undone {
            output::note(&format!("warning: {who}: {problem}; `paceline cleanup` tries it again"));
        }
        let figures = figures.and_then(|shared| shared.lock().ok()?.clone());
        let begun = figures.as_ref().filter(|_| !summary.never_began);
        let too_short = begun.and_then(condition::too_short);
        if let Some(problem) = &too_short {
            output::note(&format!("warning: {who}: {problem}: its links' figures count nothing"));
        }
        if !options.quiet && !options.ends_mute {
            output::note(&format!("{who}: {}", ending::passed(&summary, figures.as_ref())));
            let flows = figures.as_ref().map(ending::flows);
            flows.iter().flatten().for_each(|flow| output::note(&format!("{who}: {flow}")));
            if !files.is_empty() && summary.errors.is_empty() {
                output::note(&format!("wrote {}", files.join(", ")));
            }
        }
        let mut verdicts = verdicts(&summary, figures.as_ref(), &options);
        let failures: Vec<&String> = verdicts.iter().filter_map(|(_, it)| it.as_ref()).collect();
        failures.iter().for_each(|failure| output::note(&format!("failed: {who}: {failure}")));
        let has_failures = !failures.is_empty();
        let passing = goes_round.as_deref().map(passes_by);
        // The process that watches over the command has printed its status.
        let outside = end.has_outside_failed.then(|| "the command of --outside has failed".into());
        let problems: Vec<String> =
            passing.into_iter().chain(outside).chain(too_short).chain(problems(&summary)).collect();
        let failed = options.strict && !problems.is_empty() || has_failures;
        let status = if failed && status == 0 { 1 } else { status };
        if let Some(path) = &options.junit {
            if options.strict {
                let problem = (!problems.is_empty()).then(|| problems.join("; "));
                verdicts.push(("--strict".into(), problem));
            }
            let seconds = summary.duration.as_secs_f64();
            let test = |(name, failure): Verdict| TestCase {
                class: who.clone(),
                name,
                failure: failure.map(|message| TestFailure { message, ..TestFailure::default() }),
            };
            let tests: Vec<TestCase> = verdicts.into_iter().map(test).collect();
            let document = junit(&who, Some(seconds), &tests);
            match options.quiet {
                true => output::write_file(path, document.as_bytes())?,
                false => output::write_named(path, document.as_bytes())?,
            }
        }
        Ok(ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)))
    }
}

impl Plan {
    /// Carries packets that leave a device, instead of those of a program, through the uplink,
    /// until a signal arrives or until `end`.
    pub(crate) fn route(self, router: Router, end: Time) -> Result<(), Error> {
        self.options.check_names()?;
        let (observers, _) = observers::observers(&self)?;
        let Plan { prompt, up, options, .. } = self;
        tune(&options)?;
        options.cpu.map_or(Ok(()), priority::bind_to).map_err(told)?;
        let interrupts = Interrupts::watch().map_err(told)?;
        let tuning = EmulatorOptions { end, ..EmulatorOptions::default() };
        let summary = router.run(Chain::new(up.hops), tuning, observers, &interrupts);
        let summary = summary.map_err(told)?;
        match summary.ended {
            EndReason::Closed(_) => {
                Err(Error::Message("the router's device was taken away".into()))
            }
            // The trace repeats, so its end does not end the router.
            EndReason::Stopped | EndReason::Over => {
                report_errors(&summary, &name(&prompt), &options);
                Ok(())
            }
        }
    }
}

fn told(error: RealTimeError) -> Error {
    Error::Message(error.to_string())
}

/// Applies the user's options to the emulator alone, before it starts programs.
fn tune(options: &Emulation) -> Result<(), Error> {
    if let Some(cpu) = options.cpu {
        priority::may_bind_to(cpu).map_err(|error| Error::Usage(error.to_string()))?;
    }
    if options.realtime {
        return priority::real_time(priority::RealTime::Emulator).map_err(told);
    }
    // If this is refused, the emulator competes as an equal with the programs inside.
    priority::raise_priority();
    Ok(())
}

/// Prints notes and warnings about the emulation.
fn report(summary: &Summary, who: &str, options: &Emulation) {
    match summary.ended {
        EndReason::Stopped => {}
        EndReason::Over => {
            output::note(&format!("note: {who}: the uplink's trace is over; the program was ended"))
        }
        EndReason::Closed(_) => output::note(&format!("warning: {who}: {CLOSED}")),
    }
    report_errors(summary, who, options);
}

/// A condition and the reason why it has failed the emulation; `None` if it has not.
type Verdict = (String, Option<String>);

/// Returns each condition of --fail-if, with an error text if it holds or cannot be decided.
fn verdicts(
    summary: &Summary,
    figures: Option<&EmulationReport>,
    options: &Emulation,
) -> Vec<Verdict> {
    let failure = |one: &Condition| match figures {
        _ if summary.never_began => {
            Some(format!("--fail-if {one}: the event of --start-on has not come"))
        }
        Some(report) => one.failure(report),
        None => Some(format!("--fail-if {one}: there are no figures")),
    };
    options.fail_if.iter().map(|one| (format!("--fail-if {one}"), failure(one))).collect()
}

/// The problem of an emulator that has lost a device.
const CLOSED: &str = "a device of the emulator was taken away; the program was ended";

/// Returns the problems for which --strict fails a run: errors, late packets, a lost device.
fn problems(summary: &Summary) -> Vec<String> {
    let late = summary.late.then(|| {
        let bound = summary.bound.as_millis_f64();
        format!("{} were released more than {bound} ms late", late_packets(summary))
    });
    let closed = matches!(summary.ended, EndReason::Closed(_)).then(|| CLOSED.to_string());
    let errors = summary.errors.iter().map(ToString::to_string);
    errors.chain(late).chain(closed).collect()
}

/// Prints warnings about figures that are not those of the link.
fn report_errors(summary: &Summary, who: &str, options: &Emulation) {
    for error in &summary.errors {
        output::note(&format!("warning: {who}: {error}"));
    }
    if summary.late {
        let remedies = [
            (options.cpu.is_none(), "--cpu"),
            (!options.realtime, "--realtime"),
            (true, "a machine with less to do"),
        ];
        let remedies = remedies.into_iter().filter_map(|(helps, what)| helps.then_some(what));
        output::note(&format!(
            "warning: {who}: late: {} were released more than {} ms after their time, so that \
             these results are not those of the link; what may help: {}",
            late_packets(summary),
            summary.bound.as_millis_f64(),
            remedies.collect::<Vec<_>>().join(", ")
        ));
    }
}

/// Returns how many packets of each direction were late, of how many, and how late 99 % of them were at most.
fn late_packets(summary: &Summary) -> String {
    let ways = [("up", &summary.up), ("down", &summary.down)];
    let late = ways.into_iter().filter(|(_, way)| way.late_packets > 0).map(|(name, way)| {
        let (late, count) = (way.late_packets, way.lateness.count);
        format!("{late} of {count} packets {name} (p99 {:.1} ms)", way.lateness.p99.as_millis_f64())
    });
    late.collect::<Vec<_>>().join(" and ")
}

/// Returns an emulator's name: its prompt after those of the shells around it.
fn name(prompt: &str) -> String {
    format!("{}{prompt}", around().unwrap_or_default()).trim().to_string()
}

/// Returns the names of the emulators around this process, as in their prompts; `None` if there are
/// none.
fn around() -> Option<String> {
    std::env::var("MAHIMAHI_SHELL_PREFIX").ok().filter(|text| !text.trim().is_empty())
}

/// Returns a warning that the packets between a program and the command of `--outside` do not pass
/// the emulators around them.
fn passes_by(around: &str) -> String {
    format!(
        "the command of --outside runs between this emulator and those around it, so that packets \
         to it do not pass {}; give --outside to the outermost emulator",
        around.trim()
    )
}
