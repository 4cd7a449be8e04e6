//! What a build without the eBPF programs says.

use std::os::fd::OwnedFd;

use crate::{KernelError, Options, Program, probe};

fn missing<T>() -> Result<T, KernelError> {
    Err(probe().check().err().unwrap_or_else(|| KernelError::Message("nothing is built in".into())))
}

/// Puts a program into the kernel.
///
/// # Errors
/// This build has no programs.
pub fn load(_program: &Program, _options: &Options) -> Result<(), KernelError> {
    missing()
}

/// Takes a program out of the kernel.
///
/// # Errors
/// This build has no programs.
pub fn unload(_program: &Program) -> Result<(), KernelError> {
    missing()
}

/// A program's counters.
///
/// # Errors
/// This build has no programs.
pub fn stats(_program: &Program) -> Result<Vec<(&'static str, u64)>, KernelError> {
    missing()
}

/// The map of what a program's sockets keep.
///
/// # Errors
/// This build has no programs.
pub fn sockets(_program: &Program) -> Result<OwnedFd, KernelError> {
    missing()
}

/// The programs that lead a device's packets through a router.
///
/// # Errors
/// This build has no programs.
pub fn router_programs(_device: u32, _tap: u32) -> Result<[OwnedFd; 2], KernelError> {
    missing()
}

/// Lets the packets of a program's sockets leave a device as accelerates.
///
/// # Errors
/// This build has no programs.
pub fn accelerate(_program: &Program, _device: &str) -> Result<(), KernelError> {
    missing()
}
