//! Divides boxes, and undoes divisions.

use paceline_schemes::remy::{Domain, Memory, Rule, RuleTree, SIGNALS, Signal};

/// Returns where to divide a rule's memories into two halves on an axis; `None` if one half would
/// be empty. Many memories can have one value, such as the minimum RTT. The cut is at the median (of
/// an even number the upper one of the two middle values) or at the next value above it, whichever
/// makes the halves more equal.
pub(super) fn cut(domain: &Domain, samples: &[Memory], signal: Signal) -> Option<f64> {
    let axis = signal.index();
    if !domain.active[axis] || samples.is_empty() {
        return None;
    }
    let mut values: Vec<f64> = samples.iter().map(|memory| memory.get(signal)).collect();
    values.sort_by(f64::total_cmp);
    let median = values[values.len() / 2];
    let above = values[values.partition_point(|&value| value <= median)..].first().copied();
    let unequal = |end: f64| {
        let below = values.partition_point(|&value| value < end);
        below.abs_diff(values.len() - below)
    };
    [Some(median), above]
        .into_iter()
        .flatten()
        .filter(|&end| values[0] < end && domain.lower[axis] < end && end < domain.upper[axis])
        .min_by_key(|&end| unequal(end))
}

/// Returns a rule's box divided on several axes, into 2^n children with the rule's action for n
/// axes. The first axis changes fastest.
pub(super) fn divided(rule: &Rule, cuts: &[(Signal, f64)]) -> RuleTree {
    let mut domains = vec![rule.domain];
    for &(signal, end) in cuts {
        let axis = signal.index();
        let mut upper = domains.clone();
        domains.iter_mut().for_each(|domain| domain.upper[axis] = end);
        upper.iter_mut().for_each(|domain| domain.lower[axis] = end);
        domains.extend(upper);
    }
    if domains.len() == 1 {
        return RuleTree::Leaf(*rule);
    }
    let leaf = |domain| RuleTree::Leaf(Rule { domain, ..*rule });
    RuleTree::Inner { domain: rule.domain, children: domains.into_iter().map(leaf).collect() }
}

/// Undoes divisions of which one side was never used: extends the other side to the whole box.
/// `used` says for each rule whether it was used. Removes the entries of removed rules from `used`
/// and `notes`, which have one entry per rule. Returns the number of rules removed.
pub(super) fn prune<T>(tree: &mut RuleTree, used: &mut Vec<bool>, notes: &mut Vec<T>) -> usize {
    let before = used.len();
    prune_from(tree, 0, used, notes);
    before - used.len()
}

/// Prunes the box whose first rule has the number `first`.
fn prune_from<T>(tree: &mut RuleTree, first: usize, used: &mut Vec<bool>, notes: &mut Vec<T>) {
    let RuleTree::Inner { domain, children } = tree else { return };
    let mut next = first;
    for child in children.iter_mut() {
        prune_from(child, next, used, notes);
        next += child.rules();
    }
    for axis in 0..SIGNALS {
        let Some(end) = division(children, axis) else { continue };
        let side = |child: &RuleTree| child.domain().lower[axis] >= end;
        let mut uses = [false; 2];
        let mut next = first;
        for child in children.iter() {
            let rules = child.rules();
            uses[usize::from(side(child))] |= used[next..next + rules].iter().any(|&used| used);
            next += rules;
        }
        let keep = match uses {
            [true, false] => false,
            [false, true] => true,
            _ => continue,
        };
        let mut next = first;
        children.retain(|child| {
            let rules = child.rules();
            if side(child) == keep {
                next += rules;
                return true;
            }
            used.drain(next..next + rules);
            notes.drain(next..next + rules);
            false
        });
        let (lower, upper) = (domain.lower[axis], domain.upper[axis]);
        children.iter_mut().for_each(|child| widen(child, axis, keep, end, [lower, upper]));
    }
    if children.len() == 1
        && let Some(child) = children.pop()
    {
        *tree = child;
    }
}

/// Returns where the children of a box divide it on an axis, if they lie on two sides of one cut.
fn division(children: &[RuleTree], axis: usize) -> Option<f64> {
    let lowers = children.iter().map(|child| child.domain().lower[axis]);
    let end = lowers.fold(f64::NEG_INFINITY, f64::max);
    let (below, above): (Vec<&Domain>, Vec<&Domain>) =
        children.iter().map(RuleTree::domain).partition(|domain| domain.lower[axis] < end);
    let clean = below.iter().all(|domain| domain.upper[axis] == end);
    (!below.is_empty() && !above.is_empty() && clean).then_some(end)
}

