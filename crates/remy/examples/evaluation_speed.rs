//! Speed of evaluating tables on one core: `cargo run --release -p paceline-remy --example
//! evaluation_speed [TABLE]`. Measures rule look-ups, and the 36 general-purpose networks of 100 s.

use std::hint::black_box;
use std::sync::Arc;

use paceline_cc::Stream;
use paceline_remy::CpuClock;
use paceline_remy::evaluate::{Evaluator, EvaluatorError, Local, Trial, evaluate_by};
use paceline_remy::spec::{Specification, Specimen};
use paceline_schemes::remy::{Action, Memory, Place, RuleTable, RuleTree, SIGNALS};

/// Runs networks one after the other.
struct OneCore;

impl Evaluator for OneCore {
    fn trials(
        &self,
        table: &Arc<RuleTable>,
        specimens: &[Specimen],
        uses: bool,
    ) -> Result<Vec<Trial>, EvaluatorError> {
        let one = |specimen| Local.trials(table, std::slice::from_ref(specimen), uses);
        let trials: Result<Vec<Vec<Trial>>, _> = specimens.iter().map(one).collect();
        Ok(trials?.into_iter().flatten().collect())
    }
}

/// Returns nanoseconds per rule look-up: for memories that change in small steps, and for random
/// memories.
fn look_up(table: &RuleTable) -> [f64; 2] {
    [0.02, 4.0].map(|step| {
        let mut random = Stream::new(1, "memories");
        let mut memory = Memory { values: [1.0; SIGNALS] };
        let memories: Vec<Memory> = (0..4096)
            .map(|_| {
                for value in &mut memory.values {
                    *value = (*value + step * (random.uniform() - 0.5)).clamp(0.0, 20.0);
                }
                memory
            })
            .collect();
        let (mut place, mut sum) = (Place::default(), 0);
        let start = CpuClock::start();
        for _ in 0..1000 {
            for memory in &memories {
                sum += table.find(black_box(memory), &mut place).unwrap_or(0);
            }
        }
        black_box(sum);
        start.seconds() * 1e9 / (1000.0 * memories.len() as f64)
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = match std::env::args().nth(1) {
        Some(path) => paceline_remy::load(path)?.table,
        // The published program's first rule.
        None => RuleTable::new(RuleTree::single(Action::new(1.0, 1, 3.0)))?,
    };
    let [near, far] = look_up(&table);
    let table = Arc::new(table);
    let specification = Specification::general_purpose();
    let mut text = format!("looking up: {near:.1} ns by small steps, {far:.1} ns all over\n");
    for uses in [false, true] {
        let start = CpuClock::start();
        let score = evaluate_by(&OneCore, &table, &specification, 1, uses)?;
        let seconds = start.seconds();
        text += &format!(
            "score {:.3}, {:.0} simulated s per CPU s, {:.2} million packets per CPU s{}\n",
            score.total,
            score.simulated_s / seconds,
            score.packets / seconds / 1e6,
            if uses { ", uses of rules counted" } else { "" }
        );
    }
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}
