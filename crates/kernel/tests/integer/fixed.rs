//! Fixed-point numbers: unsigned, 64 bits, 16 of them fraction bits ("Q16"), as in `bpf/fixed.h`.

/// One packet, or one second.
pub(crate) const ONE: u64 = 1 << 16;
/// Largest window: 2^20 packets.
pub(crate) const MOST_WINDOW: u64 = 1 << 36;
/// Most packets for which one acknowledgement counts where it is multiplied: 2^10.
pub(crate) const MOST_ACKED: u64 = 1 << 26;
/// A time or a threshold that is never reached.
pub(crate) const NEVER: u64 = 1 << 62;

/// Returns `a * b / c` rounded to the nearest; 0 if `c` is 0. Products wrap as they do in C.
#[inline]
pub(crate) fn scale(a: u64, b: u64, c: u64) -> u64 {
    a.wrapping_mul(b).wrapping_add(c / 2).checked_div(c).unwrap_or(0)
}

/// Converts microseconds, at most 1000 s, to seconds in Q16.
#[inline]
pub(crate) fn seconds(micros: u64) -> u64 {
    (micros.min(1_000_000_000) << 10) / 15_625
}

/// Returns the cube in Q16 of seconds in Q16, at most 1000 s.
#[inline]
pub(crate) fn cube(x: u64) -> u64 {
    let x = x.min(1000 * ONE);
    (((x * x) >> 16) * x) >> 16
}

/// Returns the cube root in Q16 of a Q16 number, digit by digit, rounded down to 2^-15.
pub(crate) fn cube_root(value: u64) -> u64 {
    let mut rest = value.min((1 << 34) - 1) << 29;
    let mut root: u64 = 0;
    for shift in (0..=63).rev().step_by(3) {
        root <<= 1;
        let digit = 3 * root * (root + 1) + 1;
        if rest >> shift >= digit {
            rest -= digit << shift;
            root += 1;
        }
    }
    root << 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_and_cubes_are_those_of_real_numbers() {
        for value in [0, 1, ONE, 8 * ONE, 1000 * ONE, 12_345 * ONE + 678, (1 << 34) - 1] {
            let real = (value as f64 / ONE as f64).cbrt();
            let ours = cube_root(value) as f64 / ONE as f64;
            assert!((real - ours).abs() < 1.0 / 16_384.0, "{value}: {real} {ours}");
        }
        for x in [0.0, 0.01, 0.5, 1.0, 3.7, 99.9, 999.0_f64] {
            let ours = cube((x * ONE as f64) as u64) as f64 / ONE as f64;
            assert!((ours - x.powi(3)).abs() <= 1e-4 * (1.0 + x.powi(3)), "{x}: {ours}");
        }
    }

    #[test]
    fn seconds_are_fixed_point() {
        assert_eq!(seconds(1_000_000), ONE);
        assert_eq!(seconds(500_000), ONE / 2);
        assert_eq!(seconds(u64::MAX), 1000 * ONE);
    }

    #[test]
    fn a_division_by_nothing_is_nothing() {
        assert_eq!(scale(7, 3, 0), 0);
        assert_eq!(scale(7, 3, 2), 11);
    }
}
