//! The exports of the WebAssembly module, which pass addresses and lengths.
//!
//! A caller writes the bytes of a request to the address from [`paceline_input`], calls
//! [`paceline_call`], and reads the answer at [`paceline_output`]. All addresses are valid until
//! the next call of any of these functions.
#![allow(unsafe_code, reason = "a name for the linker is an unsafe attribute; nothing here is")]

use std::cell::RefCell;

use crate::Api;

struct PageState {
    api: Api,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// Returns the simulator of the page, which calls the page's controllers.
#[cfg(target_arch = "wasm32")]
fn api() -> Api {
    Api::with_script(crate::imports::PAGE)
}

/// Returns a simulator without controllers of a page.
#[cfg(not(target_arch = "wasm32"))]
fn api() -> Api {
    Api::default()
}

impl Default for PageState {
    fn default() -> PageState {
        PageState { api: api(), input: Vec::new(), output: Vec::new() }
    }
}

thread_local! {
    static STATE: RefCell<PageState> = RefCell::default();
}

/// Allocates a request of `len` bytes; returns the address of its first byte.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_input(len: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input.clear();
        state.input.resize(len, 0);
        state.input.as_mut_ptr()
    })
}

/// Answers the request that was written; returns the number of bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_call() -> usize {
    STATE.with_borrow_mut(|state| {
        state.output = state.api.call(&state.input).into_bytes();
        state.output.len()
    })
}

/// Returns the address of the first byte of the last answer, which is JSON.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

/// Advances the live run to `seconds` of simulated time, with a row of numbers every `every`
/// seconds. Returns the count of new numbers.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_advance(seconds: f64, every: f64) -> usize {
    STATE.with_borrow_mut(|state| state.api.advance(seconds, every).len())
}

/// Returns the address of the first of these numbers.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_rows() -> *const f64 {
    STATE.with_borrow(|state| state.api.rows().as_ptr())
}

/// Returns a function of JavaScript's `Math`, with results that are equal in every browser; NaN for
/// an unknown number. The functions are numbered in the order of `MATH` in `site/src/sandbox/maths.ts`.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_math(function: u32, a: f64, b: f64) -> f64 {
    crate::maths::of(function, a, b)
}
