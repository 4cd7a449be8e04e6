//! Computes the load that a router shows from its measurements, and reads it from acknowledgements.

use paceline_cc::Load;

use super::VcpParams;

/// The constants of the load factor.
#[derive(Copy, Clone, Debug)]
pub(super) struct LoadFactor {
    kappa_q: f64,
    gamma_l: f64,
}

impl LoadFactor {
    pub(super) fn new(params: &VcpParams) -> LoadFactor {
        LoadFactor { kappa_q: params.kappa_q, gamma_l: params.gamma_l }
    }

    /// Returns the load factor, from the bytes that arrived, the bytes that wait and the capacity.
    /// `None` without capacity and traffic.
    pub(super) fn of(&self, arrived: f64, queue: f64, capacity: f64) -> Option<f64> {
        let load = arrived + self.kappa_q * queue;
        if capacity > 0.0 {
            Some(load / (self.gamma_l * capacity))
        } else {
            (load > 0.0).then_some(f64::INFINITY)
        }
    }
}

/// Load factor below which the load is low.
pub(super) const LOW: f64 = 0.8;

/// Returns the load in an acknowledgement.
pub(super) fn decode(explicit: u32) -> Load {
    [Load::Low, Load::High, Load::Overload]
        .into_iter()
        .find(|load| *load as u32 == explicit)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_factor() {
        let factor = LoadFactor::new(&VcpParams { gamma_l: 0.98, ..VcpParams::default() });
        assert_eq!(factor.of(98.0, 0.0, 100.0), Some(1.0));
        assert_eq!(factor.of(49.0, 98.0, 100.0), Some(1.0));
        assert_eq!(factor.of(0.0, 0.0, 100.0), Some(0.0));
        assert_eq!(factor.of(0.0, 0.0, 0.0), None);
        assert_eq!(factor.of(1.0, 0.0, 0.0), Some(f64::INFINITY));
        assert_eq!(factor.of(0.0, 1.0, 0.0), Some(f64::INFINITY));
    }

    #[test]
    fn loads_travel_and_nonsense_is_none() {
        for load in [Load::Unknown, Load::Low, Load::High, Load::Overload] {
            assert_eq!(decode(load as u32), load);
        }
        assert_eq!(decode(4), Load::Unknown);
        assert_eq!(decode(u32::MAX), Load::Unknown);
    }
}
