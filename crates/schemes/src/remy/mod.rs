//! Remy: follows a table of rules that a computer has found for given networks and a given aim.
//!
//! # What it does
//! A sender keeps a *memory* of six numbers, or seven: averages of the times between the packets that were
//! acknowledged (at sending), and between their acknowledgements (a quick and a slow one), the
//! latest RTT over the smallest one, its difference to it, and an estimate of the time that what
//! is outstanding takes; and, if its table looks at it, the average share of acknowledged packets that
//! an ABC router let accelerate. A table divides the space of memories into boxes. The rule of a box has
//! three numbers: with each batch of acknowledgements the window becomes `m * window + b`
//! packets, rounded towards zero, and packets are sent at least `r` milliseconds apart. Each
//! connection begins with an empty memory, and with the window and the pacing of the rule for it.
//! Nothing else is decided: what follows is in the table, and so are its strengths and failures.
//!
//! A table comes by name, or from a file where the program reads files. Rules are laid out as a
//! grid when the table is loaded, so that looking one up takes the same few steps for each table.
//!
//! # Signals it needs
//! The fate of each packet, with the time at which it was sent. It expects each packet to be
//! acknowledged.
//!
//! A table with `accel_share`, our own signal, needs the echo of ABC's marks, too. It brings
//! [`abc`](crate::abc)'s router with its default parameters, and a receiver that echoes the
//! marks; where the driver cannot carry the echo, that is an error. Its packets leave as
//! accelerates. So behind a link without such a router all of them stay accelerates, and the share
//! goes to 1, which means that nothing holds the sender back but its other signals. Where the ECN
//! field is cleared the share stays at 0, with which a connection begins: all brakes. CE counts as a
//! brake.
//!
//! # Parameters
//! *Batches*: acknowledgements that come at the same instant count as one, and a rule is applied
//! to the window once for all of them, with the memory after the last. Published tables
//! are trained so. Over a link that carries one packet at a time, and with each packet acknowledged
//! by itself, batches have one packet.
//!
//! *As published*: a timeout changes nothing, so that a sender whose whole window was lost waits for
//! its next connection; and an acknowledgement for a packet of an earlier connection applies the
//! present rule once more, although it leaves the memory as it is. Without it such acknowledgements
//! are ignored, and after a timeout all that is on its way counts as lost. `as_published` also sends
//! nothing again that was lost.
//!
//! *Resolution*: published tables divide the ratio of RTTs at 1.0000000000012754, that is, into
//! those with a queue and those without. The published simulator has times in 64-bit floating
//! point, this one in whole nanoseconds, whose rounding would be a queue. On real clocks a larger
//! value is needed: the jitter of an idle path.
//!
//! # Where it fails
//! Outside of the networks that a table was made for. The thesis shows it: throughput stays behind
//! on links much faster than those trained on, delays grow on slower ones, and beside other schemes
//! a table that was not trained with them may starve, or fill queues. A table is blind to losses,
//! but for the pauses that they make. Nothing in a table can be explained like an algorithm;
//! `paceline remy show` says what its rules do. The table `starter` is written by hand to have
//! something to begin with, and is good at nothing.
//!
//! # Source
//! K. Winstein: Transport Architectures for an Evolving Internet, MIT 2014, chapters 3 and 4; K.
//! Winstein, H. Balakrishnan: TCP ex Machina: Computer-Generated Congestion Control, SIGCOMM 2013;
//! the published program for what they leave open: the weights of the averages, their start, and
//! when a rule is applied.

mod action;
mod grid;
mod marks;
mod memory;
mod sender;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

use std::sync::Arc;

pub use action::{Action, MAX_WINDOW};
pub use grid::Place;
pub use marks::MarkedRemySender;
pub use memory::{Memory, PUBLISHED_SIGNALS, SIGNALS, Signal, Tracker};
pub use sender::{RemySender, RuleObserver};
pub use table::{MAX_DEPTH, MAX_RULES, RuleTable, TableError};
pub use tables::{NamedTable, ReadTable, RemyTables};
pub use tree::{DOMAIN_END, Domain, Rule, RuleTree};

use paceline_cc::{AckPolicy, Halves, Params, Setup, Span, TrafficClass};

use crate::abc::{AbcParams, AbcReceiver, AbcRouter};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::choices! {
    /// How often a rule is applied.
    pub enum Per {
        /// Once for the acknowledgements that come at the same instant.
        Batch = "batch",
        /// Once for each acknowledged packet.
        Packet = "packet",
    }
}

paceline_cc::params! {
    /// Parameters of Remy.
    pub struct RemyParams {
        /// The name of a built-in table.
        table: String = String::from("starter"), source "ours";
        /// A file with a table, instead of a built-in one; where files can be read.
        file: String = String::new(), source "ours";
        /// Whether a rule is applied once per batch of acknowledgements, or once per acknowledged
        /// packet.
        per: Per = Per::Batch, source "the published simulator";
        /// Two oddities of the published simulator: timeouts change nothing, and acknowledgements of
        /// an earlier connection apply the present rule once more.
        as_published: bool = false, source "ours; the published simulator: true";
        /// RTTs that exceed the smallest one by at most this much count as the smallest.
        resolution: Span = sender::RESOLUTION, source "ours: only rounding is below";
    }
}

/// The halves of Remy with a given table. `observer` hears which rules are used. A table that looks
/// at ABC's marks brings ABC's router with its default parameters, and a receiver that echoes them.
pub fn halves(
    params: RemyParams,
    table: Arc<RuleTable>,
    observer: Option<Arc<dyn RuleObserver>>,
) -> Halves {
    let (ack, reliable, marks) = (AckPolicy::EACH, !params.as_published, table.hears_marks());
    let sender = move |setup: &Setup| {
        let sender = RemySender::new(&params, Arc::clone(&table), setup);
        match &observer {
            Some(observer) => sender.observed(Arc::clone(observer)),
            None => sender,
        }
    };
    if !marks {
        return Halves { ack, reliable, ..Halves::sender(sender) };
    }
    Halves {
        ack,
        reliable,
        reporter: Some(Arc::new(|| Box::new(AbcReceiver::default()))),
        router: Some(Arc::new(|| Box::new(AbcRouter::new(&AbcParams::default())))),
        class: TrafficClass::EXPLICIT,
        ..Halves::sender(move |setup| MarkedRemySender::new(sender(setup)))
    }
}

/// The line of the registry.
pub const SCHEME: Scheme = Scheme {
    name: "remy",
    summary: "Follows a table of rules that a computer has found for given networks",
    source: "Winstein, MIT 2014, chapters 3 and 4; SIGCOMM 2013",
    params: RemyParams::infos,
    plot_style: PlotStyle::new(Hue::Teal, Dash::Dashed, Shape::Diamond),
    bulk: None,
    note: Some(
        "its table, starter, is an example written by hand; take one that was made for \
         such links, as in remy[table=range-100x]",
    ),
    build: |spec| RemyTables::builtin().build(spec),
};
