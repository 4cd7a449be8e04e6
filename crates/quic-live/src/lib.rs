//! Shared by the examples that run quinn in real time, over `tokio` and the system's sockets,
//! through `paceline link`: congestion control by name, endpoints, and qlog.
//!
//! The certificates are public, so this is only for experiments on one machine.

use std::error::Error;
use std::fs::File;
use std::net::SocketAddr;
use std::sync::Arc;

use paceline_quic_sim::tls;
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig, VarInt};

/// Reason why an example cannot continue.
pub type Problem = Box<dyn Error + Send + Sync>;

/// Receive window larger than any emulated path, as in `paceline-quic-sim`.
const WINDOW: u32 = 256 << 20;

/// Most bytes written and not yet acknowledged: more than the emulated paths hold, but not much
/// more, because programs treat written data as sent.
const SEND_WINDOW: u64 = 4 << 20;

/// Returns the congestion control called `name`: `own-cubic`, `own-newreno` and `own-bbr` are
/// quinn's, all others are schemes of Paceline.
///
/// # Errors
/// There is none of this name, or it needs signals that quinn does not have.
pub fn congestion(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Problem> {
    Ok(match name {
        "own-cubic" => Arc::new(CubicConfig::default()),
        "own-newreno" => Arc::new(NewRenoConfig::default()),
        "own-bbr" => Arc::new(BbrConfig::default()),
        _ => Arc::new(paceline_quinn::Scheme::parse(name)?),
    })
}

/// Returns quinn's defaults with windows that do not limit sending, and the congestion control
/// called `name`.
fn transport(name: &str) -> Result<TransportConfig, Problem> {
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_WINDOW)
        .max_concurrent_uni_streams(VarInt::from_u32(1 << 16));
    config.congestion_controller_factory(congestion(name)?);
    Ok(config)
}

/// Returns a server at `listen`, which receives.
///
/// # Errors
/// The address is taken. TLS errors come only from a change here.
pub fn receiver(listen: SocketAddr) -> Result<Endpoint, Problem> {
    let crypto = QuicServerConfig::try_from(tls::server()?)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport("own-cubic")?));
    Ok(Endpoint::server(config, listen)?)
}

/// Returns a client that sends with the congestion control called `name`, and writes quinn's qlog
/// to `qlog`.
///
/// # Errors
/// There is no such congestion control, no socket, or this build has no qlog.
pub fn sender(name: &str, qlog: Option<&str>) -> Result<Endpoint, Problem> {
    let mut transport = transport(name)?;
    if let Some(path) = qlog {
        write_qlog(&mut transport, File::create(path)?)?;
    }
    let crypto = QuicClientConfig::try_from(tls::client()?)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0)))?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// Host name in the certificate.
pub const NAME: &str = "paceline.test";

#[cfg(feature = "qlog")]
fn write_qlog(transport: &mut TransportConfig, file: File) -> Result<(), Problem> {
    let mut qlog = quinn_proto::QlogConfig::default();
    qlog.writer(Box::new(file)).title(Some("paceline".into()));
    transport.qlog_stream(qlog.into_stream());
    Ok(())
}

#[cfg(not(feature = "qlog"))]
fn write_qlog(_transport: &mut TransportConfig, _file: File) -> Result<(), Problem> {
    Err("this build has no qlog; build with --features qlog".into())
}

/// Takes an argument `name=value` out of `arguments`.
pub fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let start = format!("{name}=");
    let at = arguments.iter().position(|argument| argument.starts_with(&start))?;
    Some(arguments.remove(at)[start.len()..].to_string())
}

/// Returns the address to send to: `host`, or for `base` the outside of `paceline link`.
///
/// # Errors
/// `host` is not an address, or there is no emulator.
pub fn address(host: &str) -> Result<SocketAddr, Problem> {
    let host = match host {
        "base" => std::env::var("PACELINE_BASE")
            .map_err(|_| "PACELINE_BASE is not set; run this inside of `paceline link`")?,
        other => other.to_string(),
    };
    let ip = host.parse().map_err(|_| format!("'{host}' is no IP address"))?;
    Ok(SocketAddr::new(ip, 4433))
}
