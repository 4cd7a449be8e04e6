//! `paceline recv --from`: options for a connection that fetches files from their sender.

use std::net::SocketAddr;
use std::sync::mpsc;

use clap::Args;
use paceline_cc::{Rate, Span};
use paceline_transfer::udp::{ClientOptions, Source};
use paceline_wire::key::Key;
use paceline_wire::{Limits, Offer, Service};

use super::transfer_end::{HANDSHAKE, patience};
use crate::args;
use crate::output::Error;
use crate::registries;

/// Options for fetching files.
#[derive(Args)]
pub(super) struct FetchOptions {
    /// With --from: the scheme that decides how fast the sender sends
    #[arg(long, value_name = "NAME", default_value = "copa", requires = "from")]
    scheme: String,
    /// With --from: the sender sends at no more than this rate, headers included, whatever the scheme
    #[arg(long, value_name = "RATE", value_parser = args::rate, requires = "from")]
    limit: Option<Rate>,
    /// With --from: if the connection breaks off, connect again and continue, until nothing has
    /// arrived for this time; 0 for never
    #[arg(long, value_name = "TIME", value_parser = patience, default_value = "600s", requires = "from")]
    retry: Span,
    /// With --from: the largest packet in bytes, IP and UDP headers included; on a path that does
    /// not carry it, smaller ones are used
    #[arg(long, value_name = "BYTES", default_value_t = 1500, requires = "from",
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
        let (_, back) = args::sender(&self.scheme)
            .map_err(|error| Error::Usage(format!("--scheme {}: {error}", self.scheme)))?;
        if self.scheme.contains("file=") {
            return Err(Error::Usage(format!(
                "--scheme {}: the other end sends, and it reads no files for others",
                self.scheme
            )));
        }
        // Bytes of the stream fill the window until they are written.
        let limits = Limits { idle, silence: HANDSHAKE, reads_later: true, ..registries::limits() };
        let offer = Offer {
            plaintext,
            service: Service::Stream,
            scheme: String::new(),
            back,
            mtu: self.mtu,
            window: limits.window,
            ..Offer::default()
        };
        Ok(ClientOptions {
            to,
            key,
            offer,
            limits,
            source: Source::Packets,
            qlog: None,
            series: false,
            waits_for_server: false,
            abandons: false,
            limit: self.limit,
            progress: None,
            retry: self.retry,
            name: Some(name.to_string()),
            events,
            listen: None,
            gate: None,
        })
    }
}
