//! Running tables on other machines: requests and responses as text.
//!
//! A network follows from its specification, a seed and an index, so that a request is short: the
//! table and these numbers. Responses contain exact bits, so that training with other machines
//! gives the same table.

use std::path::Path;
use std::sync::Arc;

use paceline_schemes::remy::{Memory, RuleTable};
use serde::{Deserialize, Serialize};

use crate::evaluate::{Evaluator, EvaluatorError, Trial};
use crate::readable::Readable;
use crate::score::SenderFigures;
use crate::spec::{Specification, Specimen};
use crate::train::{EvaluatorWork, TrainingEvaluator};
use crate::usage::RuleUse;

/// A request: a table, and networks of a specification that both machines have.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrialsRequest {
    /// The table in its readable form.
    table: String,
    /// Draw and index of each network.
    networks: Vec<(u64, usize)>,
    /// The table of the senders of the other kind, and true if the networks are seen from those.
    beside: Option<(String, bool)>,
    uses: bool,
}

/// A response. Numbers that are not integers are written as their bits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrialsResponse {
    trials: Vec<TrialBits>,
    simulated_s: f64,
    cpu_s: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrialBits {
    senders: Vec<(bool, [u64; 8])>,
    uses: Vec<UseBits>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct UseBits {
    count: u64,
    stride: u64,
    samples: Vec<Vec<u64>>,
}

/// Returns the request for [`Evaluator::trials`] as text. All networks must be of one specification
/// and, if they have a second table, have the same one.
///
/// # Errors
/// The request cannot be written.
pub fn question(
    table: &RuleTable,
    specimens: &[Specimen],
    uses: bool,
) -> Result<String, EvaluatorError> {
    let readable = |table: &RuleTable| Readable::of_table(table, "").to_json().map_err(other);
    let beside = specimens.first().and_then(|specimen| specimen.origin.beside.as_ref());
    let beside = match beside {
        Some((table, swapped)) => Some((readable(table)?, *swapped)),
        None => None,
    };
    let networks =
        specimens.iter().map(|specimen| (specimen.origin.draw, specimen.origin.index)).collect();
    let question = TrialsRequest { table: readable(table)?, networks, beside, uses };
    serde_json::to_string(&question).map_err(other)
}

/// Answers a request about this specification, whose traces are in `folder`, on all cores of the
/// caller's thread pool.
///
/// # Errors
/// The specification is invalid, the text is not a request, or a network cannot be built.
pub fn answer(
    specification: &str,
    folder: Option<&Path>,
    question: &str,
) -> Result<String, EvaluatorError> {
    let specification = Specification::parse_in(specification, folder).map_err(other)?;
    let question: TrialsRequest = serde_json::from_str(question).map_err(other)?;
    let table = read(&question.table)?;
    let beside = match question.beside {
        Some((table, swapped)) => Some((read(&table)?, swapped)),
        None => None,
    };
    let networks = specification.networks();
    let mut specimens = Vec::new();
    for (draw, index) in question.networks {
        if index >= networks {
            return Err(other(format!("the specification has no network {index}")));
        }
        let specimen = specification.specimen(draw, index);
        specimens.push(match &beside {
            Some((table, swapped)) => specimen.beside(table, *swapped),
            None => specimen,
        });
    }
    let evaluator = TrainingEvaluator::default();
    let trials = evaluator.trials(&table, &specimens, question.uses)?;
    let TrainingEvaluator { work } = evaluator;
    let trials = trials.iter().map(TrialBits::of).collect();
    let answer = TrialsResponse { trials, simulated_s: work.simulated_s(), cpu_s: work.cpu_s() };
    serde_json::to_string(&answer).map_err(other)
}

/// Reads the trials of a response, and adds their cost to `work`.
///
/// # Errors
/// The text is not a response.
pub fn trials(answer: &str, work: &EvaluatorWork) -> Result<Vec<Trial>, EvaluatorError> {
    let answer: TrialsResponse = serde_json::from_str(answer).map_err(other)?;
    work.add(answer.simulated_s, answer.cpu_s);
    answer.trials.into_iter().map(TrialBits::trial).collect()
}

fn other(problem: impl ToString) -> EvaluatorError {
    EvaluatorError::Other(problem.to_string())
}

fn read(text: &str) -> Result<Arc<RuleTable>, EvaluatorError> {
    let readable = Readable::from_json(text).map_err(other)?;
    let table = RuleTable::new(readable.tree().map_err(other)?).map_err(other)?;
    Ok(Arc::new(table.with_timer(readable.timer)))
}

impl TrialBits {
    fn of(trial: &Trial) -> TrialBits {
        let sender = |sender: &SenderFigures| {
            let SenderFigures { packets, on_s, share_s, delay_ms, flows, log2_slowdown, .. } =
                *sender;
            let SenderFigures { delay_quantile_ms: quantile_ms, repeats, other, .. } = *sender;
            let numbers =
                [packets, on_s, share_s, delay_ms, flows, log2_slowdown, quantile_ms, repeats];
            (other, numbers.map(f64::to_bits))
        };
        let bits = |memory: &Memory| memory.values.map(f64::to_bits).to_vec();
        let uses = |one: &RuleUse| {
            let (count, samples, stride) = one.parts();
            UseBits { count, stride, samples: samples.iter().map(bits).collect() }
        };
        TrialBits {
            senders: trial.senders.iter().map(sender).collect(),
            uses: trial.uses.iter().map(uses).collect(),
        }
    }

    fn trial(self) -> Result<Trial, EvaluatorError> {
        let sender = |(other, numbers): (bool, [u64; 8])| {
            let [packets, on_s, share_s, delay_ms, flows, log2_slowdown, quantile_ms, repeats] =
                numbers.map(f64::from_bits);
            let mut sender = SenderFigures::default();
            (sender.packets, sender.on_s, sender.share_s) = (packets, on_s, share_s);
            (sender.delay_ms, sender.delay_quantile_ms) = (delay_ms, quantile_ms);
            (sender.flows, sender.log2_slowdown) = (flows, log2_slowdown);
            (sender.repeats, sender.other) = (repeats, other);
            sender
        };
        let memory = |bits: Vec<u64>| {
            let mut memory = Memory::default();
            if bits.len() != memory.values.len() {
                return Err(other("a memory has another number of values"));
            }
            let places = memory.values.iter_mut().zip(bits);
            places.for_each(|(place, bits)| *place = f64::from_bits(bits));
            Ok(memory)
        };
        let uses = |one: UseBits| {
            let samples = one.samples.into_iter().map(memory).collect::<Result<_, _>>()?;
            Ok(RuleUse::from_parts(one.count, samples, one.stride))
        };
        Ok(Trial {
            senders: self.senders.into_iter().map(sender).collect(),
            uses: self.uses.into_iter().map(uses).collect::<Result<_, EvaluatorError>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use paceline_cc::Span;

    use super::*;

    const TEXT: &str = "duration = \"3s\"\n[networks]\nlink = { from = \"5Mbps\", to = \"10Mbps\", \
                        steps = 2 }\nrtt = \"100ms\"\nsenders = 2\non = \"1s\"\noff = \"1s\"\n";

    #[test]
    fn trials_elsewhere_are_those_here() {
        let specification = Specification::parse_in(TEXT, None).expect("a specification");
        assert_eq!(specification.duration, Span::from_secs(3).into());
        let named = crate::tables();
        let table = named.iter().next().expect("a built-in table").table().expect("sound");
        let specimens = specification.specimens(7);
        let some = [specimens[1].clone(), specimens[0].clone()];
        let here = TrainingEvaluator::default().trials(&table, &some, true).expect("runs");
        let asked = question(&table, &some, true).expect("text");
        let work = EvaluatorWork::default();
        let there = trials(&answer(TEXT, None, &asked).expect("answered"), &work).expect("trials");
        assert_eq!(here.len(), there.len());
        for (here, there) in here.iter().zip(&there) {
            assert_eq!((&here.senders, &here.uses), (&there.senders, &there.uses));
            assert!(here.uses.iter().any(|one| one.count > 0));
        }
        assert_eq!(work.simulated_s(), 6.0);
    }

    #[test]
    fn what_is_no_question_or_answer_is_an_error() {
        assert!(answer(TEXT, None, "{}").is_err());
        assert!(answer("duration = 1", None, "{}").is_err());
        assert!(trials("[]", &EvaluatorWork::default()).is_err());
        let specification = Specification::parse_in(TEXT, None).expect("a specification");
        let named = crate::tables();
        let table = named.iter().next().expect("a built-in table").table().expect("sound");
        let mut specimens = specification.specimens(7);
        specimens[0].origin.index = 99;
        let asked = question(&table, &specimens, false).expect("text");
        assert!(answer(TEXT, None, &asked).is_err_and(|error| error.to_string().contains("99")));
    }
}
