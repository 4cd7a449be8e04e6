//! The size of a terminal.

use std::os::fd::{AsFd, AsRawFd};

/// Returns columns and rows of the terminal behind a file; `None` if it is no terminal.
pub fn size(file: impl AsFd) -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: writes one `winsize`.
    let done = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (done == 0 && size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}
