//! What the laboratory's applications send and read.

use paceline_sim::cc::Time;
use quinn_proto::{ClientConfig, Connection, Dir, StreamId, WriteError};

use super::Application;

/// What is written at a time.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Connects at its start and writes zeros to one stream.
pub(super) struct Source {
    config: Option<ClientConfig>,
    stream: Option<StreamId>,
    left: u64,
    start: Time,
    stop: Time,
}

impl Source {
    /// Writes `bytes` in all, from `start` to `stop`.
    pub(super) fn new(config: ClientConfig, bytes: u64, start: Time, stop: Time) -> Source {
        Source { config: Some(config), stream: None, left: bytes, start, stop }
    }
}

impl Application for Source {
    fn start(&self) -> Time {
        if self.config.is_some() { self.start } else { Time::NEVER }
    }

    fn connect(&mut self) -> Option<ClientConfig> {
        self.config.take()
    }

    fn drive(&mut self, now: Time, connection: &mut Connection) {
        if now >= self.stop {
            self.left = 0;
        }
        if connection.is_handshaking() {
            return;
        }
        if self.stream.is_none() && self.left > 0 {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return };
        while self.left > 0 {
            let most = self.left.min(ZEROS.len() as u64) as usize;
            match connection.send_stream(id).write(&ZEROS[..most]) {
                Ok(written) => self.left -= written as u64,
                Err(WriteError::Blocked) => return,
                Err(_) => self.left = 0,
            }
        }
        // A stream that the other end has stopped cannot be finished either.
        let _ = connection.send_stream(id).finish();
        self.stream = None;
    }
}

/// Reads all that comes.
#[derive(Default)]
pub(super) struct Sink {
    streams: Vec<StreamId>,
    received: u64,
}

impl Application for Sink {
    fn drive(&mut self, _now: Time, connection: &mut Connection) {
        while let Some(id) = connection.streams().accept(Dir::Uni) {
            self.streams.push(id);
        }
        let received = &mut self.received;
        self.streams.retain(|&id| {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return false };
            let open = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => *received += chunk.bytes.len() as u64,
                    Ok(None) => break false,
                    Err(quinn_proto::ReadError::Blocked) => break true,
                    Err(_) => break false,
                }
            };
            // What it asks to be sent leaves with the next packets anyway.
            let _ = chunks.finalize();
            open
        });
    }

    fn received(&self) -> u64 {
        self.received
    }
}
