//! The subcommands, one file each.

mod bench;
mod bulk;
mod cleanup;
mod compare;
mod contest;
mod delay;
mod doctor;
mod evaluate;
mod fetch;
mod gap;
mod generate;
mod kernel;
mod key;
mod link;
mod linux;
mod log;
mod loss;
pub(crate) mod mahimahi;
mod medium;
mod meter;
mod new;
mod onoff;
mod plot;
mod recv;
mod remy;
mod reproduce;
mod router;
pub(crate) mod run;
mod saturate;
pub(crate) mod scenario;
mod schemes;
mod send;
mod serve;
mod sweep;
mod trace;
mod traffic;
mod transfer;
mod transfer_end;
mod tunnel;
mod validate;

use std::process::ExitCode;

use clap::Subcommand;

use crate::output::Error;

#[derive(Subcommand)]
pub(crate) enum Command {
    Compare(compare::Compare),
    Plot(plot::Plot),
    Run(run::Run),
    /// Simulate a scenario with every combination of values of its keys, in shards: Parquet
    Sweep(sweep::SweepCommand),
    /// Join the tables of a sweep's shards
    Merge(sweep::MergeCommand),
    /// List the example scenarios, or begin a scenario of your own with one
    #[command(subcommand)]
    Scenario(scenario::ScenarioCommand),
    /// Begin a controller, a scenario or a trace of your own
    #[command(subcommand)]
    New(new::New),
    Schemes(schemes::Schemes),
    /// Inspect, make, convert and plot traces of link capacity
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Compare our figures with those of ns-3, ns-2, htsim, real Linux and the papers
    Validate(validate::Validate),
    Reproduce(reproduce::Reproduce),
    /// Answer the IETF's questions about a congestion control (RFC 9743, 8867, 8869) by simulations
    Evaluate(Box<evaluate::Evaluate>),
    /// Run each scheme in the simulator and for real in the emulator, and compare both
    Gap(gap::Gap),
    /// Load congestion controls into this machine's own TCP (eBPF)
    #[command(subcommand)]
    Kernel(kernel::Kernel),
    /// Build and test Linux guests: the kernel's own TCP in the simulator's time
    #[command(subcommand)]
    Linux(linux::Linux),
    Router(Box<router::RouterCommand>),
    /// Measure the simulator's speed
    Bench(bench::Bench),
    /// Compute the throughput of saturated stations on a shared 802.11 channel
    Medium(medium::Medium),
    /// Train, evaluate, show and convert the rule tables of RemyCC
    #[command(subcommand)]
    Remy(remy::Remy),
    Delay(delay::Delay),
    Link(Box<link::LinkCommand>),
    Loss(loss::Loss),
    Onoff(onoff::OnOff),
    Meter(meter::Meter),
    /// Clean up after emulators that were killed
    Cleanup(cleanup::Cleanup),
    Log(log::Log),
    Send(send::Send),
    Recv(recv::Recv),
    Serve(serve::Serve),
    Contest(contest::Contest),
    #[command(subcommand)]
    Tunnel(tunnel::Tunnel),
    #[command(subcommand)]
    Saturate(saturate::Saturate),
    /// Make and show the keys of servers
    #[command(subcommand)]
    Key(key::KeyCommand),
    #[command(subcommand)]
    Mahimahi(mahimahi::Mahimahi),
    /// Mahimahi's delay
    #[command(hide = true)]
    MmDelay(mahimahi::Raw),
    /// Mahimahi's link
    #[command(hide = true)]
    MmLink(mahimahi::Raw),
    /// Mahimahi's loss
    #[command(hide = true)]
    MmLoss(mahimahi::Raw),
    /// Mahimahi's meter
    #[command(hide = true)]
    MmMeter(mahimahi::Raw),
    /// Mahimahi's interruptions
    #[command(hide = true)]
    MmOnoff(mahimahi::Raw),
    /// Run `gap`'s senders and receivers, inside and outside the emulator
    #[command(subcommand, hide = true)]
    Traffic(traffic::Traffic),
    Doctor(doctor::Doctor),
    /// Print a shell's completions
    Completions(generate::Completions),
    /// Print the manual page, or write all of them into a folder
    Man(generate::Man),
}

impl Command {
    /// Runs the command. Emulations return the exit status of the program inside.
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        match self {
            Command::Compare(command) => command.run(),
            Command::Plot(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Sweep(command) => command.run(),
            Command::Merge(command) => command.run(),
            Command::Scenario(command) => command.run(),
            Command::New(command) => command.run(),
            Command::Schemes(command) => command.run(),
            Command::Trace(command) => command.run(),
            Command::Validate(command) => command.run(),
            Command::Evaluate(command) => command.run(),
            Command::Gap(command) => command.run(),
            Command::Kernel(command) => command.run(),
            Command::Linux(command) => command.run(),
            Command::Router(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Reproduce(command) => command.run(),
            Command::Medium(command) => command.run(),
            Command::Remy(command) => command.run(),
            Command::Delay(command) => return command.run(),
            Command::Link(command) => return command.run(),
            Command::Loss(command) => return command.run(),
            Command::Onoff(command) => return command.run(),
            Command::Meter(command) => return command.run(),
            Command::Cleanup(command) => command.run(),
            Command::Log(command) => command.run(),
            Command::Send(command) => command.run(),
            Command::Recv(command) => command.run(),
            Command::Serve(command) => command.run(),
            Command::Contest(command) => command.run(),
            Command::Tunnel(command) => command.run(),
            Command::Saturate(command) => command.run(),
            Command::Key(command) => command.run(),
            Command::Mahimahi(command) => command.run(),
            Command::MmDelay(command) => return command.run("mm-delay"),
            Command::MmLink(command) => return command.run("mm-link"),
            Command::MmLoss(command) => return command.run("mm-loss"),
            Command::MmMeter(command) => return command.run("mm-meter"),
            Command::MmOnoff(command) => return command.run("mm-onoff"),
            Command::Traffic(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}
