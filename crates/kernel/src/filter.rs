//! The traffic-control filter that marks packets as accelerates when they leave a device.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{ErrorKind, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder};
use nix::net::if_::{if_nameindex, if_nametoindex};

use crate::libbpf_log::listen_to_libbpf;
use crate::{KernelError, Program, pins, probe};

/// Handle and priority of the filter on a device, by which unloading finds it.
const HANDLE: u32 = 0x5043;
const PRIORITY: u32 = 0x5043;

fn hook(filter: &OwnedFd, device: u32) -> TcHook {
    TcHookBuilder::new(filter.as_fd())
        .ifindex(device as i32)
        .replace(true)
        .handle(HANDLE)
        .priority(PRIORITY)
        .hook(TC_EGRESS)
}

fn open(program: &Program) -> Result<OwnedFd, KernelError> {
    pins::find(program)?;
    let path = pins::filter(program);
    libbpf_rs::Program::fd_from_pinned_path(&path).map_err(|error| {
        let name = program.name;
        KernelError::Message(format!("{}: {error}: is `{name}` loaded?", path.display()))
    })
}

/// Returns the path of a folder that records that [`accelerate`] itself created the queueing
/// discipline of `device`. The path has the network namespace, because each one numbers its devices
/// from 1. `None` if the namespace cannot be read.
fn made(program: &Program, device: u32) -> Option<PathBuf> {
    let namespace = fs::metadata("/proc/thread-self/ns/net").ok()?.ino();
    Some(pins::folder(program).join(format!("made-{namespace}-{device}")))
}

/// Marks packets of a program's sockets as accelerates when they leave a device of this network
/// namespace. The filter is removed with the device, or when the program is unloaded from within
/// this network namespace.
///
/// # Errors
/// There is no such device, or the program is not loaded.
pub fn accelerate(program: &Program, device: &str) -> Result<(), KernelError> {
    probe().check()?;
    listen_to_libbpf();
    let filter = open(program)?;
    let index =
        if_nametoindex(device).map_err(KernelError::system(format!("device `{device}`")))?;
    let mut hook = hook(&filter, index);
    // The query fails with "not found" if the device has a queueing discipline but no filter of
    // ours, and with another error if it has no discipline.
    let there = hook.query().map_or_else(|error| error.kind() == ErrorKind::NotFound, |_| true);
    if let Some(made) = made(program, index).filter(|_| !there) {
        // If the folder cannot be created, unloading leaves the discipline, which then does
        // nothing.
        let _ = fs::create_dir(made);
    }
    hook.create()
        .and_then(|mut hook| hook.attach())
        .map(drop)
        .map_err(|error| KernelError::Message(format!("a filter at device `{device}`: {error}")))
}

/// Removes the filters of a program from the devices of this network namespace.
pub(crate) fn remove_all(program: &Program) -> Result<(), KernelError> {
    if !pins::filter(program).exists() {
        return Ok(());
    }
    listen_to_libbpf();
    let filter = open(program)?;
    let devices = if_nameindex().map_err(KernelError::system("the list of devices"))?;
    for device in &devices {
        let place = device.name().to_string_lossy();
        let fail = |error| KernelError::Message(format!("the filter at device `{place}`: {error}"));
        let mut hook = hook(&filter, device.index());
        // Another program may have a filter under our handle.
        let Ok(id) = hook.query() else { continue };
        let ours = ProgInfoIter::default().any(|info| info.id == id && info.name == *"accelerate");
        if !ours {
            continue;
        }
        hook.detach().map_err(fail)?;
        if made(program, device.index()).is_some_and(|made| made.exists()) {
            hook.attach_point(TC_INGRESS | TC_EGRESS).destroy().map_err(fail)?;
        }
    }
    Ok(())
}
