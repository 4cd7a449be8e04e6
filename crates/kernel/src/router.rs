//! The programs that redirect a device's packets through a router.

use std::os::fd::{AsFd as _, OwnedFd};

use libbpf_rs::ObjectBuilder;

use crate::libbpf_log::listen_to_libbpf;
use crate::{KernelError, probe};

/// Loads the programs of a router and returns `[to_router, from_router]`: the first is for the
/// egress of the device with index `device`, the second for the ingress of the TAP device with
/// index `tap`.
///
/// # Errors
/// A requirement is missing, or the kernel refused the programs.
pub fn router_programs(device: u32, tap: u32) -> Result<[OwnedFd; 2], KernelError> {
    probe().check_rights()?;
    listen_to_libbpf();
    let refused = |error: libbpf_rs::Error| {
        KernelError::Message(format!("the kernel refused the router's programs: {error}"))
    };
    let object = include_bytes!(concat!(env!("OUT_DIR"), "/router.bpf.o"));
    let mut open = ObjectBuilder::default().open_memory(object).map_err(refused)?;
    for mut map in open.maps_mut() {
        if map.name().to_string_lossy().ends_with(".rodata.devices")
            && let Some(place) = map.initial_value_mut().and_then(|value| value.get_mut(..8))
        {
            place[..4].copy_from_slice(&device.to_ne_bytes());
            place[4..].copy_from_slice(&tap.to_ne_bytes());
        }
    }
    let object = open.load().map_err(refused)?;
    let program = |name: &str| {
        let found = object.progs().find(|program| program.name() == name);
        let missing = || KernelError::Message(format!("there is no program `{name}`"));
        let file = found.ok_or_else(missing)?.as_fd().try_clone_to_owned();
        file.map_err(KernelError::system(format!("program `{name}`")))
    };
    Ok([program("to_router")?, program("from_router")?])
}
