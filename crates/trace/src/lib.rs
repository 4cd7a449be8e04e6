//! Traces of link capacity: formats, statistics, generators.
