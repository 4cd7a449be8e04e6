//! The only import of the WebAssembly module: a controller in the page's language.
#![allow(
    unsafe_code,
    reason = "a block of imports has to be called unsafe; the import itself is safe to call"
)]

use crate::script::{NUMBERS, Script};

#[link(wasm_import_module = "paceline")]
unsafe extern "C" {
    /// Calls function `call` of controller `instance`; see [`crate::script`] for the numbers.
    safe fn controller(call: u32, instance: u32, numbers: *mut f64) -> u32;
}

/// Calls the page's controllers.
pub(crate) const PAGE: Script = |call, instance, numbers: &mut [f64; NUMBERS]| {
    controller(call as u32, instance, numbers.as_mut_ptr())
};
