//! Errors that keep an entry or a whole transfer from being received.

use std::io;

use nix::errno::Errno;

/// An error, with its text for the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// This entry is not kept. Other entries continue.
    Entry(String),
    /// The rest of the transfer is refused. Staged entries stay, so that it can continue once the
    /// cause is removed.
    Transfer(String),
    /// As `Transfer`: the disk is full.
    Full(String),
    /// A newer connection receives the transfer.
    TakenOver,
}

impl Problem {
    /// Returns the text.
    pub(super) fn text(&self) -> String {
        match self {
            Problem::Entry(text) | Problem::Transfer(text) | Problem::Full(text) => text.clone(),
            Problem::TakenOver => "a newer connection receives the transfer".into(),
        }
    }
}

/// Returns true if every further entry would fail with the same error.
fn concerns_all(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(
        errno,
        Some(
            Errno::ENOSPC
                | Errno::EDQUOT
                | Errno::EIO
                | Errno::EROFS
                | Errno::ENOMEM
                | Errno::EMFILE
                | Errno::ENFILE
                | Errno::ESTALE
                | Errno::ENOENT
        )
    )
}

fn is_full(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::ENOSPC | Errno::EDQUOT))
}

fn of_all(what: &str, error: &io::Error) -> Problem {
    let text = format!("{what}: {error}");
    if is_full(error) { Problem::Full(text) } else { Problem::Transfer(text) }
}

/// Returns a function that makes an error a problem of this entry, or of the transfer if it would
/// fail every entry.
pub(super) fn entry_problem(what: &str) -> impl Fn(io::Error) -> Problem + '_ {
    move |error| match concerns_all(&error) {
        true => of_all(what, &error),
        false => Problem::Entry(format!("{what}: {error}")),
    }
}

/// Returns a function that makes an error a problem of the transfer.
pub(super) fn transfer_problem(what: &str) -> impl Fn(io::Error) -> Problem + '_ {
    move |error| of_all(what, &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_the_transfer_and_a_long_name_only_its_entry() {
        let of = |errno: Errno| entry_problem("a file cannot be written")(errno.into());
        let Problem::Full(text) = of(Errno::ENOSPC) else { panic!("it concerns all") };
        assert!(text.contains("No space left"), "{text}");
        assert!(matches!(of(Errno::EIO), Problem::Transfer(_)));
        assert!(matches!(of(Errno::EFBIG), Problem::Entry(_)));
        assert!(matches!(of(Errno::ENAMETOOLONG), Problem::Entry(_)));
        assert!(matches!(transfer_problem("x")(Errno::EFBIG.into()), Problem::Transfer(_)));
    }
}
