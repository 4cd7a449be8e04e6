//! The receiver's model of the link: Sprout's, and a trait that Sprout-EWMA implements, too.

use std::cell::Cell;
use std::sync::Arc;

use super::SproutParams;
use super::belief::Belief;
use super::forecast::{Counts, Tables};

/// A model that takes in the packets of each tick, and forecasts.
pub trait Model: Send {
    /// Updates the model for the passage of a tick.
    fn evolve(&mut self);
    /// Updates the model for `packets` packets that arrived in the tick that has passed; fractions
    /// count.
    fn observe(&mut self, packets: f64);
    /// Returns, for the end of each coming tick, the number of packets that the link will have
    /// delivered.
    fn forecast(&self) -> Counts;
    /// Forgets everything, for a new connection.
    fn restart(&mut self);
}

/// Sprout's model: a probability for each rate, and a low quantile of the packets that these would
/// deliver.
#[derive(Clone, Debug)]
pub struct Inference {
    tables: Arc<Tables>,
    belief: Belief,
    /// Probability that the link delivers at most as much as forecast.
    share: f64,
    /// The last forecast, close to which the next one is searched.
    last: Cell<Counts>,
}

impl Inference {
    /// Returns a model without information, with tables from [`SproutParams::tables`].
    pub fn new(params: &SproutParams, tables: Arc<Tables>) -> Inference {
        let belief = Belief::new(tables.transition.clone());
        Inference { tables, belief, share: 1.0 - params.confidence, last: Cell::default() }
    }

    /// Returns the probabilities.
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
        let counts = self.tables.quantile_near(self.belief.p(), self.share, &self.last.get());
        self.last.set(counts);
        counts
    }
    fn restart(&mut self) {
        self.belief = Belief::new(self.tables.transition.clone());
    }
}
