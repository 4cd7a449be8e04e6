//! Remy: follows a table of rules that a computer has found for given networks and a given aim.
//!
//! # What it does
//! A sender keeps a *memory* of six or seven numbers: the average time between acknowledged packets
//! at their sending; the average time between their acknowledgements, a quick and a slow one; the
//! latest RTT divided by the smallest one; the difference of the two; an estimate of the time that
//! the outstanding packets take; and, if its table uses it, the average share of acknowledged
//! packets that an ABC router let accelerate. A table divides the space of memories into boxes. The
//! rule of a box has three numbers: with each batch of acknowledgements the window becomes `m *
//! window + b` packets, rounded towards zero, and packets are sent at least `r` milliseconds apart.
//! Each connection begins with an empty memory, and with the window and the pacing of its rule. The
//! table decides everything else, and so has all strengths and weaknesses.
//!
//! Rules of tables with actions on the delivery rate set the window to `rate * (m * min_rtt + t) + b`
//! packets instead, and the pacing rate to `r` times the delivery rate, so that they hold for any
//! rate and RTT. Their memory has five more numbers: the smallest RTT, the average queueing delay,
//! the trends of the RTT and of the delivery rate, and the latest time between acknowledgements.
//!
//! A table may have its rules on a *timer*: when no acknowledgement comes for that long although
//! packets are outstanding, the rule is looked up again, with the time since the last
//! acknowledgement as that latest time, and once more after each further interval. It then acts on
//! the window that the last acknowledgement found. So a sender may hold back during an outage.
//!
//! A table is chosen by name, or comes from a file where the program reads files. When a table is
//! loaded, its rules are arranged as a grid, so that finding a rule takes equally few steps for
//! each table.
//!
//! # Signals it needs
//! The fate of each packet, with its sending time. It expects each packet to be acknowledged.
//!
//! A table with `accel_share`, this program's own signal, also needs the echo of ABC's marks. It
//! comes with [`abc`](crate::abc)'s router with default parameters, and a receiver that echoes the
//! marks; a driver that cannot carry the echo gets an error. Its packets leave as accelerates. On a
//! path without such a router all of them stay accelerates, and the share goes to 1: then only its
//! other signals slow the sender down. If the ECN field is cleared, the share stays at its initial
//! 0, as if all packets were brakes. CE counts as a brake.
//!
//! # Parameters
//! *Batches*: acknowledgements that arrive at one instant count as one, and a rule is applied to
//! the window once for all of them, with the memory after the last. Published tables were trained
//! so. On a link that carries one packet at a time, and with each packet acknowledged separately, a
//! batch has one packet.
//!
//! *As published*: a timeout has no effect, so that a sender whose whole window was lost waits for
//! its next connection. An acknowledgement for a packet of an earlier connection applies the
//! present rule once more, although it does not change the memory. Lost packets are not
//! retransmitted. Without `as_published`, such acknowledgements are ignored; after a timeout all
//! outstanding packets count as lost, and one packet is sent until an acknowledgement comes, as in
//! Linux (`tcp_enter_loss`). Sending the whole window at each timeout of an outage would fill the
//! buffer with copies.
//!
//! *Resolution*: published tables divide the ratio of RTTs at 1.0000000000012754, that is, into
//! those with a queue and those without. The published simulator has times in 64-bit floating
//! point. This program has whole nanoseconds, whose rounding would look like a queue. With real
//! clocks a larger value is needed: the jitter of an idle path.
//!
//! # Where it fails
//! It fails outside the networks for which a table was made. The thesis shows this: throughput is
//! too low on links much faster than those trained on, delays grow on slower ones, and beside other
//! schemes a table that was not trained with them may starve, or fill queues. A table does not
//! notice losses, except for the pauses that they cause. Its behaviour cannot be explained like an
//! algorithm's; `paceline remy show` shows what its rules do. The table `starter` was written by
//! hand as a first example, and performs well nowhere. The default, `general`, is for unknown paths;
//! beside Cubic and a shallow buffer it gets less than its share.
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
mod ticker;
mod tree;
mod walk;

use std::sync::Arc;

pub use action::{Action, ActionBasis, MAX_WINDOW};
pub use grid::Place;
pub use marks::MarkedRemySender;
pub use memory::{Memory, PUBLISHED_SIGNALS, SIGNALS, Signal, Tracker};
pub use sender::{RemySender, RuleObserver};
pub use table::{MAX_DEPTH, MAX_RULES, RuleTable, TableError};
pub use tables::{NamedTable, ReadTable, RemyTables};
pub use ticker::Ticker;
pub use tree::{DOMAIN_END, Domain, Rule, RuleTree};

use paceline_cc::{AckPolicy, Halves, Params, Setup, Span, TrafficClass};

use crate::abc::{AbcParams, AbcReceiver, AbcRouter};
use crate::plot_style::{Dash, Hue, PlotStyle, Shape};
use crate::scheme::Scheme;

paceline_cc::choices! {
    /// How often a rule is applied.
    pub enum Per {
        /// Once for all acknowledgements that arrive at one instant.
        Batch = "batch",
        /// Once for each acknowledged packet.
        Packet = "packet",
    }
}

paceline_cc::params! {
    /// Parameters of Remy.
    pub struct RemyParams {
        /// Name of a built-in table.
        table: String = String::from("general"), source "ours";
        /// File with a table, instead of a built-in one; where files can be read.
        file: String = String::new(), source "ours";
        /// Whether a rule is applied once per batch of acknowledgements, or once per acknowledged
        /// packet.
        per: Per = Per::Batch, source "the published simulator";
        /// Two oddities of the published simulator: timeouts have no effect, and acknowledgements
        /// of an earlier connection apply the present rule once more.
        as_published: bool = false, source "ours; the published simulator: true";
        /// RTTs that exceed the minimum by at most this much count as the minimum. 0: the
        /// resolution that the table was made for, which is 10 ns unless its file says otherwise.
        resolution: Span = Span::ZERO, source "ours";
    }
}

impl RemyParams {
    /// Returns the resolution of senders that follow `table`.
    pub fn resolution_with(&self, table: &RuleTable) -> Span {
        if self.resolution > Span::ZERO { self.resolution } else { table.resolution() }
    }
}

/// Returns the halves of Remy with a given table. Reports each use of a rule to `observer`. A table
/// that uses ABC's marks comes with ABC's router with its default parameters, and a receiver that
/// echoes the marks.
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
        reporter: Some(Arc::new(|_| Box::new(AbcReceiver::default()))),
        router: Some(Arc::new(|_| Box::new(AbcRouter::new(&AbcParams::default())))),
        class: TrafficClass::EXPLICIT,
        ..Halves::sender(move |setup| MarkedRemySender::new(sender(setup)))
    }
}

/// Entry in the table of schemes.
pub const SCHEME: Scheme = Scheme {
    name: "remy",
    summary: "Follows a table of rules that a computer has found for given networks",
    source: "Winstein, MIT 2014, chapters 3 and 4; SIGCOMM 2013",
    params: RemyParams::infos,
    plot_style: PlotStyle::new(Hue::Teal, Dash::Dashed, Shape::Diamond),
    bulk: None,
    note: None,
    build: |spec| RemyTables::builtin().build(spec),
};
