//! Messages of a loop that carries packets. A separate thread writes them, so that a terminal or
//! pipe that is not read does not delay packets.

use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use crate::output::{self, Error};
use crate::table::counted;

/// Most messages that wait to be written. Further ones are dropped and counted.
const MOST_WAITING: usize = 1000;
/// Longest time that [`Messages::flush`] waits until all messages are written.
const LAST_WRITES: Duration = Duration::from_secs(1);

enum Message {
    /// A line for standard error.
    Note(String),
    /// A text for standard output.
    Print(String),
    /// Asks the writer to report that it has written all earlier messages.
    Flush(SyncSender<()>),
}

/// Sends messages to the thread that writes them.
#[derive(Default)]
pub(crate) struct Messages {
    writer: Option<Writer>,
    /// Messages dropped since the last one that found room in the queue.
    left_out: u64,
}

struct Writer {
    queue: SyncSender<Message>,
    /// Errors of writing to standard output.
    failures: Receiver<Error>,
}

impl Writer {
    fn start() -> Writer {
        let (queue, messages) = mpsc::sync_channel(MOST_WAITING);
        let (failed, failures) = mpsc::channel();
        thread::spawn(move || {
            for message in messages {
                match message {
                    Message::Note(text) => output::note(&text),
                    Message::Print(text) => {
                        if let Err(error) = output::print(&text) {
                            let _ = failed.send(error);
                        }
                    }
                    Message::Flush(done) => drop(done.try_send(())),
                }
            }
        });
        Writer { queue, failures }
    }
}

impl Messages {
    /// Writes a message to standard error, without waiting until it is written.
    pub(crate) fn note(&mut self, text: String) {
        if self.left_out > 0 {
            let count = counted(self.left_out as usize, "message");
            let text = format!("warning: {count} left out: standard error was not read");
            if !self.push(Message::Note(text)) {
                self.left_out += 1;
                return;
            }
            self.left_out = 0;
        }
        if !self.push(Message::Note(text)) {
            self.left_out += 1;
        }
    }

    /// Prints text to standard output, without waiting until it is written; [`Messages::end`]
    /// returns the error if that fails.
    pub(crate) fn print(&mut self, text: String) {
        self.push(Message::Print(text));
    }

    /// Queues a message. Returns false if there is no room.
    fn push(&mut self, message: Message) -> bool {
        // Starts the thread only with the first message: by then the loop watches for signals, and
        // its new threads have them blocked.
        let writer = self.writer.get_or_insert_with(Writer::start);
        !matches!(writer.queue.try_send(message), Err(TrySendError::Full(_)))
    }

    /// Waits until all messages are written, at most 1 s.
    pub(crate) fn flush(&mut self) {
        if self.writer.is_none() {
            return;
        }
        let (done, is_done) = mpsc::sync_channel(1);
        if self.push(Message::Flush(done)) {
            let _ = is_done.recv_timeout(LAST_WRITES);
        }
    }

    /// Waits until all messages are written, at most 1 s.
    ///
    /// # Errors
    /// Standard output could not be written.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        self.flush();
        match self.writer.and_then(|writer| writer.failures.try_recv().ok()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
