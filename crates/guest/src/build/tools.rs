//! The programs that a kernel's build needs, and the packages that have them.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use super::error::BuildError;

/// Programs and the Debian packages that have them.
const TOOLS: [(&str, &str); 9] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("ld", "binutils"),
    ("strip", "binutils"),
    ("gzip", "gzip"),
    ("sh", "dash"),
];
/// Programs that unpack the distribution's source.
const UNPACKERS: [(&str, &str); 2] = [("tar", "tar"), ("xz", "xz-utils")];

/// Returns the path of a program in `$PATH`.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// True if gcc finds the C library for static programs, such as the guest's kernel.
fn has_static_library() -> bool {
    let asked = Command::new("gcc").arg("-print-file-name=libc.a").output();
    // For a file that it does not find, gcc prints the name as given.
    asked.is_ok_and(|output| output.stdout.starts_with(b"/"))
}

/// Checks that all programs are installed.
///
/// # Errors
/// Programs are missing: lists all of them, and their packages.
pub(super) fn check(unpacks: bool) -> Result<(), BuildError> {
    let wanted = TOOLS.iter().chain(UNPACKERS.iter().filter(|_| unpacks));
    let mut missing: Vec<_> = wanted.filter(|(tool, _)| find(tool).is_none()).copied().collect();
    if missing.iter().all(|(tool, _)| *tool != "gcc") && !has_static_library() {
        missing.push(("libc.a", "libc6-dev"));
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(BuildError::Missing(message(&missing, find("apt-get").is_some()))),
    }
}

fn message(missing: &[(&str, &str)], is_debian: bool) -> String {
    let tools: Vec<_> = missing.iter().map(|(tool, _)| *tool).collect();
    let mut text = format!("a Linux guest cannot be built: {} missing here", are(&tools));
    let mut packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    let packages = packages.join(" ");
    let _ = match is_debian {
        true => write!(text, ". Install: sudo apt-get install {packages}"),
        false => write!(
            text,
            ". Install what Debian calls {packages} (libc6-dev: glibc's static library)"
        ),
    };
    text
}

fn are(tools: &[&str]) -> String {
    match tools {
        [one] => format!("{one} is"),
        _ => format!("{} are", tools.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_tools_are_named_with_their_packages() {
        let text = message(&[("ld", "binutils"), ("flex", "flex"), ("strip", "binutils")], true);
        assert!(text.contains("ld, flex, strip are missing"), "{text}");
        assert!(text.ends_with("sudo apt-get install binutils flex"), "{text}");
        let text = message(&[("bc", "bc")], false);
        assert!(text.contains("bc is missing") && !text.contains("apt-get"), "{text}");
        assert!(find("sh").is_some() && find("no-such-program-anywhere").is_none());
    }
}
