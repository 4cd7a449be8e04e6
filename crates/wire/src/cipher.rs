//! The encryption of transport packets, and the window that refuses packets that come twice.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Bytes that encryption adds to a payload.
pub const TAG: usize = 16;
/// How far below the largest number a packet may come.
const WINDOW: u64 = 4096;
const WORDS: usize = (WINDOW / 64) as usize;

/// One direction's cipher. Without a key, payloads are sent in clear, with zeros for a tag.
pub(crate) struct Cipher {
    key: Option<LessSafeKey>,
}

impl Cipher {
    /// The cipher with this key; `plaintext` only for measurements.
    pub(crate) fn new(key: &[u8; 32], plaintext: bool) -> Option<Cipher> {
        if plaintext {
            return Some(Cipher { key: None });
        }
        let key = UnboundKey::new(&CHACHA20_POLY1305, key).ok()?;
        Some(Cipher { key: Some(LessSafeKey::new(key)) })
    }

    fn nonce(number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&number.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    /// Encrypts `payload` in place; what is returned belongs behind it.
    #[inline]
    pub(crate) fn seal(
        &self,
        number: u64,
        covered: &[u8],
        payload: &mut [u8],
    ) -> Option<[u8; TAG]> {
        let Some(key) = &self.key else { return Some([0; TAG]) };
        let nonce = Cipher::nonce(number);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(covered), payload).ok()?;
        tag.as_ref().first_chunk().copied()
    }

    /// Decrypts a payload with its tag in place.
    #[inline]
    pub(crate) fn open<'a>(
        &self,
        number: u64,
        covered: &[u8],
        payload: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        let Some(key) = &self.key else {
            let (payload, tag) = payload.split_last_chunk::<TAG>()?;
            return (*tag == [0; TAG]).then_some(payload);
        };
        let nonce = Cipher::nonce(number);
        key.open_in_place(nonce, Aad::from(covered), payload).ok().map(|payload| &*payload)
    }
}

/// The numbers of the packets that have come (as in RFC 6479).
#[derive(Debug)]
pub(crate) struct ReplayWindow {
    /// One more than the largest number.
    end: u64,
    seen: [u64; WORDS],
}

impl ReplayWindow {
    pub(crate) fn new() -> ReplayWindow {
        ReplayWindow { end: 0, seen: [0; WORDS] }
    }

    fn place(number: u64) -> (usize, u64) {
        ((number / 64) as usize % WORDS, 1 << (number % 64))
    }

    /// One more than the largest number that has come.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// True if a packet of this number may still be taken.
    #[inline]
    pub(crate) fn is_new(&self, number: u64) -> bool {
        // A word that is being filled holds numbers of the whole window but itself.
        if number >= self.end {
            return number < u64::MAX;
        }
        let (word, bit) = ReplayWindow::place(number);
        self.end - number <= WINDOW - 64 && self.seen[word] & bit == 0
    }

    /// Notes a packet that was authenticated.
    #[inline]
    pub(crate) fn insert(&mut self, number: u64) {
        if number >= self.end {
            let (from, to) = (self.end.div_ceil(64), number / 64);
            if to >= from {
                let words = (to - from + 1).min(WORDS as u64);
                (0..words).for_each(|i| self.seen[((to - i) as usize) % WORDS] = 0);
            }
            self.end = number + 1;
        }
        let (word, bit) = ReplayWindow::place(number);
        self.seen[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_window_takes_each_number_once() {
        let mut random = paceline_cc::Stream::new(1, "replay");
        let mut window = ReplayWindow::new();
        let mut taken = BTreeSet::new();
        let mut at: u64 = 0;
        for _ in 0..200_000 {
            at += random.below(3);
            if random.chance(0.001) {
                at += random.below(20_000);
            }
            let number = at.saturating_sub(random.below(6_000));
            if window.is_new(number) {
                window.insert(number);
                assert!(taken.insert(number), "{number} twice");
            } else {
                let old = window.end() - number > WINDOW - 64;
                assert!(old || taken.contains(&number), "{number} refused");
            }
        }
        assert!(!window.is_new(u64::MAX));
    }

    #[test]
    fn changed_payloads_are_refused() {
        let cipher = Cipher::new(&[1; 32], false).expect("a key");
        let mut bytes = *b"payload and room for the tag....";
        let tag = cipher.seal(7, b"header", &mut bytes[..16]).expect("sealed");
        bytes[16..].copy_from_slice(&tag);
        for at in 0..32 {
            let mut wrong = bytes;
            wrong[at] ^= 1;
            assert!(cipher.open(7, b"header", &mut wrong).is_none(), "byte {at}");
        }
        assert!(cipher.open(8, b"header", &mut bytes.clone()).is_none(), "the number");
        assert!(cipher.open(7, b"Header", &mut bytes.clone()).is_none(), "the header");
        assert_eq!(cipher.open(7, b"header", &mut bytes), Some(&b"payload and room"[..]));
        assert!(cipher.open(7, b"header", &mut [0; 3]).is_none());
    }
}
