//! Training that starts from a given table instead of one rule.

use paceline_schemes::remy::{Action, RuleTable, RuleTree, SIGNALS, Signal};

use super::settings::Settings;
use crate::spec::SpecificationError;

impl Settings {
    /// Returns a given table as the start of training. From then on its rules are divided by the
    /// signals of these settings.
    ///
    /// # Errors
    /// An action is out of bounds, the table has another timer than these settings, or it is
    /// divided by a signal that these settings do not name.
    pub fn start_with(&self, table: &RuleTable) -> Result<RuleTree, SpecificationError> {
        let fail = |key, problem: String| Err(SpecificationError::value(key, problem));
        let timer = table.timer();
        if timer != self.timer {
            let problem = match timer.is_zero() {
                true => "the table to start from has no timer: remove this key".to_string(),
                false => format!("the table to start from has a timer: write \"{timer}\""),
            };
            return fail("training.timer", problem);
        }
        let mut tree = table.tree();
        let divided = divided(&tree);
        for signal in Signal::ALL {
            if divided[signal.index()] && !self.signals[signal.index()] {
                let name = signal.name();
                return fail(
                    "training.signals",
                    format!("the table to start from divides its rules by {name}: add \"{name}\""),
                );
            }
        }
        for number in 0..tree.rules() {
            let Some(RuleTree::Leaf(rule)) = tree.leaf_mut(number) else { continue };
            rule.domain.active = self.signals;
            let Action { multiple: m, increment: b, intersend_ms: r, queue_ms: t, basis } =
                rule.action;
            if basis != self.start.basis {
                let basis = basis.name();
                return fail(
                    "training.actions",
                    format!("the table to start from acts on the {basis}: write \"{basis}\""),
                );
            }
            for (key, name, value, bounds) in [
                ("training.m", "m", m, &self.multiple),
                ("training.b", "b", f64::from(b), &self.increment),
                ("training.r", "r", r, &self.intersend),
                ("training.t", "t", t, &self.queue),
            ] {
                if !bounds.contain(value) {
                    let (least, most) = (bounds.least.min(value), bounds.most.max(value));
                    return fail(
                        key,
                        format!(
                            "rule {number} of the table to start from has {name} = {value}: write {{ \
                             least = {least}, most = {most} }}"
                        ),
                    );
                }
            }
        }
        Ok(tree)
    }
}

/// Returns the signals on which some rule begins or ends inside the whole box.
fn divided(tree: &RuleTree) -> [bool; SIGNALS] {
    let mut all = [false; SIGNALS];
    let mut open = vec![tree];
    while let Some(node) = open.pop() {
        let (domain, whole) = (node.domain(), tree.domain());
        for (axis, one) in all.iter_mut().enumerate() {
            let differs =
                domain.lower[axis] > whole.lower[axis] || domain.upper[axis] < whole.upper[axis];
            *one |= domain.active[axis] && differs;
        }
        if let RuleTree::Inner { children, .. } = node {
            open.extend(children);
        }
    }
    all
}
