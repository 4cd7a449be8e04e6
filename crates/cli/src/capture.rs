//! Captures of the packets of Linux hosts and QUIC stacks: the option `--pcap` of commands that simulate.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::Args;
use paceline_emulator::output::HostCapture;
use paceline_sim::{Capture, CapturedFrame, FrameObserver};

use crate::output::Error;
use crate::results;

/// Options of a capture of one run.
#[derive(Args)]
#[command(next_help_heading = "Outputs")]
pub(crate) struct CaptureArgs {
    /// Record every packet that Linux hosts and QUIC stacks send and receive in this file (pcapng), with simulated times
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Record at most this many bytes of each packet
    #[arg(long, value_name = "BYTES", requires = "pcap")]
    snaplen: Option<u32>,
}

impl CaptureArgs {
    /// Returns the file that the option names.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.pcap.as_deref()
    }

    /// Creates the file; `None` without the option.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn open(&self) -> Result<Option<CaptureFile>, Error> {
        let Some(path) = &self.pcap else { return Ok(None) };
        results::check_file_name(path, "--pcap", "packets", &["pcapng"])?;
        CaptureFile::create(path, self.snaplen).map(Some)
    }
}

/// Reason why a run without Linux hosts and QUIC stacks has no capture.
pub(crate) const NO_BYTES: &str = "packets of simulated flows have no bytes: take Linux hosts, such as the \
     scheme linux:cubic, or QUIC stacks, such as quinn:own-cubic, or capture programs behind `paceline link --pcap`";

/// A file with the packets of one run.
pub(crate) struct CaptureFile {
    path: PathBuf,
    writer: Arc<Writer>,
}

struct Writer(Mutex<State>);

struct State {
    file: HostCapture,
    error: Option<io::Error>,
}

impl CaptureFile {
    /// Creates the file, with at most `snaplen` bytes of each packet, or all.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn create(path: &Path, snaplen: Option<u32>) -> Result<CaptureFile, Error> {
        let file = HostCapture::create(path, snaplen)
            .map_err(|source| Error::Io { path: Some(path.into()), source })?;
        let writer = Arc::new(Writer(Mutex::new(State { file, error: None })));
        Ok(CaptureFile { path: path.into(), writer })
    }

    /// Returns the capture for a scenario.
    pub(crate) fn capture(&self) -> Capture {
        let writer: Arc<Writer> = Arc::clone(&self.writer);
        Capture::new(writer)
    }

    /// Writes the rest of the file. Call it after the run, also if that has failed.
    ///
    /// # Errors
    /// A write has failed.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        let mut state = self.writer.state();
        let finished = state.file.finish();
        let failed = state.error.take().map_or(finished, Err);
        failed.map_err(|source| Error::Io { path: Some(self.path.clone()), source })
    }
}

impl Writer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FrameObserver for Writer {
    fn on_frame(&self, frame: CapturedFrame<'_>) {
        let CapturedFrame { host, is_inbound, time, bytes } = frame;
        let mut state = self.state();
        if let Err(error) = state.file.frame(host, is_inbound, time.as_nanos(), bytes) {
            state.error.get_or_insert(error);
        }
    }
}
