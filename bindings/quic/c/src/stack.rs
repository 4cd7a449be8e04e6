//! A stack written in C as the transport of a flow.
#![allow(unsafe_code, reason = "a stack's functions and texts are read here")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;
use std::thread::{self, ThreadId};

use paceline_quic_sim::{ends, largest_datagram};
use paceline_sim::{CustomTransport, TransportEnds, TransportSetup};

use crate::border::text;
use crate::machine::{CMachine, Calls, MachineCalls, Origin};

/// `paceline_setup`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSetup {
    /// Name of the flow.
    pub flow: *const c_char,
    /// Largest UDP payload in bytes.
    pub datagram_size: u16,
    /// Seed of the machines' random numbers.
    pub seed: [u8; 32],
}

/// Makes the machines of a client and of a server.
type Make = unsafe extern "C" fn(
    *mut c_void,
    *const CSetup,
    client: *mut *mut c_void,
    server: *mut *mut c_void,
) -> c_int;

/// `paceline_stack`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CStack {
    /// Name in results.
    pub label: *const c_char,
    /// The functions of its machines.
    pub calls: *const MachineCalls,
    /// Passed to `make`.
    pub context: *mut c_void,
    /// Makes the machines of a flow.
    pub make: Option<Make>,
}

/// A stack whose pointers are checked. It calls the stack's functions only on the thread on which it
/// was made.
#[derive(Clone)]
pub(crate) struct Stack {
    pub(crate) label: String,
    calls: Calls,
    context: *mut c_void,
    make: Make,
    thread: ThreadId,
}

// SAFETY: `Stack::ends` checks that it is on the stack's thread before it uses the pointer.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    /// Checks a stack of the caller, who promises that it is valid until the stack that this returns
    /// is dropped.
    ///
    /// # Errors
    /// A pointer is null.
    ///
    /// # Safety
    /// `stack` is null or valid, and so is each of its pointers.
    pub(crate) unsafe fn new(stack: *const CStack) -> Result<Stack, String> {
        // SAFETY: the caller's promise, for both.
        let stack = unsafe { stack.as_ref() }.ok_or("the stack is NULL")?;
        let label = unsafe { text(stack.label, "label") }?.ok_or("the stack's label is NULL")?;
        let failed = |problem: String| format!("stack {label}: {problem}");
        // SAFETY: the caller's promise.
        let calls =
            unsafe { stack.calls.as_ref() }.ok_or_else(|| failed("calls is NULL".into()))?;
        let calls = Calls::new(calls).map_err(failed)?;
        let make = stack.make.ok_or_else(|| failed("make is NULL".into()))?;
        let (label, thread) = (label.to_string(), thread::current().id());
        Ok(Stack { label, calls, context: stack.context, make, thread })
    }

    /// Returns the transport of its flows.
    pub(crate) fn transport(&self, label: String) -> CustomTransport {
        let stack = self.clone();
        CustomTransport::new(label, move |setup| stack.ends(setup)).with_bytes().with_log()
    }

    fn ends(&self, setup: &TransportSetup) -> Result<TransportEnds, String> {
        if thread::current().id() != self.thread {
            return Err(format!("stack {} was called on another thread", self.label));
        }
        let name = CString::new(setup.name.replace('\0', "")).unwrap_or_default();
        let datagram_size = largest_datagram(setup)?;
        let mut random = setup.random(&self.label);
        let mut seed = [0; 32];
        for word in seed.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        let for_c = CSetup { flow: name.as_ptr(), datagram_size, seed };
        let (mut client, mut server) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers are valid during the call, and the context is on its thread.
        let status = unsafe {
            (self.make)(self.context, &raw const for_c, &raw mut client, &raw mut server)
        };
        if status != 0 {
            return Err(format!("stack {}: make returned {status}", self.label));
        }
        if client.is_null() || server.is_null() {
            // The machine that there may be is lost: its owner is not known.
            return Err(format!(
                "stack {}: make returned 0 and a machine that is NULL",
                self.label
            ));
        }
        let origin = Origin::default();
        // SAFETY: `make` has returned these machines, and leaves them to this library.
        let (client, server) = unsafe {
            let client = CMachine::new(self.calls, client, Origin::clone(&origin), datagram_size);
            (client, CMachine::new(self.calls, server, origin, datagram_size))
        };
        ends(setup, client, server)
    }
}
