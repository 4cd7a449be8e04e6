//! The encryption of transport packets, and the window that refuses repeated packets.

use ring::aead::{AES_128_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Bytes that encryption adds to a payload.
pub const TAG: usize = 16;
/// Number of bits in the window. Packets more than `WINDOW - 64` numbers behind the end are
/// refused.
const WINDOW: u64 = 4096;
const WORDS: usize = (WINDOW / 64) as usize;

/// Number of bytes at the beginning of an unencrypted payload that its tag covers: all fields of a
/// data frame before its data, and all of a short frame.
const COVERED: usize = 64;
/// Number of bytes of a transport packet before the congestion header.
const SHORT: usize = crate::packet::SHORT;

/// One direction's cipher.
pub(crate) enum Cipher {
    /// Payloads are encrypted and authenticated by ChaCha20-Poly1305.
    Encrypted(LessSafeKey),
    /// Payloads are not encrypted. A tag of AES-128-GCM covers the packet's number, its length and
    /// its first bytes. So only a host that sees packets can make altered copies of them
    /// (docs/wire.md).
    Clear(LessSafeKey),
}

impl Cipher {
    /// Returns the cipher with this key; `None` if the key cannot be used. `plaintext` is for
    /// measurements only.
    pub(crate) fn new(key: &[u8; 32], plaintext: bool) -> Option<Cipher> {
        let made = |algorithm, key| UnboundKey::new(algorithm, key).ok().map(LessSafeKey::new);
        match plaintext {
            true => made(&AES_128_GCM, &key[..16]).map(Cipher::Clear),
            false => made(&CHACHA20_POLY1305, key).map(Cipher::Encrypted),
        }
    }

    /// Returns the nonce of packet `number`. `length` is zero, or the bytes of an unencrypted
    /// payload.
    fn nonce(length: usize, number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce[..4].copy_from_slice(&(length as u32).to_be_bytes());
        nonce[4..].copy_from_slice(&number.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    /// Returns the bytes that the tag of an unencrypted payload covers, besides number and length.
    #[inline]
    fn first_bytes(covered: &[u8], payload: &[u8]) -> [u8; SHORT + COVERED] {
        let mut first = [0; SHORT + COVERED];
        let (head, rest) = first.split_at_mut(SHORT);
        head.iter_mut().zip(covered).for_each(|(place, byte)| *place = *byte);
        let length = payload.len().min(COVERED);
        if let (Some(place), Some(payload)) = (rest.get_mut(..length), payload.get(..length)) {
            place.copy_from_slice(payload);
        }
        first
    }

    /// Encrypts `payload` in place, unless payloads are not encrypted. Returns the tag, which
    /// follows the payload.
    #[inline]
    pub(crate) fn seal(
        &self,
        number: u64,
        covered: &[u8],
        payload: &mut [u8],
    ) -> Option<[u8; TAG]> {
        let tag = match self {
            Cipher::Encrypted(key) => {
                let nonce = Cipher::nonce(0, number);
                key.seal_in_place_separate_tag(nonce, Aad::from(covered), payload)
            }
            Cipher::Clear(key) => {
                let nonce = Cipher::nonce(payload.len(), number);
                let first = Cipher::first_bytes(covered, payload);
                key.seal_in_place_separate_tag(nonce, Aad::from(first), &mut [])
            }
        };
        let tag = tag.ok()?;
        tag.as_ref().first_chunk().copied()
    }

    /// Checks the tag of a payload and decrypts the payload in place. Returns `None` if it is not
    /// authentic.
    #[inline]
    pub(crate) fn open<'a>(
        &self,
        number: u64,
        covered: &[u8],
        payload: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        match self {
            Cipher::Encrypted(key) => {
                let nonce = Cipher::nonce(0, number);
                key.open_in_place(nonce, Aad::from(covered), payload).ok().map(|payload| &*payload)
            }
            Cipher::Clear(key) => {
                let (payload, tag) = payload.split_last_chunk::<TAG>()?;
                let (mut tag, nonce) = (*tag, Cipher::nonce(payload.len(), number));
                let first = Cipher::first_bytes(covered, payload);
                key.open_in_place(nonce, Aad::from(first), &mut tag).ok().map(|_| payload)
            }
        }
    }
}

/// The numbers of packets that have arrived (as in RFC 6479).
#[derive(Debug)]
pub(crate) struct ReplayWindow {
    /// One more than the largest number that has arrived.
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

    /// Returns one more than the largest number that has arrived.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns true if a packet of this number has not arrived and is not too old.
    #[inline]
    pub(crate) fn is_new(&self, number: u64) -> bool {
        // The word being filled no longer has bits for the oldest 64 numbers: these are refused
        // below.
        if number >= self.end {
            return number < u64::MAX;
        }
        let (word, bit) = ReplayWindow::place(number);
        self.end - number <= WINDOW - 64 && self.seen[word] & bit == 0
    }

    /// Notes an authentic packet.
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

    #[test]
    fn payloads_in_clear_have_a_tag() {
        let (cipher, head) = (Cipher::new(&[1; 32], true).expect("a key"), b"A header of 13");
        for length in [0, 5, 64, 65, 1400] {
            let mut bytes = vec![7; length + TAG];
            let tag = cipher.seal(9, head, &mut bytes[..length]).expect("sealed");
            assert!(bytes[..length].iter().all(|&byte| byte == 7), "in clear");
            let mut zeros = bytes.clone();
            zeros[length..].fill(0);
            assert!(cipher.open(9, head, &mut zeros).is_none(), "as in version 2");
            bytes[length..].copy_from_slice(&tag);
            assert_eq!(cipher.open(9, head, &mut bytes.clone()), Some(&vec![7; length][..]));
            for at in (0..length.min(COVERED)).chain(length..length + TAG) {
                let mut wrong = bytes.clone();
                wrong[at] ^= 1;
                assert!(cipher.open(9, head, &mut wrong).is_none(), "{length}: byte {at}");
            }
            assert!(cipher.open(8, head, &mut bytes.clone()).is_none(), "the number");
            assert!(cipher.open(9, b"B header of 13", &mut bytes.clone()).is_none(), "the header");
            let cut = bytes.len() - 1;
            assert!(cipher.open(9, head, &mut bytes[..cut]).is_none(), "cut short");
        }
    }
}
