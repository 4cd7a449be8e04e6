//! Environments for reinforcement learning: `paceline.gym`. One call steps several of them, without
//! Python's lock. Arrays are passed as bytes, in the machine's byte order.

mod agent;
mod episode;
mod pool;

use std::sync::{Mutex, PoisonError};

use paceline_cc::{SchemeSpec, Span};
use paceline_requests::written;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use rayon::prelude::*;

use crate::error::{argument_error, run_error};
use episode::{BOUND, Episode, EpisodeConfig, FEATURES};
use pool::StepPool;

/// Environments with one configuration.
#[pyclass(name = "Environments", module = "paceline._native")]
pub(crate) struct PyEnvironments {
    config: EpisodeConfig,
    /// In a mutex, because simulations are `Send` but not `Sync`.
    slots: Mutex<Vec<Slot>>,
    count: usize,
    pool: StepPool,
}

/// One environment, with the source of its next episodes.
struct Slot {
    seed: u64,
    next: u64,
    episode: Option<Episode>,
}

impl Slot {
    fn reset(&mut self, config: &EpisodeConfig) -> Result<(), String> {
        let made = Episode::new(config, self.seed, self.next);
        self.next += 1;
        self.episode = Some(made.map_err(|error| error.to_string())?);
        Ok(())
    }
}

fn check_range(name: &str, (from, to): (f64, f64), most: f64) -> PyResult<(f64, f64)> {
    if from > 0.0 && from <= to && to <= most {
        return Ok((from, to));
    }
    let expected =
        format!("expected two numbers above zero and up to {most}, the smaller one first");
    Err(argument_error(name, expected))
}

