//! The bottom lines of a terminal, which a thread of their own writes: a terminal that was stopped must not stop
//! packets.

use std::io::{self, Write as _};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The most frames that wait; further ones are not shown.
const WAITING: usize = 4;
/// With fewer rows than these besides the meter's, the program keeps all rows.
const LEAST_ROWS: usize = 4;

/// Standard error as a terminal.
#[derive(Debug, Default)]
pub(super) struct Screen {
    writer: Option<(SyncSender<String>, JoinHandle<()>)>,
    /// Number of reserved lines, and rows of the terminal then.
    taken: Option<(usize, u16)>,
}

impl Screen {
    /// Shows a text, unless the terminal is busy.
    pub(super) fn write(&mut self, text: String) -> io::Result<()> {
        let sender = match &self.writer {
            Some((sender, _)) => sender,
            None => {
                let (sender, texts) = sync_channel::<String>(WAITING);
                let thread = std::thread::Builder::new().name("meter".into()).spawn(move || {
                    for text in texts {
                        let mut out = io::stderr().lock();
                        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                            return;
                        }
                    }
                })?;
                &self.writer.insert((sender, thread)).0
            }
        };
        match sender.try_send(text) {
            Ok(()) | Err(TrySendError::Full(_)) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Draws the lines at the bottom.
    pub(super) fn draw(&mut self, lines: &[String], rows: u16) -> io::Result<()> {
        self.text_of(lines, rows).map_or(Ok(()), |text| self.write(text))
    }

    /// Returns the text that draws the lines, and notes how many are reserved; `None` if the terminal has too few rows.
    /// Lines that were reserved once stay so, so that the program's text does not jump.
    fn text_of(&mut self, lines: &[String], rows: u16) -> Option<String> {
        let count = self.taken.map_or(0, |(count, _)| count).max(lines.len());
        if usize::from(rows) < count + LEAST_ROWS {
            return None;
        }
        let mut text = String::new();
        let taken = Some((count, rows));
        if self.taken != taken {
            // For more lines, gives the old ones back and moves the text up as at first.
            let before = self.taken.filter(|(old, _)| *old == count);
            if let (None, Some((old, rows))) = (before, self.taken) {
                text += &give_back(old, rows);
            }
            text += &take(count, rows, before);
            self.taken = taken;
        }
        let mut padded = lines.to_vec();
        padded.resize(count, String::new());
        Some(text + &frame(&padded, rows))
    }

    /// Gives the lines back, and waits a moment until everything is shown.
    pub(super) fn leave(&mut self) -> io::Result<()> {
        if let Some((count, rows)) = self.taken.take() {
            self.write(give_back(count, rows))?;
        }
        if let Some((sender, thread)) = self.writer.take() {
            drop(sender);
            for _ in 0..50 {
                if thread.is_finished() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        Ok(())
    }
}

/// Reserves the last `count` of `rows` lines: they no longer scroll. Their text moves up first.
fn take(count: usize, rows: u16, before: Option<(usize, u16)>) -> String {
    let end = usize::from(rows) - count;
    // After a change of size, the old lines have moved with the text.
    let room = if before.is_some() { String::new() } else { "\n".repeat(count) };
    let up = if before.is_some() { String::new() } else { format!("\x1b[{count}A") };
    format!("{room}\x1b7\x1b[1;{end}r\x1b8{up}")
}

/// Returns the text that draws the lines and puts the cursor back.
fn frame(lines: &[String], rows: u16) -> String {
    let first = usize::from(rows) - lines.len() + 1;
    let mut text = String::from("\x1b7");
    for (at, line) in lines.iter().enumerate() {
        text += &format!("\x1b[{};1H\x1b[2K{line}", first + at);
    }
    text + "\x1b8"
}

fn give_back(count: usize, rows: u16) -> String {
    let first = usize::from(rows) - count + 1;
    format!("\x1b7\x1b[r\x1b[{first};1H\x1b[J\x1b8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_new_flows_move_the_text_up_and_stay() {
        let mut screen = Screen::default();
        let mut text = |count: usize, rows| screen.text_of(&vec!["x".to_string(); count], rows);
        assert!(text(2, 24).is_some_and(|text| text.starts_with("\n\n")));
        let more = text(5, 24).expect("there is room");
        assert!(more.starts_with(&(give_back(2, 24) + "\n\n\n\n\n")), "{more:?}");
        // The five lines stay reserved, four of them empty.
        let less = text(1, 24).expect("there is room");
        assert_eq!(less.matches("\x1b[2K").count(), 5);
        assert!(text(1, 8).is_none(), "the program needs its rows");
    }

    #[test]
    fn the_program_keeps_its_lines() {
        assert_eq!(take(2, 24, None), "\n\n\x1b7\x1b[1;22r\x1b8\x1b[2A");
        let lines = ["up".to_string(), "down".to_string()];
        assert_eq!(frame(&lines, 24), "\x1b7\x1b[23;1H\x1b[2Kup\x1b[24;1H\x1b[2Kdown\x1b8");
        assert_eq!(give_back(2, 24), "\x1b7\x1b[r\x1b[23;1H\x1b[J\x1b8");
    }
}