/// Moves ends of boxes that lie at `end` to the end of the whole: the lower ends if the upper side
/// of the cut is kept, otherwise the upper ends.
fn widen(tree: &mut RuleTree, axis: usize, upper: bool, end: f64, whole: [f64; 2]) {
    let fit = |domain: &mut Domain| {
        if upper && domain.lower[axis] == end {
            domain.lower[axis] = whole[0];
        } else if !upper && domain.upper[axis] == end {
            domain.upper[axis] = whole[1];
        }
    };
    match tree {
        RuleTree::Leaf(rule) => fit(&mut rule.domain),
        RuleTree::Inner { domain, children } => {
            fit(domain);
            children.iter_mut().for_each(|child| widen(child, axis, upper, end, whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_schemes::remy::{Action, RuleTable};

    fn memories(values: &[f64]) -> Vec<Memory> {
        values.iter().map(|&value| Memory { values: [value; SIGNALS] }).collect()
    }

    #[test]
    fn cuts_leave_no_half_empty() {
        let at = |values: &[f64]| cut(&Domain::WHOLE, &memories(values), Signal::RttRatio);
        assert_eq!(at(&[0.0, 1.0, 2.0, 3.0]), Some(2.0));
        // Most memories have the minimum, or the maximum.
        assert_eq!(at(&[1.0, 1.0, 1.0, 1.5]), Some(1.5));
        assert_eq!(at(&[0.0, 1.0, 1.0, 1.0]), Some(1.0));
        assert_eq!(at(&[1.0, 1.0]), None);
        assert_eq!(at(&[]), None);
        assert_eq!(cut(&Domain::WHOLE, &memories(&[0.0, 1.0]), Signal::RttDiff), None);
        let part = Domain::WHOLE.between(Signal::RttRatio, 0.0, 1.5);
        assert_eq!(cut(&part, &memories(&[0.0, 1.5]), Signal::RttRatio), None);
    }

    #[test]
    fn rules_divide_on_several_axes() {
        let rule = Rule { domain: Domain::WHOLE, action: Action::new(1.0, 1, 1.0) };
        let cuts = [(Signal::SendEwma, 2.0), (Signal::RttRatio, 1.5)];
        let tree = divided(&rule, &cuts);
        assert_eq!(tree.rules(), 4);
        let table = RuleTable::new(tree).expect("a table");
        assert_eq!(table.gap(), None);
        let memory = |send, ratio| {
            let mut memory = Memory::default();
            memory.values[..3].copy_from_slice(&[send, 0.0, ratio]);
            memory
        };
        let places = [(1.0, 1.0), (2.0, 1.0), (1.0, 1.5), (3.0, 9.0)];
        let rules = places.map(|(send, ratio)| table.rule_for(&memory(send, ratio)));
        assert_eq!(rules, [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(divided(&rule, &[]).rules(), 1);
    }

    #[test]
    fn what_is_never_used_goes_and_no_gap_stays() {
        let rule = Rule { domain: Domain::WHOLE, action: Action::new(1.0, 1, 1.0) };
        let mut tree = divided(&rule, &[(Signal::SendEwma, 2.0), (Signal::RttRatio, 1.5)]);
        // The last of the four is divided again.
        let leaf = tree.leaf_mut(3).expect("a leaf");
        let RuleTree::Leaf(last) = leaf.clone() else { panic!("a leaf") };
        *leaf = divided(&last, &[(Signal::SendEwma, 4.0)]);
        // No rule below a send_ewma of 2 was used: numbers 0 and 2.
        let mut used = vec![false, true, false, true, true];
        let mut notes = vec!['a', 'b', 'c', 'd', 'e'];
        assert_eq!(prune(&mut tree, &mut used, &mut notes), 2);
        assert_eq!((tree.rules(), &*notes, used.len()), (3, &['b', 'd', 'e'][..], 3));
        let table = RuleTable::new(tree.clone()).expect("a table");
        assert_eq!(table.gap(), None);
        let mut memory = Memory::default();
        memory.values[..3].copy_from_slice(&[0.5, 0.0, 9.0]);
        assert_eq!(table.rule_for(&memory), Some(1));
        // One side of the inner division is removed, and its box becomes the whole upper half.
        used = vec![true, false, true];
        assert_eq!(prune(&mut tree, &mut used, &mut notes), 1);
        let table = RuleTable::new(tree).expect("a table");
        assert_eq!((table.rules().len(), table.gap()), (2, None));
        assert_eq!(table.rules()[1].domain.lower[0], 0.0);
        assert_eq!(notes, ['b', 'e']);
    }
}
