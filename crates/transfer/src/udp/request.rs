//! Requests for a transfer or a measurement over UDP: arguments, their defaults, errors.

use std::net::SocketAddr;

use paceline_cc::{ArgumentError, Halves, Rate, Span};
use paceline_flow::Workload;
use paceline_wire::key::Key;
use paceline_wire::{Limits, Offer, Service};

use super::client::ClientOptions;
use super::outbound::Source;

/// A transfer or a measurement over UDP.
#[derive(Clone, Debug)]
pub struct TransferRequest {
    /// The scheme that decides how fast the sending end sends, as the user writes it.
    pub scheme: String,
    /// Its halves, for the end that sends.
    pub halves: Halves,
    /// Its text for the other end, which reads no files.
    pub offered: String,
    /// What is carried, and which end sends.
    pub work: Work,
    /// Maximum rate of data, with IP and UDP headers; `None` leaves it to the scheme.
    pub limit: Option<Rate>,
    /// Maximum packet size in bytes, with IP and UDP headers.
    pub mtu: u16,
    /// Whether packets are not encrypted.
    pub plaintext: bool,
    /// Longest time without packets from the other end; `None` for [`TransferRequest::IDLE`], and
    /// [`TransferRequest::HANDSHAKE`] while connecting.
    pub timeout: Option<Span>,
    /// Longest time without progress during which a transfer continues over new connections; zero
    /// never reconnects.
    pub retry: Span,
    /// Seed of the scheme's random numbers.
    pub seed: u64,
}

/// What a connection carries, and which end sends.
#[derive(Clone, Debug)]
pub enum Work {
    /// This end sends files or standard input.
    Send(Source),
    /// This end fetches files.
    Fetch,
    /// One end sends meaningless data to measure.
    Measure {
        /// How long it sends.
        time: Span,
        /// What its application sends.
        workload: Workload,
        /// Whether the other end sends.
        reverse: bool,
    },
}

/// The other end.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its addresses, tried in this order.
    pub to: Vec<SocketAddr>,
    /// Its name, looked up again before each reconnection; `None` keeps the addresses.
    pub name: Option<String>,
    /// Its key.
    pub key: Key,
}

impl TransferRequest {
    /// Scheme by default.
    pub const SCHEME: &str = "copa";
    /// Maximum packet size by default, in bytes.
    pub const MTU: u16 = 1500;
    /// Longest silence of the other end by default.
    pub const IDLE: Span = Span::from_secs(60);
    /// Longest time until the first answer by default.
    pub const HANDSHAKE: Span = Span::from_secs(20);
    /// Longest time without progress by default.
    pub const RETRY: Span = Span::from_secs(600);

    /// Returns a request with all defaults. `halves` and `offered` belong to the scheme.
    pub fn new(scheme: &str, (halves, offered): (Halves, String), work: Work) -> TransferRequest {
        TransferRequest {
            scheme: scheme.into(),
            halves,
            offered,
            work,
            limit: None,
            mtu: TransferRequest::MTU,
            plaintext: false,
            timeout: None,
            retry: TransferRequest::RETRY,
            seed: 1,
        }
    }

    /// Returns true if the other end sends.
    pub fn is_reverse(&self) -> bool {
        matches!(self.work, Work::Fetch | Work::Measure { reverse: true, .. })
    }

    /// Checks that the arguments go with each other.
    ///
    /// # Errors
    /// The other end is to send under a scheme with a file, or a workload other than bulk data.
    pub fn check(&self) -> Result<(), ArgumentError> {
        if self.is_reverse() && self.scheme.contains("file=") {
            let problem =
                format!("{}: the other end sends, and it reads no files for others", self.scheme);
            return Err(ArgumentError::new("scheme", problem));
        }
        match &self.work {
            Work::Measure { reverse: true, workload, .. } if *workload != Workload::Bulk => {
                let problem = "the receiver sends bulk data; leave --workload or --reverse out";
                Err(ArgumentError::new("reverse", problem))
            }
            _ => Ok(()),
        }
    }

