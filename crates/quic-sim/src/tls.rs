//! TLS of the laboratory: a certificate that is worth nothing, and clients that take any. Never for
//! anything but experiments.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme, version};

/// A self-signed certificate with an Ed25519 key: its signatures are always of the same size, so
/// that handshakes of all runs are.
const CERTIFICATE: &[u8] = include_bytes!("../fixtures/certificate.der");
const KEY: &[u8] = include_bytes!("../fixtures/key.der");

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A server that shows the laboratory's certificate.
///
/// # Errors
/// None that a change of rustls' has not brought.
pub fn server() -> Result<rustls::ServerConfig, Error> {
    let certificate = CertificateDer::from(CERTIFICATE);
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
}

/// A client that takes any certificate.
///
/// # Errors
/// As of [`server`].
pub fn client() -> Result<rustls::ClientConfig, Error> {
    let provider = provider();
    let algorithms = provider.signature_verification_algorithms;
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificateVerifier(algorithms)))
        .with_no_client_auth())
}

/// Takes any certificate, whose dates mean nothing in virtual time; signatures are checked.
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
