//! Stretches of a path: delay, jitter, loss, reordering, duplication.

use paceline_cc::Span;
use paceline_path::{GilbertElliott, Jitter, JitterShape, Loss, Reorder};
use paceline_trace::Delays;

use super::error::ScenarioError;
use super::keys::{Inline, keys, probability};
use super::reader::{At, Reader};
use super::table::Table;
use super::text::preimage;
use crate::scenario::spec::Stretch;

keys! {
    /// A part of the path without a queue.
    FileStretch: "stretches" of Stretch = Stretch::default();
    /// fixed delay, one way
    delay: Span => delay;
    /// a recording of the one-way delay, added to `delay`: the built-in `leo`, or a file with a
    /// line for each 10 ms in milliseconds, or with rows `time_ms,delay_ms` if its name ends in
    /// `.csv`; it repeats. Packets keep their order unless `overtake` is true
    delay_trace: Delays => impairments.delays;
    /// mean of a random delay added to `delay`
    jitter: Span;
    /// with `jitter`: standard deviation of the random delay
    jitter_sd: Span, default "its mean";
    /// with `jitter`: distribution of the random delay
    jitter_shape: JitterShape, default "`\"exponential\"`";
    /// with `jitter` or `delay_trace`: true if packets may overtake each other because of it
    overtake: bool => impairments.reorder_jitter;
    /// probability that a packet is lost
    loss: f64, default "`0`", in probability();
    /// mean length of bursts of losses, in packets (Gilbert and Elliott); needs `loss`
    burst: f64, default "each loss is independent";
    /// probability that a packet is held back
    reorder: f64, default "`0`", in probability();
    /// with `reorder`: how long such a packet is held back. Without this key the packet has no delay at all, and so
    /// overtakes others (netem's `reorder`)
    reorder_by: Span;
    /// probability that a packet is duplicated
    duplicate: f64, in probability() => impairments.duplicate;
    /// packets arrive in groups, at the next multiple of this time (netem's `slot`), as over links that
    /// grant their uplink periodically
    slot: Span => impairments.slot;
}

impl Inline for Stretch {
    type File = FileStretch;

    fn finish(
        &mut self,
        reader: &Reader<'_>,
        written: &At<FileStretch>,
    ) -> Result<(), ScenarioError> {
        let file = &written.value;
        let impairments = &mut self.impairments;
        let help = "write loss = 0.01, burst = 5";
        impairments.loss = match (file.loss(reader)?, file.burst(reader)?) {
            (None, None) => Loss::None,
            (None, Some(_)) => return reader.fail(written, "burst needs loss", help),
            (Some(rate), None) => Loss::Bernoulli(rate),
            (Some(1.0), Some(_)) => {
                let message = "bursts need a loss below 1: packets that arrive lie between them";
                let help = "write loss = 0.01, burst = 5, or leave burst out";
                return reader.fail(&file.loss, message, help);
            }
            (Some(rate), Some(length)) => match GilbertElliott::with_bursts(rate, length) {
                Ok(model) => Loss::GilbertElliott(model),
                Err(error) => return reader.fail(written, error.to_string(), help),
            },
        };
        if file.jitter.is_none() {
            let help = "write jitter = \"5ms\", the mean of the random delay";
            reader.needs(("jitter_sd", &file.jitter_sd), "jitter", help)?;
            reader.needs(("jitter_shape", &file.jitter_shape), "jitter", help)?;
            if file.delay_trace.is_none() {
                let help = "packets overtake each other only where the delay varies";
                reader.needs(("overtake", &file.overtake), "jitter or delay_trace", help)?;
            }
        }
        if file.reorder.is_none() {
            let help = "write reorder = 0.05, reorder_by = \"20ms\"";
            reader.needs(("reorder_by", &file.reorder_by), "reorder", help)?;
        }
        if let Some(mean) = file.jitter(reader)? {
            let sd = file.jitter_sd(reader)?.unwrap_or(mean);
            let shape = file.jitter_shape(reader)?.unwrap_or(JitterShape::Exponential);
            impairments.jitter = Some(Jitter { shape, mean, sd });
        }
        if let Some(probability) = file.reorder(reader)? {
            let extra = file.reorder_by(reader)?;
            impairments.reorder = Some(Reorder { probability, extra });
        }
        impairments.slot = impairments.slot.filter(|slot| !slot.is_zero());
        Ok(())
    }

    fn write_rest(&self, table: &mut Table) -> Result<(), ScenarioError> {
        if let Some(jitter) = &self.impairments.jitter {
            table.put("jitter", &jitter.mean)?;
            table.put_field("jitter_sd", Some(jitter.sd), Some(jitter.mean))?;
            let usual = JitterShape::Exponential;
            table.put_field("jitter_shape", Some(jitter.shape), Some(usual))?;
        }
        match &self.impairments.loss {
            Loss::None => {}
            Loss::Bernoulli(rate) => table.put("loss", rate)?,
            Loss::GilbertElliott(model) => {
                let (rate, burst) = bursts(model).ok_or_else(|| {
                    ScenarioError::new("this Gilbert-Elliott model of loss cannot be written").help(
                        "files have those in which all is lost in the bad state and nothing in \
                         the good one, by mean loss and mean length of bursts",
                    )
                })?;
                table.put("loss", &rate)?;
                table.put("burst", &burst)?;
            }
        }
        if let Some(reorder) = &self.impairments.reorder {
            table.put("reorder", &reorder.probability)?;
            table.put_field("reorder_by", reorder.extra, None)?;
        }
        Ok(())
    }
}

/// Returns the mean loss and the mean length of bursts that give this model; `None` if there are
/// none.
fn bursts(model: &GilbertElliott) -> Option<(f64, f64)> {
    let (p, r) = model.transitions();
    let burst = preimage(1.0 / r, |burst| 1.0 / burst == r)?;
    let gives = |rate| GilbertElliott::with_bursts(rate, burst).is_ok_and(|made| made == *model);
    Some((preimage(p / (p + r), gives)?, burst))
}
