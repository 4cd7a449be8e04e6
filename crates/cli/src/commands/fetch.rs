//! `paceline recv --from`: options for a connection that fetches files from their sender.

use std::net::SocketAddr;
use std::sync::mpsc;

use clap::Args;
use paceline_cc::{Rate, Span};
use paceline_transfer::udp::{ClientOptions, Peer, TransferRequest, Work};
use paceline_wire::key::Key;

use super::transfer_end::patience;
use crate::args;
use crate::output::Error;
use crate::registries;

/// Options for fetching files.
#[derive(Args)]
#[command(next_help_heading = "With --from")]
pub(super) struct FetchOptions {
    /// With --from: the scheme that decides how fast the sender sends
    #[arg(long, value_name = "NAME", default_value = TransferRequest::SCHEME, requires = "from")]
    scheme: String,
    /// With --from: the sender sends at no more than this rate, headers included, whatever the scheme
    #[arg(long, value_name = "RATE", value_parser = args::rate, requires = "from")]
    limit: Option<Rate>,
    /// With --from: if the connection breaks off, connect again and continue, until nothing has
    /// arrived for this time; 0 for never
    #[arg(long, value_name = "TIME", value_parser = patience, default_value_t = TransferRequest::RETRY, requires = "from")]
    retry: Span,
    /// With --from: the largest packet in bytes, IP and UDP headers included; on a path that does
    /// not carry it, smaller ones are used
    #[arg(long, value_name = "BYTES", default_value_t = TransferRequest::MTU, requires = "from",
        value_parser = clap::value_parser!(u16).range(1280..))]
    mtu: u16,
}

impl FetchOptions {
    /// Returns options for a connection to the sender of this name, at these addresses and with
    /// this key.
    pub(super) fn options(
        &self,
        name: &str,
        (to, key): (Vec<SocketAddr>, Key),
        (idle, plaintext): (Span, bool),
        events: Option<mpsc::Sender<String>>,
    ) -> Result<ClientOptions, Error> {
        let sender = args::sender(&self.scheme)
            .map_err(|error| Error::Usage(format!("--scheme {}: {error}", self.scheme)))?;
        let request = TransferRequest {
            limit: self.limit,
            mtu: self.mtu,
            plaintext,
            retry: self.retry,
            ..TransferRequest::new(&self.scheme, sender, Work::Fetch)
        };
        let peer = Peer { to, name: Some(name.to_string()), key };
        let mut options = request.options(registries::limits(), peer)?;
        options.limits.idle = idle;
        options.events = events;
        Ok(options)
    }
}