#[pymethods]
impl PyEnvironments {
    #[new]
    #[pyo3(signature = (*, count, traces, rate_mbps, rtt_ms, buffer_bdp, loss, rivals, step_ms, steps,
        history, weights, digest, threads))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        count: usize,
        traces: Vec<String>,
        rate_mbps: (f64, f64),
        rtt_ms: (f64, f64),
        buffer_bdp: (f64, f64),
        loss: (f64, f64),
        rivals: Vec<String>,
        step_ms: f64,
        steps: u32,
        history: usize,
        weights: [f64; 3],
        digest: bool,
        threads: usize,
    ) -> PyResult<PyEnvironments> {
        let link = |text: &String| written::capacity(text).map(|(_, capacity)| capacity);
        let links = traces.iter().map(link).collect::<Result<_, _>>();
        let names = paceline_remy::names();
        let rival = |text: &String| names.check_scheme(text);
        let rivals = rivals.iter().map(rival).collect::<Result<Vec<SchemeSpec>, _>>();
        if !(loss.0 >= 0.0 && loss.0 <= loss.1 && loss.1 < 1.0) {
            return Err(argument_error(
                "loss",
                "expected two shares from 0 to below 1, the smaller one first",
            ));
        }
        if !(1.0..=10_000.0).contains(&step_ms) {
            return Err(argument_error("step_ms", "expected 1 to 10000"));
        }
        let limits = [("num_envs", count), ("steps", steps as usize), ("history", history)];
        for (name, value) in limits {
            if !(1..=1_000_000).contains(&value) {
                return Err(argument_error(name, "expected 1 to 1000000"));
            }
        }
        let config = EpisodeConfig {
            links: links.map_err(|e| argument_error("traces", e))?,
            rate_mbps: check_range("rate_mbps", rate_mbps, 1e6)?,
            rtt_ms: check_range("rtt_ms", rtt_ms, 3.6e6)?,
            buffer_bdp: check_range("buffer_bdp", buffer_bdp, 1e6)?,
            loss,
            rivals: rivals.map_err(|e| argument_error("rivals", e))?,
            step: Span::from_secs_f64(step_ms / 1e3),
            steps,
            history,
            weights,
            digest,
        };
        let pool = StepPool::new(threads)?;
        let slots = (0..count).map(|_| Slot { seed: 0, next: 0, episode: None }).collect();
        Ok(PyEnvironments { config, slots: Mutex::new(slots), count, pool })
    }

    /// Number of observed values per step.
    #[classattr]
    const FEATURES: usize = FEATURES;

    /// Bound of the magnitude of each observed value.
    #[classattr]
    const BOUND: f32 = BOUND;

    /// Sets the seed of an environment, whose next episode is the first one with this seed.
    fn seed(&mut self, index: usize, seed: u64) -> PyResult<()> {
        let slot = slots_mut(&mut self.slots).get_mut(index);
        let slot = slot.ok_or_else(|| argument_error("index", "there is no such environment"))?;
        (slot.seed, slot.next) = (seed, 0);
        Ok(())
    }

    /// Begins the next episode of each environment whose byte in `chosen` is not zero, and returns
    /// all observations.
    fn reset<'py>(&mut self, py: Python<'py>, chosen: &[u8]) -> PyResult<Bound<'py, PyByteArray>> {
        if chosen.len() != self.count {
            return Err(PyValueError::new_err(format!("expected {} choices", self.count)));
        }
        let PyEnvironments { config, slots, pool, .. } = self;
        let slots = slots_mut(slots);
        let pool = pool.get()?;
        let reset = |(slot, &chosen): (&mut Slot, &u8)| match chosen {
            0 => Ok(()),
            _ => slot.reset(config),
        };
        let done = py.detach(|| match pool {
            Some(pool) => pool.install(|| slots.par_iter_mut().zip(chosen).try_for_each(reset)),
            None => slots.iter_mut().zip(chosen).try_for_each(reset),
        });
        done.map_err(|problem: String| run_error(py, problem))?;
        Ok(observations(py, config, slots))
    }

    /// Steps each environment: `actions` has a 32-bit float for each. If an environment's episode
    /// is over, begins its next one instead, with reward 0. Returns observations (32-bit floats),
    /// rewards (64-bit floats) and whether episodes are over (bytes).
    #[allow(clippy::type_complexity)]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: &[u8],
    ) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
        if actions.len() != 4 * self.count {
            return Err(PyValueError::new_err(format!("expected {} actions", self.count)));
        }
        let PyEnvironments { config, slots, pool, .. } = self;
        let slots = slots_mut(slots);
        let pool = pool.get()?;
        let step = |(slot, action): (&mut Slot, &[u8])| -> Result<(), String> {
            let action = action.try_into().map_or(0.0, f32::from_ne_bytes);
            match &mut slot.episode {
                Some(episode) if !episode.last_step.done => {
                    episode.step(config, action);
                    Ok(())
                }
                _ => slot.reset(config),
            }
        };
        let done = py.detach(|| match pool {
            Some(pool) => {
                pool.install(|| slots.par_iter_mut().zip(actions.par_chunks(4)).try_for_each(step))
            }
            None => slots.iter_mut().zip(actions.chunks(4)).try_for_each(step),
        });
        done.map_err(|problem| run_error(py, problem))?;
        let last_step =
            |slot: &Slot| slot.episode.as_ref().map(|e| e.last_step).unwrap_or_default();
        let rewards: Vec<u8> =
            slots.iter().flat_map(|slot| last_step(slot).reward.to_ne_bytes()).collect();
        let over: Vec<u8> = slots.iter().map(|slot| u8::from(last_step(slot).done)).collect();
        Ok((
            observations(py, config, slots),
            PyByteArray::new(py, &rewards),
            PyByteArray::new(py, &over),
        ))
    }

    /// Returns the `info` of an environment's last step.
    fn info<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let info = PyDict::new(py);
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(episode) = slots.get(index).and_then(|slot| slot.episode.as_ref()) else {
            return Ok(info);
        };
        let (last, drawn) = (episode.last_step, episode.drawn);
        info.set_item("rate_mbps", last.rate_mbps)?;
        info.set_item("throughput_mbps", last.throughput_mbps)?;
        info.set_item("rtt_ms", last.rtt_ms)?;
        info.set_item("loss", last.loss)?;
        info.set_item("capacity_mbps", drawn.capacity_mbps)?;
        info.set_item("base_rtt_ms", drawn.rtt_ms)?;
        if self.config.digest {
            info.set_item("digest", episode.digest())?;
        }
        Ok(info)
    }
}

/// Returns the environments, given exclusive access.
fn slots_mut(slots: &mut Mutex<Vec<Slot>>) -> &mut Vec<Slot> {
    slots.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Returns all observations, one environment after the other.
fn observations<'py>(
    py: Python<'py>,
    config: &EpisodeConfig,
    slots: &[Slot],
) -> Bound<'py, PyByteArray> {
    let length = 4 * FEATURES * config.history;
    let mut bytes = Vec::with_capacity(length * slots.len());
    for slot in slots {
        match &slot.episode {
            Some(episode) => {
                bytes.extend(episode.observation.iter().flat_map(|value| value.to_ne_bytes()));
            }
            None => bytes.resize(bytes.len() + length, 0),
        }
    }
    PyByteArray::new(py, &bytes)
}
