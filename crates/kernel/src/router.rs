//! The programs that lead a device's packets through a router.

use std::os::fd::{AsFd as _, OwnedFd};

use libbpf_rs::ObjectBuilder;

use crate::{KernelError, loader, probe};

/// The programs of a router: `[to_router, from_router]`, the one for the exit of the device with the
/// number `device`, the other for the entry of the TAP device with the number `tap`.
///
/// # Errors
/// What is missing, or what the kernel refused.
pub fn router_programs(device: u32, tap: u32) -> Result<[OwnedFd; 2], KernelError> {
    probe().check_rights()?;
    loader::listen_to_libbpf();
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
