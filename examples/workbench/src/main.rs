//! The `paceline` command with a controller and a queue of one's own: `main` adds them to the names that
//! the command knows, and every command takes them.
//!
//! ```text
//! cargo run -p paceline-workbench -- compare --schemes 'mine[rtts=3],cubic+short' -o out
//! cargo run -p paceline-workbench -- schemes mine
//! ```

mod mine;

use std::process::ExitCode;

use paceline_cc::{Halves, Params as _, params};
use paceline_path::Limit;
use paceline_path::queue::{Fifo, QueueEntry};
use paceline_schemes::SchemeEntry;

use mine::Mine;

params! {
    /// The parameters of `mine`.
    pub struct MineParams {
        /// Window, in round trips worth of the delivery rate.
        rtts: f64 = 2.0, in 0.5..=100.0, source "this example";
    }
}

fn main() -> ExitCode {
    let mut names = paceline_cli::names();
    let scheme = SchemeEntry::new("mine", |spec| {
        let MineParams { rtts } = spec.params()?;
        Ok(Halves::sender(move |setup| Mine::new(setup.mss, rtts)))
    });
    let scheme = scheme.summary("Keeps a constant number of round trips' worth in flight");
    names.schemes.add(scheme.documented(MineParams::infos)).expect("a free name");
    let queue = QueueEntry::new("short", |_, limit, _| {
        let packets = limit.packets.map_or(20, |packets| packets.min(20));
        Ok(Box::new(Fifo::new(Limit::packets(packets))))
    });
    names.queues.add(queue.summary("Droptail of 20 packets at most")).expect("a free name");
    paceline_cli::main_with(names)
}
