//! Messages of a loop that carries packets. A thread beside the loop writes them, so that a terminal or a pipe that nobody
//! reads holds up no packet.

use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use crate::output::{self, Error};
use crate::table::counted;

/// The most messages that wait to be written. Further ones are left out and counted.
const MOST_WAITING: usize = 1000;
/// How long [`Messages::flush`] waits for what is not written yet.
const LAST_WRITES: Duration = Duration::from_secs(1);

enum Message {
    /// A line for standard error.
    Note(String),
    /// A text for standard output.
    Print(String),
    /// Asks the writer to say that all messages before have been written.
    Flush(SyncSender<()>),
}

/// The way to the thread that writes messages.
#[derive(Default)]
pub(crate) struct Messages {
    writer: Option<Writer>,
    /// Messages that were left out since the last one that found room.
    left_out: u64,
}

struct Writer {
    queue: SyncSender<Message>,
    /// Why standard output could not be written.
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
    /// Says something on standard error, without waiting until it is written.
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

    /// Prints text to standard output, without waiting until it is written; [`Messages::end`] says if it cannot be.
    pub(crate) fn print(&mut self, text: String) {
        self.push(Message::Print(text));
    }

    /// False if there is no room.
    fn push(&mut self, message: Message) -> bool {
        // Not before there is something to say: by then the loop watches for signals, and they are blocked in its new threads.
        let writer = self.writer.get_or_insert_with(Writer::start);
        !matches!(writer.queue.try_send(message), Err(TrySendError::Full(_)))
    }

    /// Waits for what is not written yet, 1 s at most.
    pub(crate) fn flush(&mut self) {
        if self.writer.is_none() {
            return;
        }
        let (done, is_done) = mpsc::sync_channel(1);
        if self.push(Message::Flush(done)) {
            let _ = is_done.recv_timeout(LAST_WRITES);
        }
    }

    /// Waits for what is not written yet, 1 s at most.
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
