//! Counts the rules of a RemyCC's table that are used while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use paceline_cc::{SchemeSpec, SpecError};
use paceline_schemes::remy::{Memory, RemyParams, RuleObserver, RuleTable, Signal, halves};
use paceline_sim::scenario::CustomScheme;
use serde_json::{Value, json};

/// Table of rules of a flow, and the number of uses of each rule.
pub(crate) struct Rules {
    table: Arc<RuleTable>,
    uses: Arc<RuleUses>,
}

/// Number of uses of each rule since the last reading.
struct RuleUses(Vec<AtomicU32>);

impl RuleObserver for RuleUses {
    fn on_use(&self, rule: usize, _memory: &Memory) {
        if let Some(count) = self.0.get(rule) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Rules {
    /// Returns the scheme that `spec` names, if it is `remy` with a built-in table, and the counter
    /// of its rules.
    pub(crate) fn watch(spec: &SchemeSpec) -> Result<Option<(CustomScheme, Rules)>, SpecError> {
        if spec.sender.name != "remy" {
            return Ok(None);
        }
        let params: RemyParams = spec.sender.params()?;
        let tables = paceline_remy::tables();
        let named = tables.find(&params.table).filter(|_| params.file.is_empty());
        let Some(Ok(table)) = named.map(|named| named.table()) else { return Ok(None) };
        let uses = table.rules().iter().map(|_| AtomicU32::new(0)).collect();
        let uses = Arc::new(RuleUses(uses));
        let halves = halves(params, Arc::clone(&table), Some(uses.clone()));
        Ok(Some((CustomScheme::new(spec.to_string(), halves), Rules { table, uses })))
    }

    /// Returns the number of uses of each rule since the last call.
    pub(crate) fn take(&self) -> Vec<u32> {
        self.uses.0.iter().map(|count| count.swap(0, Ordering::Relaxed)).collect()
    }

    /// Returns the rules: their boxes by signal, and their actions.
    pub(crate) fn table(&self) -> Value {
        let rule = |rule: &paceline_schemes::remy::Rule| {
            let axes = Signal::ALL.into_iter().filter(|signal| rule.domain.active[signal.index()]);
            let bounds = axes.map(|signal| {
                let (lower, upper) =
                    (rule.domain.lower[signal.index()], rule.domain.upper[signal.index()]);
                json!({ "signal": signal.name(), "from": lower, "below": upper })
            });
            json!({
                "box": bounds.collect::<Vec<_>>(),
                "multiple": rule.action.multiple,
                "increment": rule.action.increment,
                "intersend_ms": rule.action.intersend_ms,
            })
        };
        json!(self.table.rules().iter().map(rule).collect::<Vec<_>>())
    }
}
