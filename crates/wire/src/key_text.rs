//! How keys are printed: a prefix that names the kind, then bytes and a checksum in base 64.

/// Prefix of a printed key that all clients share.
pub(crate) const PREFIX: &str = "pl1-";
/// Prefix of a printed key of one client.
pub(crate) const CLIENT_PREFIX: &str = "pl2-";
/// Alphabet of printed keys: one character for six bits.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Returns the SHA-256 of `bytes`. Its first bytes are the checksum that reveals a mistyped key.
fn digest(bytes: &[u8]) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().first_chunk::<32>().copied().unwrap_or_default()
}

/// Returns `bytes` and the first `check` bytes of their SHA-256 in base 64. Their total length must
/// be a multiple of three bytes.
pub(crate) fn encode(bytes: &[u8], check: usize) -> String {
    let digest = digest(bytes);
    let all = [bytes, digest.get(..check).unwrap_or(&digest)].concat();
    let mut text = String::with_capacity(all.len() * 4 / 3);
    for group in all.chunks(3) {
        let word = group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        for shift in [18, 12, 6, 0] {
            text.push(char::from(ALPHABET[(word >> shift) as usize & 63]));
        }
    }
    text
}

/// Reads what [`encode`] has written; `None` if characters are missing, superfluous or wrong.
pub(crate) fn decode<const N: usize>(text: &str, check: usize) -> Option<[u8; N]> {
    if text.len() != (N + check) / 3 * 4 {
        return None;
    }
    let mut all = Vec::with_capacity(N + check);
    for group in text.as_bytes().chunks(4) {
        let mut word = 0;
        for character in group {
            let value = ALPHABET.iter().position(|known| known == character)?;
            word = word << 6 | value as u32;
        }
        all.extend_from_slice(&word.to_be_bytes()[1..]);
    }
    let (bytes, end) = all.split_first_chunk::<N>()?;
    (digest(bytes).get(..check)? == end).then_some(*bytes)
}
