//! Messages of libbpf, which become part of errors.

use std::sync::Mutex;

use libbpf_rs::{PrintLevel, set_print};

use crate::{KernelError, Program};

/// Messages of libbpf, kept for the error if loading fails.
static SAID: Mutex<String> = Mutex::new(String::new());

fn listen(_: PrintLevel, text: String) {
    if let Ok(mut said) = SAID.lock() {
        said.push_str(&text);
    }
}

/// Collects the messages of libbpf for errors, instead of printing them on the terminal.
pub(crate) fn listen_to_libbpf() {
    if let Ok(mut said) = SAID.lock() {
        said.clear();
    }
    set_print(Some((PrintLevel::Info, listen)));
}

/// Builds an error with the last lines that libbpf and the kernel's verifier printed.
pub(crate) fn refused(program: &Program, what: &str, error: &libbpf_rs::Error) -> KernelError {
    let said = SAID.lock().map(|said| said.clone()).unwrap_or_default();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(12)..].join("\n  ");
    KernelError::Message(format!("{}: {what}: {error}\n  {last}", program.name))
}
