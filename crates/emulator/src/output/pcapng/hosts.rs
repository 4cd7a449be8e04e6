//! Captures the frames of hosts as a pcapng file, as `tcpdump` on each of them would.

use std::io;
use std::path::Path;

use super::blocks::{self, INBOUND, LINKTYPE_ETHERNET, OUTBOUND, PacketBlock, WHOLE};
use crate::output::sink::Sink;

/// A file with an interface for each host.
#[derive(Debug)]
pub struct HostCapture {
    sink: Sink,
    snaplen: u32,
    /// Names of the hosts that have sent or received a frame.
    hosts: Vec<String>,
}

impl HostCapture {
    /// Creates the file `path`, for at most `snaplen` bytes of each frame, or all.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path, snaplen: Option<u32>) -> io::Result<HostCapture> {
        let mut sink = Sink::create(path)?;
        blocks::section(sink.record());
        Ok(HostCapture { sink, snaplen: snaplen.unwrap_or(WHOLE).min(WHOLE), hosts: Vec::new() })
    }

    /// Appends a frame that `host` has received (`is_inbound`) or sent, `nanos` nanoseconds after
    /// 1970.
    ///
    /// # Errors
    /// A write has failed; the error is returned once.
    pub fn frame(
        &mut self,
        host: &str,
        is_inbound: bool,
        nanos: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        let interface = self.hosts.iter().position(|known| known == host).unwrap_or_else(|| {
            let text = format!("network device of {host}");
            blocks::interface(self.sink.record(), LINKTYPE_ETHERNET, self.snaplen, host, &text);
            self.hosts.push(host.to_string());
            self.hosts.len() - 1
        });
        let most = bytes.len().min(self.snaplen as usize);
        let packet = PacketBlock {
            interface: interface as u32,
            time: nanos,
            header: &[],
            captured: bytes.get(..most).unwrap_or_default(),
            original: bytes.len() as u32,
            comment: "",
            flags: if is_inbound { INBOUND } else { OUTBOUND },
        };
        packet.write(self.sink.record());
        self.sink.end_record()
    }

    /// Writes the rest and waits until it is written.
    ///
    /// # Errors
    /// A write has failed, and its error was not returned before.
    pub fn finish(&mut self) -> io::Result<()> {
        self.sink.finish()
    }
}
