//! Tests of `packaging/install.sh` and `packaging/formula.sh`, with a release in a folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use paceline_testing::Folder;

/// Returns the path of a file of the folder `packaging`.
fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Returns the path of something in a folder.
fn at(folder: &Folder, name: &str) -> PathBuf {
    folder.path(name).into()
}

/// Runs lines of the shell in a folder, which must end well; returns what they print.
fn shell(folder: &Path, lines: &str) -> String {
    let output = Command::new("sh").current_dir(folder).args(["-euc", lines]).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{lines}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Makes a release in `folder` whose program is the shell script `program`.
fn release(folder: &Path, program: &str) {
    let bin = folder.join("paceline/bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    std::fs::write(bin.join("paceline"), program).expect("a program");
    shell(
        folder,
        "chmod 755 paceline/bin/paceline
         mkdir -p paceline/share/man/man1
         echo manual | gzip >paceline/share/man/man1/paceline.1.gz
         tar -czf paceline-$(uname -m)-linux.tar.gz paceline
         rm -r paceline",
    );
    let output = Command::new(packaging("checksums.sh")).arg(folder).output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs the installer with releases from `from` into the folder `prefix`.
fn install(from: &Path, prefix: &Path) -> Output {
    let script = std::fs::File::open(packaging("install.sh")).expect("install.sh");
    // The shell reads the script from its input, as behind `curl`.
    Command::new("sh")
        .stdin(script)
        .envs([("PACELINE_FROM", from), ("PREFIX", prefix)])
        .output()
        .expect("a shell")
}

/// Runs the installer, which must fail; returns its message.
fn refusal(from: &Path, prefix: &Path) -> String {
    let output = install(from, prefix);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).expect("text")
}

const PROGRAM: &str = "#!/bin/sh\necho paceline 1.2.3\n";

#[test]
fn a_release_is_installed_and_written_over() {
    let folder = Folder::new("install");
    let (from, prefix) = (at(&folder, "release"), at(&folder, "home/local"));
    for version in ["1.2.3", "1.2.4"] {
        std::fs::create_dir_all(&from).expect("a folder");
        release(&from, &PROGRAM.replace("1.2.3", version));
        let output = install(&from, &prefix);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let place = prefix.join("bin/paceline");
        assert!(said.contains(&format!("paceline {version} is now {}", place.display())), "{said}");
        assert!(said.contains("is not in your PATH"), "{said}");
        assert_eq!(shell(&from, &place.display().to_string()), format!("paceline {version}\n"));
        assert!(prefix.join("share/man/man1/paceline.1.gz").exists());
        std::fs::remove_dir_all(&from).expect("removed");
    }
}

#[test]
fn what_is_installed_stays_if_the_release_is_broken() {
    let folder = Folder::new("install-broken");
    let (from, prefix) = (at(&folder, "release"), at(&folder, "local"));
    std::fs::create_dir_all(prefix.join("bin")).expect("a folder");
    let old = prefix.join("bin/paceline");
    std::fs::write(&old, "old").expect("a file");

    std::fs::create_dir_all(&from).expect("a folder");
    let said = refusal(&from, &prefix);
    assert!(said.contains("there is no paceline-") && said.contains("release"), "{said}");

    release(&from, "#!/bin/sh\necho 'libc is too old' >&2\nexit 127\n");
    let said = refusal(&from, &prefix);
    assert!(said.contains("does not run here") && said.contains("libc is too old"), "{said}");
    assert!(said.contains("Build it from the source"), "{said}");

    release(&from, PROGRAM);
    shell(&from, "printf x >>paceline-$(uname -m)-linux.tar.gz");
    let said = refusal(&from, &prefix);
    assert!(said.contains("another checksum"), "{said}");

    release(&from, PROGRAM);
    std::fs::write(from.join("SHA256SUMS"), "").expect("a file");
    let said = refusal(&from, &prefix);
    assert!(said.contains("does not name paceline-"), "{said}");
    assert_eq!(std::fs::read_to_string(&old).expect("a file"), "old");
}

#[test]
fn half_of_the_installer_does_nothing() {
    let folder = Folder::new("install-half");
    let script = std::fs::read_to_string(packaging("install.sh")).expect("install.sh");
    let half = folder.path("half.sh");
    std::fs::write(&half, &script[..script.rfind("\nmain").expect("the last line")])
        .expect("a file");
    let prefix = at(&folder, "local");
    let output = Command::new("sh").arg(&half).env("PREFIX", &prefix).output().expect("a shell");
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(!prefix.exists());
}

#[test]
fn the_formula_has_the_checksums_of_the_archives() {
    let folder = Folder::new("formula");
    let formula =
        || Command::new(packaging("formula.sh")).arg("v1.2.3").arg(folder.path("")).output();
    let output = formula().expect("bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no archive paceline-MACHINE"), "{said}");
    std::fs::write(folder.path("paceline-aarch64-linux.tar.gz"), "abc").expect("a file");
    let output = formula().expect("bash");
    let text = String::from_utf8(output.stdout).expect("text");
    // FIPS 180-2, B.1: the digest of `abc`.
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert!(text.contains(&format!("sha256 \"{digest}\"")), "{text}");
    assert!(text.contains("download/v1.2.3/paceline-aarch64-linux.tar.gz\""), "{text}");
    assert!(
        text.contains("version \"1.2.3\"") && text.contains("on_arm") && !text.contains("on_intel")
    );
    // Blocks are closed.
    let starts = text
        .lines()
        .filter(|line| line.ends_with(" do") || line.trim().starts_with("def "))
        .count();
    assert_eq!(text.lines().filter(|line| line.trim() == "end").count(), starts + 1, "{text}");
}
