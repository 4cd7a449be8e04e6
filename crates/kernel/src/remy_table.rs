//! Tables of Remy's rules in integers, as `bpf/remy.h` and `bpf/remy_rate.h` read them.
//!
//! A table's boxes divide each signal's axis into intervals, and the intervals of all axes divide
//! the space of memories into cells. Each cell has one rule. A lookup finds one interval per axis,
//! in at most twelve halvings, and reads the rule of the cell.

use paceline_cc::Span;
use paceline_schemes::remy::{
    Action, ActionBasis, Domain, MAX_RULES, Memory, RuleTable, RuleTree, SIGNALS, Signal,
};
use thiserror::Error;

/// An end that no signal reaches.
const NEVER: u64 = 1 << 62;

/// Maximum number of cells of a table: 8 MB of the kernel's memory.
const MOST_CELLS: usize = 1 << 22;
/// Maximum number of interval ends on one axis.
const MOST_ENDS: usize = 4095;
/// Fraction bits of signals, and of multiples.
const FRACTION: u32 = 32;
const MULTIPLE_FRACTION: u32 = 40;
/// Bounds of a rule's action: its multiple is below `MOST_MULTIPLE`, its increment at most
/// `MOST_PACKETS` packets.
const MOST_MULTIPLE: f64 = 4.0;
const MOST_PACKETS: u64 = 1_000_000;
/// Longest time between packets in nanoseconds: 1000 s.
const MOST_GAP: u64 = 1_000_000_000_000;
/// Fraction bits of the multiples of the minimum RTT, of the times and of the gains of actions on
/// the delivery rate.
const RATE_MULTIPLE_FRACTION: u32 = 24;
const GAIN_FRACTION: u32 = 28;
/// Bounds of actions on the delivery rate: multiples are below `MOST_RTTS`, gains 0 or from
/// `LEAST_GAIN` to `MOST_GAIN`, and the queueing delay at most `MOST_QUEUE_MS` milliseconds in
/// either direction.
const MOST_RTTS: f64 = 16.0;
const LEAST_GAIN: f64 = 0.001;
const MOST_GAIN: f64 = 1000.0;
const MOST_QUEUE_MS: f64 = 100_000.0;
/// Marks cells for which the table has no rule.
const NONE: u64 = 0xffff;
// Rule numbers have 16 bits.
const _: () = assert!((MAX_RULES as u64) < NONE);

/// Reason why a table does not fit into the kernel.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RemyTableError {
    /// A number in a rule's action is too large.
    #[error(
        "rule {rule}: in the kernel m={} has to be between -4 and 4, and b={} between -1000000 and \
         1000000", .action.multiple, .action.increment
    )]
    Action {
        /// Number of the rule, from 0.
        rule: usize,
        /// Action of the rule.
        action: Action,
    },
    /// Rules of the table read the marks of an ABC router.
    #[error(
        "the table's rules look at accel_share, the marks of an ABC router, which the kernel's Remy does not hear"
    )]
    Marks,
    /// A number in a rule's action on the delivery rate is too large or negative.
    #[error(
        "rule {rule}: in the kernel m={} has to be from 0 to below {MOST_RTTS}, b={} between -{MOST_PACKETS} and \
         {MOST_PACKETS}, r={} 0 or from {LEAST_GAIN} to {MOST_GAIN}, and t={} ms between -{MOST_QUEUE_MS} and \
         {MOST_QUEUE_MS} ms", .action.multiple, .action.increment, .action.intersend_ms, .action.queue_ms
    )]
    RateAction {
        /// Number of the rule, from 0.
        rule: usize,
        /// Action of the rule.
        action: Action,
    },
    /// Rules of the table are on a timer.
    #[error(
        "the table's rules are on a timer of {timer}, and the kernel's Remy looks rules up at acknowledgements only: \
         remove `timer` from the table's file, or run it over UDP (paceline send --scheme remy[file=FILE])"
    )]
    Timer {
        /// The timer.
        timer: Span,
    },
    /// The table's boxes divide the space into too many cells.
    #[error(
        "the table's boxes divide memories into {cells} cells; the kernel's tables have at most {MOST_CELLS}"
    )]
    Cells {
        /// Number of cells.
        cells: usize,
    },
    /// The boxes divide one signal's axis into too many intervals.
    #[error(
        "the table's boxes divide {signal} at {ends} places; the kernel's tables do at most at {MOST_ENDS}"
    )]
    Ends {
        /// Name of the signal.
        signal: &'static str,
        /// Number of interval ends.
        ends: usize,
    },
}

