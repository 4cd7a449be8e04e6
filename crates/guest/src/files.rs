//! Finds a built guest.

use std::path::Path;
use std::time::Duration;

use crate::build::{BuiltGuest, default_guest};
use crate::error::Error;

/// Version of the protocol (PROTOCOL.md) that this crate implements.
pub const PROTOCOL: u16 = 1;

/// Wall-clock time without a message after which a guest counts as hanging, without [`SILENCE`]. A guest computes
/// milliseconds per event; the rest is for busy machines.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);
/// Environment variable with this time in whole seconds.
const SILENCE: &str = "PACELINE_LINUX_SILENCE";
/// Largest value of the variable: a day.
const MOST_SILENCE: u64 = 86_400;

/// Returns the wall-clock time without a message after which a guest counts as hanging.
///
/// # Errors
/// The variable has no number of seconds from 1 to a day.
pub(crate) fn longest_silence() -> Result<Duration, Error> {
    silence(std::env::var_os(SILENCE).as_ref().map(|text| text.to_string_lossy()).as_deref())
}

fn silence(text: Option<&str>) -> Result<Duration, Error> {
    let Some(text) = text else { return Ok(LONGEST_SILENCE) };
    let seconds = text.parse().ok().filter(|seconds| (1..=MOST_SILENCE).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::Unusable(format!(
            "{SILENCE}={text}: expected the seconds without a message after which a Linux guest counts as hanging, \
             1 to {MOST_SILENCE}; without it {}",
            LONGEST_SILENCE.as_secs()
        ))
    })
}

/// Finds the guest in `folder`; without `folder`, in `$PACELINE_LINUX`; without this variable, in
/// `~/.cache/paceline/linux`.
///
/// # Errors
/// There is no guest, or it was built for another version of the protocol.
pub fn find(folder: Option<&Path>) -> Result<BuiltGuest, Error> {
    let unusable = |problem: String| {
        Error::Unusable(format!(
            "there is no Linux guest: {problem}; --linux or PACELINE_LINUX names the folder of one"
        ))
    };
    let folder = match folder {
        Some(folder) => folder.to_path_buf(),
        None => default_guest().map_err(|error| unusable(error.to_string()))?,
    };
    // The guest's process runs in another folder, so the path must be absolute.
    let folder = std::path::absolute(&folder)
        .map_err(|error| unusable(format!("{}: {error}", folder.display())))?;
    let built = BuiltGuest::read(&folder).map_err(|error| unusable(error.to_string()))?;
    let (kernel, initramfs) = built.files();
    if let Some(missing) = [&kernel, &initramfs].into_iter().find(|file| !file.exists()) {
        return Err(unusable(format!(
            "{} is missing: build a guest with `paceline linux build`",
            missing.display()
        )));
    }
    if built.manifest.protocol != PROTOCOL {
        return Err(unusable(format!(
            "that in {} speaks protocol {}, and this program {PROTOCOL}: build it again with `paceline \
             linux build`",
            folder.display(),
            built.manifest.protocol
        )));
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_a_number_of_seconds() {
        assert_eq!(silence(None).expect("a time"), LONGEST_SILENCE);
        assert_eq!(silence(Some("5")).expect("a time"), Duration::from_secs(5));
        for wrong in ["", "0", "5s", "86401", "-1"] {
            let error = silence(Some(wrong)).expect_err(wrong).to_string();
            assert!(
                error.contains("PACELINE_LINUX_SILENCE") && error.contains("1 to 86400"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_missing_or_old_is_named() {
        let folder =
            std::env::temp_dir().join(format!("paceline-guest-files-{}", std::process::id()));
        let problem = || find(Some(&folder)).expect_err("no guest").to_string();
        assert!(problem().contains("paceline linux build"), "{}", problem());
        std::fs::create_dir_all(&folder).expect("a folder");
        let write =
            |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
        write("manifest.json", "{}");
        assert!(problem().contains("manifest.json: missing field"), "{}", problem());
        let manifest = |protocol: u16| {
            format!(
                "{{\"protocol\": {protocol}, \"version\": \"6.12.1\", \"kernel_sha256\": \
                 \"0123456789abcdef\", \"initramfs_sha256\": \"ff\", \"config_sha256\": \"\", \
                 \"schemes\": [\"bbr\"]}}"
            )
        };
        write("manifest.json", &manifest(0));
        assert!(problem().contains("linux is missing"), "{}", problem());
        write("linux", "");
        write("initramfs.cpio.gz", "");
        assert!(problem().contains("protocol 0"), "{}", problem());
        write("manifest.json", &manifest(1));
        let built = find(Some(&folder)).expect("a guest");
        assert_eq!(built.describe(), "Linux 6.12.1, kernel 0123456789ab, initramfs ff");
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}
