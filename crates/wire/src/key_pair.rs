//! Pairs of keys of the handshake: X25519.

use snow::Builder;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver as _, DefaultResolver};

/// Noise pattern and functions.
pub(crate) const PATTERN: &str = "Noise_IKpsk0_25519_ChaChaPoly_SHA256";

/// Returns a new private and public key.
pub(crate) fn generate() -> Option<([u8; 32], [u8; 32])> {
    let pair = Builder::new(PATTERN.parse().ok()?).generate_keypair().ok()?;
    Some((*pair.private.first_chunk()?, *pair.public.first_chunk()?))
}

/// Returns the public half of a private key.
pub(crate) fn public_of(private: &[u8; 32]) -> Option<[u8; 32]> {
    let mut dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519)?;
    dh.set(private);
    dh.pubkey().first_chunk().copied()
}
