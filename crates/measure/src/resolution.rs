//! Bins of spans of time whose widths are below a thousandth of their values: a microsecond up to 2 ms,
//! and from there 1024 bins for each power of two.

/// Bins for each power of two.
const PER_OCTAVE: u32 = 1024;
/// Number of bins that have a width of a microsecond.
const LINEAR: usize = 2 * PER_OCTAVE as usize;

/// Returns the bin of a span of `micros` microseconds.
#[inline]
pub(crate) fn bin_of(micros: u32) -> usize {
    // Zero for all bins of one microsecond.
    let shift = (micros | PER_OCTAVE).ilog2() - PER_OCTAVE.ilog2();
    (shift * PER_OCTAVE + (micros >> shift)) as usize
}

/// Returns the smallest span of a bin in microseconds.
pub(crate) fn edge(bin: usize) -> u64 {
    if bin < LINEAR {
        return bin as u64;
    }
    let shift = bin / PER_OCTAVE as usize - 1;
    ((bin - shift * PER_OCTAVE as usize) as u64) << shift
}

/// Returns the middle of a bin in microseconds, rounded up.
pub(crate) fn middle(bin: usize) -> u64 {
    edge(bin) + (edge(bin + 1) - edge(bin)) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other_and_are_a_thousandth_wide() {
        let mut last = 0;
        for bin in 1..=bin_of(u32::MAX) {
            let lower = edge(bin);
            let micros = u32::try_from(lower).expect("below 71 minutes");
            assert_eq!(bin_of(micros), bin);
            assert_eq!(bin_of(micros - 1), bin - 1);
            assert!(lower - last <= 1.max(last / 1024), "bin {bin}");
            last = lower;
        }
        assert_eq!((middle(7), middle(2047), middle(2048), middle(3072)), (7, 2047, 2049, 4098));
    }
}
