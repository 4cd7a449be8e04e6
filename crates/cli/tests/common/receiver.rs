//! A `paceline recv` that runs beside a test, and files to send to it.
#![allow(dead_code, reason = "each test program uses a part")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use paceline_testing::Folder;

/// A running receiver, with its key and its address.
pub(crate) struct Receiver {
    pub(crate) child: Child,
    err: BufReader<ChildStderr>,
    /// Its messages on standard error, up to the last one that the test waited for.
    said: String,
    pub(crate) key: String,
    pub(crate) at: String,
}

/// Returns a command that runs the program.
pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(arguments).env("NO_COLOR", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Receiver {
    /// Starts a receiver. Without `-o` in `arguments` it keeps no files.
    pub(crate) fn start(arguments: &[&str]) -> Receiver {
        let mut all = [&["recv", "--listen", "127.0.0.1:0"], arguments].concat();
        if !arguments.contains(&"-o") {
            all.extend(["-o", "/dev/null"]);
        }
        Receiver::of(&mut program(&all))
    }

    /// Starts this command, which makes new keys.
    pub(crate) fn of(command: &mut Command) -> Receiver {
        let child = command.spawn().expect("the program starts");
        let mut receiver = Receiver::listening(child, "");
        let mut line = String::new();
        BufReader::new(receiver.child.stdout.as_mut().expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        receiver.key = line.trim().strip_prefix("key ").expect("a key").to_string();
        receiver
    }

    /// Returns a receiver that has just been started, with its key.
    pub(crate) fn listening(mut child: Child, key: &str) -> Receiver {
        let mut line = String::new();
        let mut err = BufReader::new(child.stderr.take().expect("a pipe"));
        err.read_line(&mut line).expect("a line");
        if line.starts_with("WARNING") {
            line.clear();
            err.read_line(&mut line).expect("a line");
        }
        let at = line.trim().strip_prefix("listening at ").expect("an address").to_string();
        Receiver { child, err, said: String::new(), key: key.into(), at }
    }

    /// Waits until its messages report a connection.
    pub(crate) fn connected(&mut self) {
        while !self.said.contains("connected") {
            let read = self.err.read_line(&mut self.said).expect("a line");
            assert!(read > 0, "it ended before anybody connected: {}", self.said);
        }
    }

    /// Waits for its end. Returns its status and its messages.
    pub(crate) fn finish(&mut self, patience: u64) -> (Option<i32>, String) {
        let code = wait(&mut self.child, patience);
        self.err.read_to_string(&mut self.said).expect("text");
        (code, std::mem::take(&mut self.said))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits at most `patience` seconds for a program to end. Returns its status.
pub(crate) fn wait(child: &mut Child, patience: u64) -> Option<i32> {
    let end = Instant::now() + Duration::from_secs(patience);
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    panic!("not over within {patience} s");
}

/// Returns the content of a file: random bytes.
pub(crate) fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut random = paceline_cc::Stream::new(seed, "file");
    (0..length).map(|_| random.next_u64() as u8).collect()
}

/// Writes a file of this length. Returns its path and its content.
pub(crate) fn file(folder: &Folder, name: &str, length: usize) -> (String, Vec<u8>) {
    let bytes = bytes(length, length as u64);
    (folder.write(name, &bytes), bytes)
}
