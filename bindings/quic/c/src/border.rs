//! The border to C: no panic passes it, and texts that pass it have an owner.
#![allow(unsafe_code, reason = "C's pointers are read and written here")]

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The run was made; of a suite: all bounds hold.
pub(crate) const OK: c_int = 0;
/// Bounds of a suite are missed.
pub(crate) const MISSED: c_int = 1;
/// The function failed; its result has the reason.
pub(crate) const ERROR: c_int = -1;

/// Calls `work`, which returns a status and a text, or an error in words. Writes the text to
/// `result` unless that is null, and returns the status. A panic of `work` is an error.
///
/// # Safety
/// `result` is null, or valid for a write.
pub(crate) unsafe fn answer(
    result: *mut *mut c_char,
    work: impl FnOnce() -> Result<(c_int, String), String>,
) -> c_int {
    let done = catch_unwind(AssertUnwindSafe(work));
    let (status, text) = match done {
        Ok(Ok(done)) => done,
        Ok(Err(problem)) => (ERROR, problem),
        Err(panic) => (ERROR, format!("paceline panicked: {}", message(&*panic))),
    };
    if !result.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *result = owned(text) };
    }
    status
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// Returns a text that C owns until it passes it to [`free`].
fn owned(text: String) -> *mut c_char {
    let bytes = text.into_bytes().into_iter().filter(|byte| *byte != 0).collect::<Vec<u8>>();
    // No zero byte is left.
    CString::new(bytes).unwrap_or_default().into_raw()
}

/// Frees a text that [`answer`] has handed out; ignores null.
///
/// # Safety
/// `text` is null, or a text of [`answer`] that was not freed.
pub(crate) unsafe fn free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise; the text was made by `into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Returns a caller's text; `None` for null.
///
/// # Errors
/// The text is not UTF-8; `what` names it in the error.
///
/// # Safety
/// `text` is null, or ends with a zero byte and is valid during `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>, String> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| format!("{what} is not UTF-8"))
}

/// Returns the text of a machine, with replacement characters for what is not UTF-8; `None` for
/// null.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn lossy_text(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(work: impl FnOnce() -> Result<(c_int, String), String>) -> (c_int, String) {
        let mut result = std::ptr::null_mut();
        // SAFETY: the pointer is valid, and the text is freed once.
        unsafe {
            let status = answer(&raw mut result, work);
            let found = lossy_text(result).expect("a text");
            free(result);
            (status, found)
        }
    }

    #[test]
    fn panics_and_errors_are_results() {
        assert_eq!(result(|| Ok((MISSED, "a\0b".into()))), (MISSED, "ab".into()));
        assert_eq!(result(|| Err("no".into())), (ERROR, "no".into()));
        let (status, text) = result(|| panic!("{} of them", 3));
        assert_eq!((status, text.as_str()), (ERROR, "paceline panicked: 3 of them"));
        // SAFETY: null is allowed in both.
        unsafe {
            assert_eq!(answer(std::ptr::null_mut(), || Ok((OK, String::new()))), OK);
            free(std::ptr::null_mut());
        }
    }
}
