//! `--runs` and `--spread`: several runs of a scenario, in all commands that simulate.

use clap::{Arg, Args};
use paceline_requests::written;
use paceline_sim::runs::{MAX_RUNS, Runs, Spread};

/// Options for several runs. Each command states its defaults with [`RunsArgs::stated`].
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Runs")]
pub(crate) struct RunsArgs {
    /// Number of runs, each with its own seed and start; results are medians and ranges of 90 % of
    /// the runs. Run 1 has the seed as given and starts at 0
    #[arg(long, alias = "starts", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_RUNS)))]
    pub(crate) runs: Option<u32>,
    /// Where in the recordings the runs start: within a time, or `trace` for anywhere; the recording
    /// then wraps
    #[arg(long, value_name = "TIME|trace", value_parser = written::spread,
        allow_hyphen_values = true)]
    pub(crate) spread: Option<Spread>,
}

/// Starts of the runs of commands whose flows all have one scheme, over links without recordings.
pub(crate) const ONE_SCHEME: &str = "On constant links all runs start at 0";
/// Starts of the runs of commands that take scenario files, over links without recordings.
pub(crate) const SCENARIO: &str = "If nothing on the path repeats, the first flow starts up to an RTT \
     later; a flow alone on a constant link starts at 0";

impl RunsArgs {
    /// Returns a change of an option's help that adds a sentence, which may be empty, and the default.
    pub(crate) fn stated(sentence: &str, default: &str) -> impl FnOnce(Arg) -> Arg {
        let stop = if sentence.is_empty() { "" } else { ". " };
        let more = format!("{stop}{sentence} [default: {default}]");
        move |arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.help(help + &more)
        }
    }

    /// Returns the runs that the options set, with `usual` for options that are missing.
    pub(crate) fn or(self, usual: Runs) -> Runs {
        Runs {
            count: self.runs.unwrap_or(usual.count),
            spread: self.spread.unwrap_or(usual.spread),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use paceline_cc::{ParamValue as _, SchemeSpec};
    use paceline_requests::compare::{CompareRequest, Comparison};
    use paceline_requests::gap::GapRequest;

    use super::*;
    use crate::Cli;

    /// Returns the help of an option of a command.
    fn help(command: &str, option: &str) -> String {
        let cli = Cli::command();
        let command = cli.find_subcommand(command).expect("a command");
        let argument = command.get_arguments().find(|argument| argument.get_id() == option);
        argument.and_then(Arg::get_help).expect("an option with help").to_string()
    }

    #[test]
    fn each_command_states_the_number_of_runs_that_its_request_makes() {
        let one = Runs::default();
        for (command, count, takes_files) in [
            ("compare", CompareRequest::RUNS, false),
            ("contest", one.count, false),
            ("medium", one.count, false),
            ("run", one.count, true),
            ("gap", GapRequest::RUNS, true),
        ] {
            let of_file = if takes_files { "those of the scenario file, or " } else { "" };
            let stated = help(command, "runs");
            let end = format!("starts at 0 [default: {of_file}{count}]");
            assert!(stated.ends_with(&end), "{command}: {stated}");
            if command == "medium" {
                continue;
            }
            let (starts, of_file) = match takes_files {
                true => (SCENARIO, "that of the scenario file, or "),
                false => (ONE_SCHEME, ""),
            };
            let stated = help(command, "spread");
            let end = format!(". {starts} [default: {of_file}{}]", one.spread.show());
            assert!(stated.ends_with(&end), "{command}: {stated}");
        }
    }

    #[test]
    fn runs_of_one_scheme_over_constant_links_start_at_0() {
        let (name, capacity) = written::capacity("12Mbps").expect("a rate");
        let cubic = SchemeSpec::parse("cubic").expect("a scheme");
        let four = Comparison { flows: 4, ..Comparison::new(&name, capacity, cubic) };
        for number in 1..=10 {
            assert!(four.run_number(number).0.start.is_zero(), "run {number}");
        }
    }
}