    /// Returns a client's options within these limits, whose schemes the other end may name.
    ///
    /// # Errors
    /// See [`TransferRequest::check`].
    pub fn options(&self, limits: Limits, peer: Peer) -> Result<ClientOptions, ArgumentError> {
        self.check()?;
        let mut limits = Limits {
            idle: self.timeout.unwrap_or(TransferRequest::IDLE),
            silence: self.timeout.unwrap_or(TransferRequest::HANDSHAKE),
            seed: self.seed,
            ..limits
        };
        let (service, source) = match &self.work {
            Work::Send(source) => (Service::Stream, source.clone()),
            Work::Fetch => {
                // Bytes of the stream fill the window until they are written.
                limits.reads_later = true;
                (Service::Stream, Source::Packets)
            }
            Work::Measure { time, workload, .. } => {
                limits.stop = *time;
                limits.workload = workload.clone();
                (Service::Filler, Source::Packets)
            }
        };
        if !matches!(self.work, Work::Fetch) {
            limits.halves = Some(self.halves.clone());
        }
        let (scheme, back) = match self.is_reverse() {
            true => (String::new(), self.offered.clone()),
            false => (self.offered.clone(), String::new()),
        };
        let offer = Offer {
            plaintext: self.plaintext,
            service,
            scheme,
            back,
            mtu: self.mtu,
            window: limits.window,
            ..Offer::default()
        };
        Ok(ClientOptions {
            retry: self.retry,
            limit: self.limit,
            name: peer.name,
            ..ClientOptions::new(peer.to, peer.key, offer, limits, source)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use paceline_cc::{Controller, Feedback, Plan};
    use paceline_wire::key::Identity;

    use super::*;

    struct Still;

    impl Controller for Still {
        fn on_feedback(&mut self, _: &Feedback<'_>) {}

        fn plan(&self) -> Plan {
            Plan::window(1500)
        }
    }

    fn request(scheme: &str, work: Work) -> TransferRequest {
        TransferRequest::new(scheme, (Halves::sender(|_| Still), scheme.to_string()), work)
    }

    fn options(request: &TransferRequest) -> Result<ClientOptions, ArgumentError> {
        let identity = Identity::generate().expect("a key");
        let peer = Peer { to: Vec::new(), name: None, key: identity.key().clone() };
        request.options(Limits::default(), peer)
    }

    #[test]
    fn the_end_that_sends_has_the_scheme() {
        let file = Work::Send(Source::Files(vec![PathBuf::from("file")]));
        let sent = options(&request("copa", file)).expect("options");
        assert_eq!((sent.offer.scheme.as_str(), sent.offer.back.as_str()), ("copa", ""));
        assert!(sent.limits.halves.is_some() && !sent.limits.reads_later);
        let fetched = options(&request("copa", Work::Fetch)).expect("options");
        assert_eq!((fetched.offer.scheme.as_str(), fetched.offer.back.as_str()), ("", "copa"));
        assert!(fetched.limits.halves.is_none() && fetched.limits.reads_later);
    }

    #[test]
    fn a_silent_end_is_given_up_sooner_while_connecting() {
        let mut request = request("copa", Work::Fetch);
        let of = |request: &TransferRequest| {
            let options = options(request).expect("options");
            (options.limits.idle, options.limits.silence)
        };
        assert_eq!(of(&request), (TransferRequest::IDLE, TransferRequest::HANDSHAKE));
        request.timeout = Some(Span::from_secs(3));
        assert_eq!(of(&request), (Span::from_secs(3), Span::from_secs(3)));
    }

    #[test]
    fn the_other_end_reads_no_files_and_sends_bulk_data() {
        let measure =
            |workload| Work::Measure { time: Span::from_secs(1), workload, reverse: true };
        let error = options(&request("remy[file=a.dna]", measure(Workload::Bulk)));
        assert_eq!(error.expect_err("a file").argument, "scheme");
        let error = options(&request("copa", measure(Workload::Bytes(1000))));
        assert_eq!(error.expect_err("a workload").argument, "reverse");
        assert!(options(&request("copa", measure(Workload::Bulk))).is_ok());
    }
}
