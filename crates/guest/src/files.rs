//! Finds a built guest.

use std::path::Path;

use crate::build::{BuiltGuest, default_guest};
use crate::error::Error;

/// Version of the protocol (PROTOCOL.md) that this crate implements.
pub const PROTOCOL: u16 = 1;

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
