//! Duration of training from the first rule to the published tool's score of -41.2, on one thread:
//! `cargo run --release -p paceline-remy --example from_the_first_rule [CONFIRM [SEED]]`, where
//! CONFIRM is `true` or `"doubtful"`.

use std::io::Write as _;
use std::sync::Arc;

use paceline_remy::train::{EvaluatorWork, Plan, Trainer, TrainingEvaluator};

/// The thesis' general-purpose networks: 36 of 100 s.
const NETWORKS: &str = "duration = \"100s\"\n[networks]\n\
    link = { from = \"10Mbps\", to = \"20Mbps\", steps = 3 }\n\
    rtt = { from = \"100ms\", to = \"200ms\", steps = 3 }\n\
    senders = { from = 1, to = 16, steps = 4 }\non = \"5s\"\noff = \"5s\"\n";
/// Score that the published tool reached in 300 s.
const SCORE: f64 = -41.2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let confirm = arguments.next().unwrap_or_else(|| "true".into());
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let text = format!("{NETWORKS}[training]\nconfirm = {confirm}\nvalidate = false\n");
    let work = Arc::new(EvaluatorWork::default());
    let evaluator = TrainingEvaluator { work: Arc::clone(&work) };
    let plan = Plan::new(&text, None, seed);
    let mut trainer = Trainer::new(&plan, evaluator, Arc::clone(&work))?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    loop {
        let entry = pool.install(|| trainer.step(&|| false))?;
        let (cpu_s, simulated_s) = (work.cpu_s(), work.simulated_s());
        if entry.score >= SCORE || cpu_s > 300.0 {
            let line = format!(
                "confirm = {confirm}, seed {seed}: score {:.1} after {cpu_s:.1} CPU s, {} steps, {} \
                 candidates, {simulated_s:.0} simulated s, {:.0} per CPU s\n",
                entry.score,
                entry.step,
                trainer.state().spent.candidates,
                simulated_s / cpu_s
            );
            std::io::stdout().write_all(line.as_bytes())?;
            return Ok(());
        }
    }
}