/// Ends of a signal's intervals (`count` of them from index `first`), and the distance between
/// neighbours in the cells (`stride`).
#[derive(Copy, Clone, Debug, Default)]
struct Axis {
    first: usize,
    count: usize,
    stride: usize,
}

/// Action of a rule: the words of C's `struct remy_action`.
type WholeAction = [u64; 7];

/// A table of rules in integers.
#[derive(Clone)]
pub struct RemyTable {
    /// Microseconds by which an RTT may exceed the minimum RTT and still count as the minimum.
    resolution: u64,
    follows_rate: bool,
    basis: ActionBasis,
    axes: [Axis; SIGNALS],
    /// Ends of the intervals, axis by axis, with 32 fraction bits. Times are in microseconds.
    ends: Vec<u64>,
    cells: Vec<u16>,
    actions: Vec<WholeAction>,
}

/// Leaves out the cells, of which there may be millions.
impl std::fmt::Debug for RemyTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rules, cells) = (self.actions.len(), self.cells.len());
        write!(f, "RemyTable of {rules} rules in {cells} cells")
    }
}

/// Calls `each` with the box of every node of a tree.
fn walk(tree: &RuleTree, each: &mut impl FnMut(&Domain)) {
    each(tree.domain());
    if let RuleTree::Inner { children, .. } = tree {
        children.iter().for_each(|child| walk(child, each));
    }
}

/// Converts an interval's end to an integer. Times: rounded up, so that an integer time is below
/// the result exactly if it is below `end`. Ratios: senders round ratios down, so the end is
/// rounded down, too. Then a ratio equal to the end is not below it, and no other ratio of RTTs
/// below 4 s is that near to an end of three decimals.
fn whole_end(signal: Signal, end: f64) -> u64 {
    let scale = (1u64 << FRACTION) as f64;
    let whole = match signal.unit().is_empty() {
        true => (end * scale).floor(),
        false => (end * 1000.0 * scale).ceil(),
    };
    // The conversion from `f64` saturates.
    (whole as u64).min(NEVER)
}

impl RemyTable {
    /// Converts a table for the kernel. RTTs that exceed the minimum by at most `resolution` count
    /// as the minimum.
    ///
    /// # Errors
    /// The table's rules read marks or are on a timer, its actions are out of bounds, or it has too many cells.
    pub fn new(table: &RuleTable, resolution: Span) -> Result<RemyTable, RemyTableError> {
        if table.hears_marks() {
            return Err(RemyTableError::Marks);
        }
        if table.timer() > Span::ZERO {
            return Err(RemyTableError::Timer { timer: table.timer() });
        }
        let actions = table.rules().iter().enumerate();
        let actions = actions.map(|(rule, one)| whole_action(rule, &one.action));
        let actions = actions.collect::<Result<Vec<_>, _>>()?;
        let tree = table.tree();
        let whole = *tree.domain();
        let mut axes = [Axis::default(); SIGNALS];
        let mut places: [Vec<f64>; SIGNALS] = Default::default();
        let (mut ends, mut cells) = (Vec::new(), 1usize);
        for (signal, (axis, mine)) in axes.iter_mut().zip(&mut places).enumerate() {
            let inside = |end: &f64| whole.lower[signal] < *end && *end < whole.upper[signal];
            walk(&tree, &mut |domain| {
                if domain.active[signal] && !domain.is_empty() {
                    let both = [domain.lower[signal], domain.upper[signal]];
                    mine.extend(both.into_iter().filter(inside));
                }
            });
            mine.sort_by(f64::total_cmp);
            mine.dedup();
            let end_of = |&end: &f64| whole_end(Signal::ALL[signal], end);
            if mine.len() > MOST_ENDS {
                let signal = Signal::ALL[signal].name();
                return Err(RemyTableError::Ends { signal, ends: mine.len() });
            }
            *axis = Axis { first: ends.len(), count: mine.len(), stride: cells };
            ends.extend(mine.iter().map(end_of));
            cells = cells.saturating_mul(mine.len() + 1);
        }
        if cells > MOST_CELLS {
            return Err(RemyTableError::Cells { cells });
        }
        // A cell has one rule, that of its lowest corner, because no box ends inside it.
        let rule = |cell: usize| {
            let mut memory = Memory { values: whole.lower };
            for ((axis, mine), value) in axes.iter().zip(&places).zip(&mut memory.values) {
                let interval = cell / axis.stride % (axis.count + 1);
                *value = if interval > 0 { mine[interval - 1] } else { *value };
            }
            table.rule_for(&memory).map_or(NONE as u16, |rule| rule as u16)
        };
        let cells = (0..cells).map(rule).collect();
        Ok(RemyTable {
            resolution: resolution.as_nanos() / 1000,
            follows_rate: table.follows_rate(),
            basis: table.basis(),
            axes,
            ends,
            cells,
            actions,
        })
    }

