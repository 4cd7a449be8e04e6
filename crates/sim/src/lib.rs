//! The simulator: virtual time, topologies, scenario files, metrics.
