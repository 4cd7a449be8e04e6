//! Tables of rules for [`Remy`](super::Remy) in whole numbers, as `bpf/remy.h` reads them.
//!
//! A table's boxes divide each signal's axis into intervals, and the intervals of all axes divide
//! the space of memories into cells, each of which has one rule. To look a rule up is to find an
//! interval per axis, in at most twelve halvings, and to read a cell.

use paceline_cc::Span;
use paceline_schemes::remy::{
    Action, Domain, MAX_RULES, Memory, PUBLISHED_SIGNALS as SIGNALS, RuleTable, RuleTree, Signal,
};
use thiserror::Error;

use super::NEVER;

/// The most cells of a table: 8 MB of the kernel's memory.
const MOST_CELLS: usize = 1 << 22;
/// The most ends of intervals on one axis.
const MOST_ENDS: usize = 4095;
/// Fraction bits of signals, and of multiples.
pub(super) const FRACTION: u32 = 32;
const MULTIPLE_FRACTION: u32 = 40;
/// Multiples are below this, and increments are at most so many packets.
const MOST_MULTIPLE: f64 = 4.0;
const MOST_PACKETS: u64 = 1_000_000;
/// The longest time between packets: 1000 s, in nanoseconds.
const MOST_GAP: u64 = 1_000_000_000_000;
/// The rule of cells for which the table has none.
pub(super) const NONE: u64 = 0xffff;
// Rules are numbered in 16 bits.
const _: () = assert!((MAX_RULES as u64) < NONE);

/// Why a table does not fit into the kernel.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RemyTableError {
    /// A number of a rule's action is too large.
    #[error(
        "rule {rule}: in the kernel m={} has to be between -4 and 4, and b={} between -1000000 and \
         1000000", .action.multiple, .action.increment
    )]
    Action {
        /// The rule's number, from 0.
        rule: usize,
        /// Its action.
        action: Action,
    },
    /// Its rules look at the marks of an ABC router.
    #[error(
        "the table's rules look at accel_share, the marks of an ABC router, which the kernel's Remy does not hear"
    )]
    Marks,
    /// The boxes divide the space into too many cells.
    #[error(
        "the table's boxes divide memories into {cells} cells; the kernel's tables have at most {MOST_CELLS}"
    )]
    Cells {
        /// How many.
        cells: usize,
    },
    /// The boxes divide one axis too often.
    #[error(
        "the table's boxes divide {signal} at {ends} places; the kernel's tables do at most at {MOST_ENDS}"
    )]
    Ends {
        /// The signal's name.
        signal: &'static str,
        /// How many.
        ends: usize,
    },
}

/// Where the ends of a signal's intervals are, and how far apart neighbours are in the cells.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Axis {
    first: usize,
    count: usize,
    stride: usize,
}

/// What a rule does.
#[derive(Copy, Clone, Debug)]
pub(super) struct WholeAction {
    /// By what the window is multiplied, and what is taken off instead; 40 fraction bits.
    times: [u64; 2],
    /// Packets that are added and taken away.
    add: [u64; 2],
    /// The least time between packets in nanoseconds.
    pub(super) gap: u64,
}

/// A table of rules in whole numbers.
#[derive(Clone)]
pub struct RemyTable {
    /// RTTs that exceed the smallest one by at most so many microseconds count as the smallest.
    pub(super) resolution: u64,
    axes: [Axis; SIGNALS],
    /// The ends between intervals, axis by axis, with 32 fraction bits: of milliseconds as
    /// microseconds.
    ends: Vec<u64>,
    cells: Vec<u16>,
    pub(super) actions: Vec<WholeAction>,
}

/// Without the cells, which are many.
impl std::fmt::Debug for RemyTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (rules, cells) = (self.actions.len(), self.cells.len());
        write!(f, "RemyTable of {rules} rules in {cells} cells")
    }
}

/// Calls `each` with every box of a tree.
fn walk(tree: &RuleTree, each: &mut impl FnMut(&Domain)) {
    each(tree.domain());
    if let RuleTree::Inner { children, .. } = tree {
        children.iter().for_each(|child| walk(child, each));
    }
}

/// An end as a whole number: of times that are exact, those and only those below the end are below
/// the number. Ratios are rounded down, and so are their ends: a ratio of the end itself is not below
/// it, and no other ratio of RTTs below 4 s is as near to an end of three decimals.
fn whole_end(signal: usize, end: f64) -> u64 {
    let scale = (1u64 << FRACTION) as f64;
    let whole = match signal == Signal::RttRatio.index() {
        true => (end * scale).floor(),
        false => (end * 1000.0 * scale).ceil(),
    };
    // The conversion saturates.
    (whole as u64).min(NEVER)
}

impl RemyTable {
    /// The table for the kernel. RTTs that exceed the smallest one by at most `resolution` count as
    /// the smallest.
    ///
    /// # Errors
    /// Its rules look at marks, its actions are out of bounds, or it has too many cells.
    pub fn new(table: &RuleTable, resolution: Span) -> Result<RemyTable, RemyTableError> {
        if table.hears_marks() {
            return Err(RemyTableError::Marks);
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
        // A cell has the rule of its lowest corner: no box ends within it.
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

    /// The rule for a memory; [`NONE`] if there is none.
    pub(super) fn find(&self, values: &[u64; SIGNALS]) -> u64 {
        let mut cell = 0;
        for (axis, &value) in self.axes.iter().zip(values) {
            let ends = &self.ends[axis.first..axis.first + axis.count];
            cell += ends.partition_point(|&end| end <= value) * axis.stride;
        }
        u64::from(self.cells[cell])
    }

    /// How many rules the table has.
    pub fn rules(&self) -> usize {
        self.actions.len()
    }

    /// The words of C's `struct remy_shape`.
    pub fn shape(&self) -> Vec<u64> {
        let axes = self.axes.iter().flat_map(|axis| [axis.first, axis.count, axis.stride]);
        std::iter::once(self.resolution).chain(axes.map(|word| word as u64)).collect()
    }

    /// The ends of all axes; at least one word, because maps are not empty.
    pub fn end_words(&self) -> Vec<u64> {
        if self.ends.is_empty() { vec![NEVER] } else { self.ends.clone() }
    }

    /// The rules of the cells, four a word, the first in the lowest 16 bits.
    pub fn cell_words(&self) -> Vec<u64> {
        let word = |four: &[u16]| {
            let rules = four.iter().enumerate();
            rules.fold(0, |word, (at, &rule)| word | u64::from(rule) << (16 * at))
        };
        self.cells.chunks(4).map(word).collect()
    }

    /// The words of C's `struct remy_action` of each rule.
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
        let Action { multiple, increment, intersend_ms } = *action;
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

    /// The window that follows `window`, rounded towards zero. The multiple is taken one part in
    /// 2^40 larger, so that products that are whole in decimals do not fall below.
    pub(super) fn apply(&self, window: u64) -> u64 {
        let [times, less] = self.times;
        let more = window * (times + u64::from(times > 0)) + (self.add[0] << MULTIPLE_FRACTION);
        let less = window * (less - u64::from(less > 0)) + (self.add[1] << MULTIPLE_FRACTION);
        (more.saturating_sub(less) >> MULTIPLE_FRACTION).min(MOST_PACKETS)
    }
}