    /// Returns the number of rules.
    pub fn rules(&self) -> usize {
        self.actions.len()
    }

    /// Returns the words of C's `struct remy_shape`.
    pub fn shape(&self) -> Vec<u64> {
        let axes = self.axes.iter().flat_map(|axis| [axis.first, axis.count, axis.stride]);
        let acts_on_rate = self.basis == ActionBasis::Rate;
        let first = [self.resolution, self.follows_rate.into(), acts_on_rate.into()];
        first.into_iter().chain(axes.map(|word| word as u64)).collect()
    }

    /// Returns the ends of all axes; at least one word, because eBPF maps cannot be empty.
    pub fn end_words(&self) -> Vec<u64> {
        if self.ends.is_empty() { vec![NEVER] } else { self.ends.clone() }
    }

    /// Returns the rules of the cells, four per word, the first in the lowest 16 bits.
    pub fn cell_words(&self) -> Vec<u64> {
        let word = |four: &[u16]| {
            let rules = four.iter().enumerate();
            rules.fold(0, |word, (at, &rule)| word | u64::from(rule) << (16 * at))
        };
        self.cells.chunks(4).map(word).collect()
    }

    /// Returns the words of C's `struct remy_action` for each rule.
    pub fn action_words(&self) -> &[[u64; 7]] {
        &self.actions
    }
}

/// Returns a number's size with `fraction` fraction bits, and 0: in this order if the number is
/// positive, else reversed.
fn either(number: f64, fraction: u32) -> [u64; 2] {
    // Bounds of the actions keep the product below 2^52.
    let size = (number.abs() * (1u64 << fraction) as f64).round() as u64;
    if number < 0.0 { [0, size] } else { [size, 0] }
}

fn whole_action(rule: usize, action: &Action) -> Result<WholeAction, RemyTableError> {
    let Action { basis, multiple, increment, intersend_ms, queue_ms } = *action;
    let [add, take] = either(increment.into(), 0);
    let few = add.max(take) <= MOST_PACKETS;
    if basis == ActionBasis::Window {
        if multiple.abs() >= MOST_MULTIPLE || !few {
            return Err(RemyTableError::Action { rule, action: *action });
        }
        let [times, less] = either(multiple, MULTIPLE_FRACTION);
        let gap = Span::from_secs_f64(intersend_ms / 1e3).as_nanos().min(MOST_GAP);
        return Ok([times, less, add, take, gap, 0, 0]);
    }
    let paced = intersend_ms == 0.0 || (LEAST_GAIN..=MOST_GAIN).contains(&intersend_ms);
    let fits = (0.0..MOST_RTTS).contains(&multiple) && queue_ms.abs() <= MOST_QUEUE_MS;
    if !(fits && few && paced) {
        return Err(RemyTableError::RateAction { rule, action: *action });
    }
    let [times, less] = either(multiple, RATE_MULTIPLE_FRACTION);
    let [gain, _] = either(intersend_ms, GAIN_FRACTION);
    let [queue, queue_less] = either(queue_ms * 1e3, RATE_MULTIPLE_FRACTION);
    Ok([times, less, add, take, gain, queue, queue_less])
}
