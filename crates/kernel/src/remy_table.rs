//! Tables of Remy's rules in integers, as `bpf/remy.h` reads them.
//!
//! A table's boxes divide each signal's axis into intervals, and the intervals of all axes divide
//! the space of memories into cells. Each cell has one rule. A lookup finds one interval per axis,
//! in at most twelve halvings, and reads the rule of the cell.

use paceline_cc::Span;
use paceline_schemes::remy::{
    Action, Domain, MAX_RULES, Memory, PUBLISHED_SIGNALS as SIGNALS, RuleTable, RuleTree, Signal,
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
    /// Rules of the table act on the delivery rate, or use signals that need it.
    #[error(
        "the table's rules use the delivery rate, which the kernel's Remy does not measure: take a table \
         whose rules act on the window, or run this one over UDP (paceline send --scheme remy[table=NAME])"
    )]
    Rate,
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

/// Action of a rule in integers.
#[derive(Copy, Clone, Debug)]
struct WholeAction {
    /// Multiples of the window: what to add and what to subtract; 40 fraction bits. One of them is
    /// 0.
    times: [u64; 2],
    /// Packets to add and to subtract. One of them is 0.
    add: [u64; 2],
    /// Minimum time between packets in nanoseconds.
    gap: u64,
}

/// A table of rules in integers.
#[derive(Clone)]
pub struct RemyTable {
    /// Microseconds by which an RTT may exceed the minimum RTT and still count as the minimum.
    resolution: u64,
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
fn whole_end(signal: usize, end: f64) -> u64 {
    let scale = (1u64 << FRACTION) as f64;
    let whole = match signal == Signal::RttRatio.index() {
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
    /// The table's rules read marks or the delivery rate, its actions are out of bounds, or it has too many cells.
    pub fn new(table: &RuleTable, resolution: Span) -> Result<RemyTable, RemyTableError> {
        if table.hears_marks() {
            return Err(RemyTableError::Marks);
        }
        if table.follows_rate() {
            return Err(RemyTableError::Rate);
        }
        let actions = table.rules().iter().enumerate();
        let actions = actions.map(|(rule, one)| WholeAction::new(rule, &one.action));
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
            if mine.len() > MOST_ENDS {
                let signal = Signal::ALL[signal].name();
                return Err(RemyTableError::Ends { signal, ends: mine.len() });
            }
            *axis = Axis { first: ends.len(), count: mine.len(), stride: cells };
            ends.extend(mine.iter().map(|&end| whole_end(signal, end)));
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
        Ok(RemyTable { resolution: resolution.as_nanos() / 1000, axes, ends, cells, actions })
    }

    /// Returns the number of rules.
    pub fn rules(&self) -> usize {
        self.actions.len()
    }

    /// Returns the words of C's `struct remy_shape`.
    pub fn shape(&self) -> Vec<u64> {
        let axes = self.axes.iter().flat_map(|axis| [axis.first, axis.count, axis.stride]);
        std::iter::once(self.resolution).chain(axes.map(|word| word as u64)).collect()
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
    pub fn action_words(&self) -> Vec<[u64; 5]> {
        let words = |action: &WholeAction| {
            let WholeAction { times, add, gap } = *action;
            [times[0], times[1], add[0], add[1], gap]
        };
        self.actions.iter().map(words).collect()
    }
}

impl WholeAction {
    fn new(rule: usize, action: &Action) -> Result<WholeAction, RemyTableError> {
        let Action { multiple, increment, intersend_ms, .. } = *action;
        let packets = u64::from(increment.unsigned_abs());
        if multiple.abs() >= MOST_MULTIPLE || packets > MOST_PACKETS {
            return Err(RemyTableError::Action { rule, action: *action });
        }
        let sized = (multiple.abs() * (1u64 << MULTIPLE_FRACTION) as f64).round() as u64;
        let either = |below, size| if below { [0, size] } else { [size, 0] };
        let gap = Span::from_secs_f64(intersend_ms / 1e3).as_nanos().min(MOST_GAP);
        let (times, add) = (either(multiple < 0.0, sized), either(increment < 0, packets));
        Ok(WholeAction { times, add, gap })
    }
}
