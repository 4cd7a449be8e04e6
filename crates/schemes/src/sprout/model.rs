//! The receiver's model of the link: Sprout's, behind a trait that Sprout-EWMA's fits as well.

use std::sync::Arc;

use super::SproutParams;
use super::belief::Belief;
use super::forecast::{Counts, Tables};

/// A model that is told tick by tick what arrives, and forecasts.
pub trait Model: Send {
    /// A tick passes.
    fn evolve(&mut self);
    /// In the tick that has passed so many packets arrived; parts of a packet count.
    fn observe(&mut self, packets: f64);
    /// For the end of each coming tick, the packets that the link will have delivered.
    fn forecast(&self) -> Counts;
    /// A new connection: forgets everything.
    fn restart(&mut self);
}

/// Sprout's model: a probability for each rate, and a low quantile of what they would deliver.
#[derive(Clone, Debug)]
pub struct Inference {
    tables: Arc<Tables>,
    belief: Belief,
    /// The share of futures in which the link delivers no more than forecast.
    share: f64,
}

impl Inference {
    /// A model that knows nothing yet, over tables that [`SproutParams::tables`] has made.
    pub fn new(params: &SproutParams, tables: Arc<Tables>) -> Inference {
        let belief = Belief::new(tables.transition.clone());
        Inference { tables, belief, share: 1.0 - params.confidence }
    }

    /// What it believes.
    pub fn belief(&self) -> &Belief {
        &self.belief
    }
}

impl Model for Inference {
    fn evolve(&mut self) {
        self.belief.evolve();
    }
    fn observe(&mut self, packets: f64) {
        // Rounded to whole packets, but at least one, since any packet shows that there is no
        // outage.
        let whole = (packets + 0.5) as u32;
        self.belief.observe(if packets > 0.0 { whole.max(1) } else { 0 });
    }
    fn forecast(&self) -> Counts {
        self.tables.quantile(self.belief.p(), self.share)
    }
    fn restart(&mut self) {
        self.belief = Belief::new(self.tables.transition.clone());
    }
}
