//! TLS of the simulated ends: a public certificate and key, and clients that accept any
//! certificate. For simulations only.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme, version};

/// Self-signed certificate with an Ed25519 key, whose signatures have a constant size, so that the
/// handshakes of all runs have equal sizes.
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/certificate.der");
const KEY: &[u8] = include_bytes!("../fixtures/key.der");

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Returns a server's configuration with this certificate.
///
/// # Errors
/// None, unless a change of rustls adds one.
pub fn server() -> Result<rustls::ServerConfig, Error> {
    let certificate = CertificateDer::from(CERTIFICATE);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
}

/// Returns the configuration of a client that accepts any certificate.
///
/// # Errors
/// As for [`server`].
pub fn client() -> Result<rustls::ClientConfig, Error> {
    let provider = provider();
    let algorithms = provider.signature_verification_algorithms;
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificateVerifier(algorithms)))
        .with_no_client_auth())
}

/// Accepts any certificate, because dates mean nothing in virtual time; checks signatures.
#[derive(Debug)]
struct AnyCertificateVerifier(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificateVerifier {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
