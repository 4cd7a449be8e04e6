//! The initramfs: `/init`, which gcc builds, and three devices.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::error::{BuildError, at};
use super::places::write_whole;
use super::run::{command, run};
use crate::cpio::{Archive, DEVICE, FILE, FOLDER};

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../kernel/init/", $name)))),+]
    };
}

/// The source of `/init`.
const SOURCES: [(&str, &str); 24] = sources![
    "base.c",
    "base.h",
    "folder.c",
    "folder.h",
    "loop.c",
    "loop.h",
    "main.c",
    "network.c",
    "network.h",
    "observe.c",
    "observe.h",
    "orders.c",
    "orders.h",
    "probe.c",
    "probe.h",
    "program.c",
    "program.h",
    "receiver.c",
    "sender.c",
    "settings.c",
    "settings.h",
    "socket.c",
    "telemetry.c",
    "telemetry.h",
];
/// Compiler flags: no C library, no start files, no linker notes, so that equal compilers build
/// equal files.
const FLAGS: [&str; 13] = [
    "-std=gnu11",
    "-O2",
    "-w",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-pie",
    "-fcf-protection=none",
    "-fno-asynchronous-unwind-tables",
    "-static",
    "-no-pie",
    "-nostdlib",
    "-Wl,--build-id=none",
    "-s",
];

/// Builds `/init` in `place` and returns the initramfs there.
pub(super) fn build(place: &Path) -> Result<PathBuf, BuildError> {
    let folder = place.join("init-source");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let mut gcc = command("gcc");
    gcc.current_dir(&folder).args(FLAGS).args(["-o", "../init.guest"]);
    for (name, text) in SOURCES {
        let path = folder.join(name);
        fs::write(&path, text).map_err(at(&path))?;
        if name.ends_with(".c") {
            gcc.arg(name);
        }
    }
    run(gcc, "/init cannot be compiled", &place.join("init.log"), &mut |_| {})?;
    let program = place.join("init.guest");
    let program = fs::read(&program).map_err(at(&program))?;
    let packed = pack(&archive(&program))?;
    let path = place.join("initramfs.cpio.gz");
    write_whole(&path, &packed, false)?;
    Ok(path)
}

/// Returns the archive with `/init` and the devices that it needs.
fn archive(init: &[u8]) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.add(b"dev", FOLDER | 0o755, (0, 0), &[]);
    archive.add(b"dev/console", DEVICE | 0o600, (5, 1), &[]);
    archive.add(b"dev/null", DEVICE | 0o666, (1, 3), &[]);
    archive.add(b"dev/urandom", DEVICE | 0o666, (1, 9), &[]);
    archive.add(b"init", FILE | 0o755, (0, 0), init);
    archive.finish()
}

/// Compresses with `gzip`, without name and time.
fn pack(bytes: &[u8]) -> Result<Vec<u8>, BuildError> {
    let failed =
        |error| BuildError::Failed(format!("the initramfs cannot be packed: gzip: {error}"));
    let mut gzip = command("gzip");
    gzip.args(["-n", "-9"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().map_err(failed)?;
    let input = child.stdin.take();
    std::thread::scope(|scope| {
        // Write from a thread while this one reads the output: pipes have little room.
        let writing = scope.spawn(move || input.map_or(Ok(()), |mut input| input.write_all(bytes)));
        let output = child.wait_with_output().map_err(failed)?;
        writing.join().unwrap_or(Ok(())).map_err(failed)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failed(std::io::Error::other(output.status.to_string()))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_is_the_same_file_in_every_folder() {
        if ["gcc", "gzip"].iter().any(|tool| super::super::tools::find(tool).is_none()) {
            let test = paceline_testing::this_test();
            return paceline_testing::skip(
                paceline_testing::Need::Programs,
                &test,
                "gcc and gzip build /init",
            );
        }
        let base = std::env::temp_dir().join(format!("paceline-init-{}", std::process::id()));
        let build = |name: &str| {
            let place = base.join(name);
            fs::create_dir_all(&place).expect("a folder");
            let built = build(&place).expect("an initramfs");
            (fs::read(place.join("init.guest")).expect("/init"), fs::read(built).expect("a file"))
        };
        let (program, packed) = build("one");
        assert_eq!(build("another/with a space"), (program.clone(), packed));
        assert!(program.len() < 100_000, "{} bytes", program.len());
        fs::remove_dir_all(&base).expect("the folder");
    }

    #[test]
    fn packing_depends_on_the_content_alone() {
        let bytes = vec![7; 1 << 20];
        let packed = pack(&bytes).expect("gzip");
        assert!(packed.len() < 1 << 12);
        assert_eq!(packed, pack(&bytes).expect("gzip"));
    }
}
