//! The crate's functions in a build without the eBPF programs: each returns an error that says so.

use std::os::fd::OwnedFd;

use crate::{KernelError, Options, Program, probe};

fn missing<T>() -> Result<T, KernelError> {
    Err(probe().check().err().unwrap_or_else(|| KernelError::Message("nothing is built in".into())))
}

/// Loads a program into the kernel.
///
/// # Errors
/// Always: this build has no programs.
pub fn load(_program: &Program, _options: &Options) -> Result<(), KernelError> {
    missing()
}

/// Removes a program from the kernel.
///
/// # Errors
/// Always: this build has no programs.
pub fn unload(_program: &Program) -> Result<(), KernelError> {
    missing()
}

/// Returns a program's counters with their names.
///
/// # Errors
/// Always: this build has no programs.
pub fn stats(_program: &Program) -> Result<Vec<(&'static str, u64)>, KernelError> {
    missing()
}

/// Returns the map with the storage of a program's sockets.
///
/// # Errors
/// Always: this build has no programs.
pub fn sockets(_program: &Program) -> Result<OwnedFd, KernelError> {
    missing()
}

/// Returns the programs that redirect a device's packets through a router.
///
/// # Errors
/// Always: this build has no programs.
pub fn router_programs(_device: u32, _tap: u32) -> Result<[OwnedFd; 2], KernelError> {
    missing()
}

/// Marks packets of a program's sockets as accelerates when they leave `device`.
///
/// # Errors
/// Always: this build has no programs.
pub fn accelerate(_program: &Program, _device: &str) -> Result<(), KernelError> {
    missing()
}
