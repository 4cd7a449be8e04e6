//! Random streams: one per component, keyed by the seed and the component's name, so that adding
//! a component disturbs no other. The samplers use `libm`, whose results do not depend on the
//! platform.

use std::cell::Cell;

use rand_chacha::ChaCha8Core;
use rand_chacha::rand_core::SeedableRng;
use rand_chacha::rand_core::block::{BlockRng, Generator};

thread_local! {
    /// Number of blocks of random numbers that streams have made on this thread.
    static BLOCKS: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of blocks of random numbers that streams have made on this thread so far; a
/// block has 32 numbers of 64 bits. If a driver compares it before and after a run, it knows
/// whether the run used random numbers at all.
pub fn draws() -> u64 {
    BLOCKS.get()
}

/// Runs `draw` without counting its draws in [`draws`], for draws without effect on results.
pub fn without_counting<T>(draw: impl FnOnce() -> T) -> T {
    let before = BLOCKS.get();
    let drawn = draw();
    BLOCKS.set(before);
    drawn
}

/// ChaCha with 8 rounds that counts its blocks, not its draws, so that counting costs almost
/// nothing.
#[derive(Clone, Debug)]
struct CountedCore(ChaCha8Core);

impl Generator for CountedCore {
    type Output = [u32; 64];

    #[inline]
    fn generate(&mut self, output: &mut [u32; 64]) {
        BLOCKS.set(BLOCKS.get() + 1);
        self.0.generate(output);
    }
}

/// The stream of random numbers of one component.
#[derive(Clone, Debug)]
pub struct Stream {
    rng: BlockRng<CountedCore>,
}

impl Stream {
    /// Returns the stream of component `name` under `seed`. Different names give independent
    /// streams.
    pub fn new(seed: u64, name: &str) -> Stream {
        // Hashes the name by FNV-1a and spreads it over the key: names are few, and only need to
        // differ.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
        }
        let mut key = [0u8; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&hash.to_le_bytes());
        key[16..24].copy_from_slice(&(name.len() as u64).to_le_bytes());
        Stream { rng: BlockRng::new(CountedCore(ChaCha8Core::from_seed(key))) }
    }

    /// Returns a stream for a part of the component; each call returns a new one.
    pub fn split(&mut self, part: &str) -> Stream {
        Stream::new(self.next_u64(), part)
    }

    /// Draws 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.rng.next_u64_from_u32()
    }

    /// Draws a number uniform in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws an integer uniform in 0..n; returns 0 for n = 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.next_u64() as u128 * n as u128) >> 64) as u64
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.uniform() < p
    }

    /// Draws an exponential variate with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Draws a standard normal variate (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.uniform())
    }

    /// Draws a Pareto variate with shape `alpha` and minimum `scale`.
    pub fn pareto(&mut self, alpha: f64, scale: f64) -> f64 {
        scale / libm::pow(1.0 - self.uniform(), 1.0 / alpha)
    }

    /// Draws a Poisson variate with the given mean: by multiplication below 30, by halving above.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let mut mean = mean;
        let mut count = 0;
        // A Poisson variate is the sum of two Poisson variates of half its mean.
        while mean > 30.0 {
            let part = 30.0_f64.min(mean / 2.0);
            count += self.poisson_small(part);
            mean -= part;
        }
        count + self.poisson_small(mean)
    }

    fn poisson_small(&mut self, mean: f64) -> u64 {
        if mean <= 0.0 || mean.is_nan() {
            return 0;
        }
        let limit = libm::exp(-mean);
        let mut product = self.uniform();
        let mut count = 0;
        while product > limit {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_keyed_by_name_and_seed() {
        let draw = |seed, name| Stream::new(seed, name).next_u64();
        assert_eq!(draw(1, "link"), draw(1, "link"));
        assert_ne!(draw(1, "link"), draw(1, "loss"));
        assert_ne!(draw(1, "link"), draw(2, "link"));
        // Pinned: a change of generator changes every published digest.
        assert_eq!(draw(1, "link"), 4_656_384_989_975_116_191);
    }

    #[test]
    fn draws_are_counted_where_they_decide_something() {
        let before = draws();
        let mut stream = Stream::new(1, "quiet");
        assert_eq!(draws(), before);
        without_counting(|| stream.next_u64());
        assert_eq!(draws(), before);
        Stream::new(1, "loud").next_u64();
        assert_eq!(draws(), before + 1);
    }

    #[test]
    fn samplers_have_their_means() {
        let mut stream = Stream::new(7, "samplers");
        let n = 100_000;
        let mut mean = |draw: &mut dyn FnMut(&mut Stream) -> f64| {
            (0..n).map(|_| draw(&mut stream)).sum::<f64>() / n as f64
        };
        assert!((mean(&mut |s| s.uniform()) - 0.5).abs() < 0.005);
        assert!((mean(&mut |s| s.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(&mut |s| s.normal()).abs() < 0.02);
        assert!((mean(&mut |s| s.normal().powi(2)) - 1.0).abs() < 0.03);
        assert!((mean(&mut |s| s.poisson(4.0) as f64) - 4.0).abs() < 0.04);
        assert!((mean(&mut |s| s.poisson(250.0) as f64) - 250.0).abs() < 0.3);
        // Pareto with shape 3 and scale 2 has mean 3.
        assert!((mean(&mut |s| s.pareto(3.0, 2.0)) - 3.0).abs() < 0.05);
        assert!((mean(&mut |s| s.below(10) as f64) - 4.5).abs() < 0.05);
    }
}
