//! Video applications in scenario files.

use paceline_flow::{Video, Workload};
use serde::Deserialize;

use super::read::{Period, Speed};

/// What is left out is as in [`Video::default`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileVideo {
    fps: Option<f64>,
    min: Option<Speed>,
    max: Option<Speed>,
    lag: Option<Period>,
    noise: Option<f64>,
    key_every: Option<u32>,
    key_size: Option<f64>,
    queue: Option<Period>,
}

impl FileVideo {
    pub(super) fn workload(&self) -> Workload {
        let usual = Video::default();
        Workload::Video(Video {
            fps: self.fps.unwrap_or(usual.fps),
            min: self.min.map_or(usual.min, |min| min.0),
            max: self.max.map_or(usual.max, |max| max.0),
            lag: self.lag.map_or(usual.lag, |lag| lag.0),
            noise: self.noise.unwrap_or(usual.noise),
            key_every: self.key_every.unwrap_or(usual.key_every),
            key_size: self.key_size.unwrap_or(usual.key_size),
            queue: self.queue.map_or(usual.queue, |queue| queue.0),
        })
    }
}
