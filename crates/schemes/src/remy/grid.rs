//! Rules as a grid: the intervals of a memory's values on the axes select a cell, and the cell
//! selects a rule.

use super::memory::{Memory, SIGNALS};
use super::tree::{Domain, RuleTree};

/// Largest number of cells of a grid; larger tables are looked up in their tree.
const MAX_CELLS: usize = 1 << 19;
/// Largest number of cells written while a grid is made: each cell is written several times, once
/// for each division that contains it.
const MAX_WRITES: usize = 64 * MAX_CELLS;
/// The value of cells without a rule.
const NONE: u16 = u16::MAX;

/// Interval of the last memory on each axis, from which the next search starts.
#[derive(Copy, Clone, Debug, Default)]
pub struct Place([u32; SIGNALS]);

/// The rule of each cell. The cells are bounded by the ends of all boxes on the axes.
pub(super) struct Grid {
    /// The axes that some box divides.
    axes: Vec<Axis>,
    cells: Vec<u16>,
}

struct Axis {
    /// Index of the signal.
    signal: usize,
    /// The ends of the boxes, sorted, without duplicates. Interval `i` contains end `i` but not end
    /// `i + 1`. The first end is minus infinity and the last plus infinity, so that each value lies
    /// in an interval.
    ends: Vec<f64>,
    /// Distance of neighbours on this axis in the table of cells.
    stride: usize,
}

/// Progress of writing a grid.
struct Paint {
    /// One more than the number of the next rule.
    next: usize,
    /// Number of cells written.
    writes: usize,
}

impl Axis {
    fn intervals(&self) -> usize {
        self.ends.len() - 1
    }

    /// Returns the interval that begins at `end`, an end of some box.
    fn at(&self, end: f64) -> usize {
        self.ends.partition_point(|&known| known < end).min(self.intervals())
    }

    /// Returns the interval of a value; the last value was in interval `last`.
    #[inline]
    fn interval(&self, value: f64, last: usize) -> usize {
        if let [lower, upper] = self.ends[last.min(self.ends.len() - 2)..][..2]
            && lower <= value
            && value < upper
        {
            return last;
        }
        self.search(value)
    }

    /// Returns the interval of a value. NaN counts as very large.
    fn search(&self, value: f64) -> usize {
        let beyond = self.ends.partition_point(|&end| end <= value || value.is_nan());
        beyond.saturating_sub(1).min(self.intervals() - 1)
    }
}

impl Grid {
    /// Returns the grid of a tree; `None` if it would have too many cells.
    pub(super) fn new(tree: &RuleTree) -> Option<Grid> {
        let whole = *tree.domain();
        let mut axes = Vec::new();
        let mut cells = 1usize;
        for signal in 0..SIGNALS {
            let mut ends = Vec::new();
            let inside = |end: f64| whole.lower[signal] < end && end < whole.upper[signal];
            walk(tree, &mut |domain| {
                if domain.active[signal] && !domain.is_empty() {
                    let both = [domain.lower[signal], domain.upper[signal]];
                    // Adding zero turns -0 into 0, so that equal ends are one.
                    ends.extend(both.into_iter().filter(|&end| inside(end)).map(|end| end + 0.0));
                }
            });
            if ends.is_empty() {
                continue;
            }
            ends.extend([f64::NEG_INFINITY, f64::INFINITY]);
            ends.sort_by(f64::total_cmp);
            ends.dedup();
            let axis = Axis { signal, ends, stride: cells };
            cells = cells.checked_mul(axis.intervals()).filter(|&cells| cells <= MAX_CELLS)?;
            axes.push(axis);
        }
        let mut grid = Grid { axes, cells: vec![NONE; cells] };
        let all: Vec<(usize, usize)> = grid.axes.iter().map(|axis| (0, axis.intervals())).collect();
        let mut paint = Paint { next: tree.rules(), writes: 0 };
        grid.paint(tree, &whole, &all, &mut paint);
        (paint.writes <= MAX_WRITES).then_some(grid)
    }

