//! Counts of single sockets.

use serde::Serialize;

/// Counts of one socket of a program: the first words of its storage (`struct totals` in
/// `bpf/sockets.h`).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Acknowledged bytes that arrived as accelerates.
    pub accelerated_bytes: u64,
    /// Acknowledged bytes that arrived as brakes.
    pub braked_bytes: u64,
    /// Acknowledged bytes that arrived with CE (only `abc`).
    pub ce_bytes: u64,
    /// Number of times that C2TCP has reduced the window to one packet.
    pub backoffs: u64,
}

impl Totals {
    /// Reads the counts from a socket's storage; `None` if it is too short.
    pub fn read(storage: &[u8]) -> Option<Totals> {
        let (words, _) = storage.as_chunks::<8>();
        let [accelerated, braked, ce, backoffs] = words.first_chunk()?.map(u64::from_ne_bytes);
        Some(Totals {
            accelerated_bytes: accelerated,
            braked_bytes: braked,
            ce_bytes: ce,
            backoffs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn totals_are_the_first_four_words() {
        let storage: Vec<u8> = (1..=5u64).flat_map(u64::to_ne_bytes).collect();
        let Totals { accelerated_bytes, braked_bytes, ce_bytes, backoffs } =
            Totals::read(&storage).expect("is long enough");
        assert_eq!((accelerated_bytes, braked_bytes, ce_bytes, backoffs), (1, 2, 3, 4));
        assert_eq!(Totals::read(&storage[..31]), None);
    }
}