    /// Writes the rules of `tree` into the cells of `region` that its box covers. Visits rules from
    /// the last to the first, so that the first one remains. Stops early if too many cells are
    /// written.
    fn paint(
        &mut self,
        tree: &RuleTree,
        whole: &Domain,
        region: &[(usize, usize)],
        progress: &mut Paint,
    ) {
        let domain = tree.domain();
        let covered = |(axis, &(from, to)): (&Axis, &(usize, usize))| {
            let at = axis.signal;
            if !domain.active[at] {
                return (from, to);
            }
            // Values beyond the whole domain belong to its outermost cells.
            let lower = domain.lower[at];
            let first = if lower <= whole.lower[at] { 0 } else { axis.at(lower) };
            let upper = domain.upper[at];
            let last = if upper >= whole.upper[at] { axis.intervals() } else { axis.at(upper) };
            (from.max(first), to.min(last))
        };
        let mine: Vec<(usize, usize)> = self.axes.iter().zip(region).map(covered).collect();
        let beside = |at: usize| {
            domain.active[at]
                && (domain.upper[at] <= whole.lower[at] || domain.lower[at] >= whole.upper[at])
        };
        let empty = domain.is_empty()
            || (0..SIGNALS).any(beside)
            || mine.iter().any(|(from, to)| from >= to);
        if !empty {
            progress.writes += mine.iter().map(|(from, to)| to - from).product::<usize>();
        }
        if progress.writes > MAX_WRITES {
            return;
        }
        match tree {
            RuleTree::Leaf(_) => {
                progress.next -= 1;
                if !empty {
                    self.fill(&mine, progress.next as u16);
                }
            }
            RuleTree::Inner { .. } if empty => progress.next -= tree.rules(),
            RuleTree::Inner { children, .. } => {
                // A box that contains the memory decides, even if none of its children contains it.
                self.fill(&mine, NONE);
                for child in children.iter().rev() {
                    self.paint(child, whole, &mine, progress);
                }
            }
        }
    }

    /// Writes a rule into the cells of a region.
    fn fill(&mut self, region: &[(usize, usize)], rule: u16) {
        let Some((&(from, to), rest)) = region.split_first() else {
            // Without axes there is one cell.
            self.cells.fill(rule);
            return;
        };
        let mut at: Vec<usize> = rest.iter().map(|&(from, _)| from).collect();
        loop {
            let base: usize =
                at.iter().zip(&self.axes[1..]).map(|(at, axis)| at * axis.stride).sum();
            self.cells[base + from..base + to].fill(rule);
            // Advances to the next cell, the second axis first.
            let mut axis = 0;
            loop {
                if axis == rest.len() {
                    return;
                }
                at[axis] += 1;
                if at[axis] < rest[axis].1 {
                    break;
                }
                at[axis] = rest[axis].0;
                axis += 1;
            }
        }
    }

    /// Returns the number of the rule for a memory.
    #[inline]
    pub(super) fn find(&self, memory: &Memory, place: &mut Place) -> Option<usize> {
        let mut cell = 0;
        for (axis, last) in self.axes.iter().zip(&mut place.0) {
            let interval = axis.interval(memory.values[axis.signal], *last as usize);
            *last = interval as u32;
            cell += interval * axis.stride;
        }
        let rule = self.cells.get(cell).copied().unwrap_or(NONE);
        (rule != NONE).then_some(usize::from(rule))
    }
}

impl Grid {
    /// Returns a memory without a rule, if there is one.
    pub(super) fn gap(&self, whole: &Domain) -> Option<Memory> {
        let cell = self.cells.iter().position(|&rule| rule == NONE)?;
        let mut memory = Memory { values: whole.lower };
        for axis in &self.axes {
            let interval = cell / axis.stride % axis.intervals();
            if interval > 0 {
                memory.values[axis.signal] = axis.ends[interval];
            }
        }
        Some(memory)
    }
}

/// Calls `each` with every box of a tree.
fn walk(tree: &RuleTree, each: &mut impl FnMut(&Domain)) {
    each(tree.domain());
    if let RuleTree::Inner { children, .. } = tree {
        for child in children {
            walk(child, each);
        }
    }
}
