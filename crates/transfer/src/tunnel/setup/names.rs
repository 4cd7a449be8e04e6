//! The tunnel's name servers in place of this machine's.
//!
//! Where systemd-resolved answers, the name servers belong to the device and are removed with it.
//! Otherwise they stand in `/etc/resolv.conf`. The previous file is renamed within its folder.
//! Where the folder cannot be changed (a file mounted there, a unit that may write only to this
//! file), its lines are kept as comments, and these comments count more than a renamed file that an
//! earlier tunnel has left. Both survive a power cut.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use paceline_os::RealTimeError;
use paceline_os::host::firewall::run;

use super::SetupOptions;

const FILE: &str = "/etc/resolv.conf";
/// Name of the previous file.
const BEFORE: &str = "/etc/resolv.conf.before-paceline";
/// Name of the new file while it is written.
const NEW: &str = "/etc/.resolv.conf.paceline-new";
/// Address at which systemd-resolved answers.
const RESOLVED: &str = "127.0.0.53";
/// Prefix of a line of the previous file.
const KEPT_LINE: &str = "#before: ";
/// Marks that there was no previous file.
const NO_FILE: &str = "#before-there-was-no-file";
/// Marks that the previous file was empty.
const NO_LINES: &str = "#before-the-file-was-empty";

/// Sets the name servers, the first time or again for a device that was created again.
///
/// # Errors
/// `/etc/resolv.conf` cannot be written.
pub(super) fn apply(
    options: &SetupOptions,
    is_first: bool,
    remarks: &mut Vec<String>,
) -> Result<(), RealTimeError> {
    let servers: Vec<String> = options.name_servers.iter().map(IpAddr::to_string).collect();
    let before = fs::read(FILE).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if !is_first && before.as_deref().and_then(writer) == Some(&options.name) {
        return Ok(());
    }
    if before.as_deref().is_some_and(asks_resolved) {
        if ask_resolved(&options.device, &servers) {
            return Ok(());
        }
        remarks.push(format!(
            "systemd-resolved takes no name servers for {} (resolvectl): {FILE} names them instead",
            options.device
        ));
    }
    let files = Files { file: FILE, before: BEFORE, new: NEW };
    files.replace(&options.name, &servers, before.as_deref()).map_err(RealTimeError::system(format!(
        "{FILE}: the tunnel's name servers cannot be written there; without `dns` in the tunnel's file it stays as it is"
    )))
}

/// Restores `/etc/resolv.conf` if the tunnel `name`, or with `None` any tunnel, has changed it and
/// no other program has changed it since.
///
/// # Errors
/// The file cannot be written, or the file that was there before the tunnel is gone.
pub(super) fn restore(name: Option<&str>) -> Result<(), RealTimeError> {
    let files = Files { file: FILE, before: BEFORE, new: NEW };
    files.restore(name).map_err(RealTimeError::system(format!("{FILE}: putting it back")))
}

/// Returns true if the file names systemd-resolved's address.
fn asks_resolved(text: &str) -> bool {
    let server =
        |line: &str| line.trim().strip_prefix("nameserver").map(str::trim) == Some(RESOLVED);
    text.lines().any(server)
}

/// Sets the device's name servers for all names in systemd-resolved. Returns true if that worked.
fn ask_resolved(device: &str, servers: &[String]) -> bool {
    let ask =
        |words: &[&str]| run(&words.iter().map(ToString::to_string).collect::<Vec<_>>()).is_some();
    let mut set = vec!["resolvectl", "dns", device];
    set.extend(servers.iter().map(String::as_str));
    ask(&set)
        && ask(&["resolvectl", "domain", device, "~."])
        && ask(&["resolvectl", "default-route", device, "yes"])
}

/// The file of name servers, and those beside it.
struct Files<'a> {
    file: &'a str,
    before: &'a str,
    new: &'a str,
}

/// Start of the first line of a tunnel's file. The tunnel's name and [`HEADER_END`] follow.
const HEADER: &str = "# Written by `paceline tunnel up ";
const HEADER_END: &str = "`, which puts back what was here before.";

/// Returns the name of the tunnel that has written this text.
fn writer(text: &str) -> Option<&str> {
    text.lines().next()?.strip_prefix(HEADER)?.strip_suffix(HEADER_END)
}

impl Files<'_> {
    fn replace(&self, name: &str, servers: &[String], before: Option<&str>) -> io::Result<()> {
        let mut text = format!("{HEADER}{name}{HEADER_END}\n");
        for server in servers {
            text += &format!("nameserver {server}\n");
        }
        // Options such as `edns0` say how programs ask, not which server, so they are kept.
        for line in before.unwrap_or_default().lines().filter(|line| line.starts_with("options")) {
            text += &format!("{line}\n");
        }
        // Exists also for a dangling link.
        if fs::symlink_metadata(self.file).is_ok() && self.exchange(&text).is_ok() {
            return Ok(());
        }
        match before {
            None => text += &format!("{NO_FILE}\n"),
            Some("") => text += &format!("{NO_LINES}\n"),
            Some(_) => {}
        }
        for line in before.unwrap_or_default().lines() {
            text += &format!("{KEPT_LINE}{line}\n");
        }
        fs::write(self.file, text)
    }

    /// Renames the existing file, also if it is a link, and gives the new file its name.
    fn exchange(&self, text: &str) -> io::Result<()> {
        // Remove the remains of a process that was killed at this point.
        let _ = fs::remove_file(self.before);
        fs::hard_link(self.file, self.before)?;
        let exchanged = File::create(self.new).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            fs::set_permissions(self.new, Permissions::from_mode(0o644))?;
            file.sync_all()?;
            fs::rename(self.new, self.file)
        });
        if exchanged.is_err() {
            let _ = fs::remove_file(self.new);
            let _ = fs::remove_file(self.before);
        }
        exchanged
    }

    fn restore(&self, name: Option<&str>) -> io::Result<()> {
        let Ok(found) = fs::symlink_metadata(self.file) else { return Ok(()) };
        let Ok(bytes) = fs::read(self.file) else { return Ok(()) };
        let text = String::from_utf8_lossy(&bytes);
        // Another program has written the file. It may put the tunnel's file back later, and then
        // `before` is needed.
        let Some(writer) = writer(&text) else { return Ok(()) };
        if name.is_some_and(|name| name != writer) {
            return Ok(());
        }
        let marks = [NO_FILE, NO_LINES];
        let is_kept_here = |line: &str| line.starts_with(KEPT_LINE) || marks.contains(&line);
        if !text.lines().any(is_kept_here) && fs::symlink_metadata(self.before).is_ok() {
            return fs::rename(self.before, self.file);
        }
        if !text.lines().any(is_kept_here) {
            let problem = format!(
                "{}, which was {} before the tunnel, is gone: write {} anew",
                self.before, self.file, self.file
            );
            return Err(io::Error::new(io::ErrorKind::NotFound, problem));
        }
        let restored = if text.lines().any(|line| line == NO_FILE) {
            // Where the folder cannot be changed, an empty file is equivalent to no file.
            let removed = fs::canonicalize(self.file).and_then(fs::remove_file);
            removed.or_else(|_| fs::write(self.file, ""))
        } else {
            let kept = text.lines().filter_map(|line| line.strip_prefix(KEPT_LINE));
            let before: String = kept.map(|line| format!("{line}\n")).collect();
            fs::write(Path::new(self.file), before)
        };
        self.remove_stale(&found);
        restored
    }

    /// Removes the previous file, which is out of date because `found`, the file now, does not
    /// refer to it. Keeps it if both are one file: another tunnel is just replacing it. Ignores
    /// errors: [`Files::exchange`] removes it, too.
    fn remove_stale(&self, found: &Metadata) {
        let id = |about: &Metadata| (about.dev(), about.ino());
        if fs::symlink_metadata(self.before).is_ok_and(|before| id(&before) != id(found)) {
            let _ = fs::remove_file(self.before);
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_testing::Folder;

    use super::*;

    const BEFORE_TEXT: &str = "nameserver 192.0.2.53\noptions edns0\n";

    #[test]
    fn the_file_comes_back_whole_whatever_it_was() {
        let folder = Folder::new("names");
        let (file, before, new) =
            (folder.path("resolv.conf"), folder.path("before"), folder.path("new"));
        let files = Files { file: &file, before: &before, new: &new };
        let servers = ["10.77.0.1".to_string(), "fd77::1".into()];
        let read = || fs::read_to_string(&file).expect("the file");
        // A link to a file elsewhere, as systemd-resolved and NetworkManager create it.
        let target = folder.path("target");
        fs::write(&target, BEFORE_TEXT).expect("room");
        std::os::unix::fs::symlink(&target, &file).expect("room");
        files.replace("office", &servers, Some(BEFORE_TEXT)).expect("writes");
        let text = read();
        assert!(
            text.contains("nameserver 10.77.0.1\nnameserver fd77::1\noptions edns0\n"),
            "{text}"
        );
        assert_eq!(fs::read_to_string(&target).expect("the target"), BEFORE_TEXT);
        files.restore(Some("home")).expect("not its own");
        assert_eq!(read(), text);
        files.restore(Some("office")).expect("puts back");
        assert_eq!(fs::read_link(&file).expect("a link").to_str(), Some(target.as_str()));
        assert_eq!(read(), BEFORE_TEXT);
        // Where the file cannot be renamed, its lines stay in the file.
        let elsewhere = folder.path("no-folder/before");
        let files = Files { before: &elsewhere, ..files };
        files.replace("office", &servers, Some(BEFORE_TEXT)).expect("writes");
        assert!(read().contains("#before: nameserver 192.0.2.53\n"));
        files.restore(Some("office")).expect("puts back");
        assert_eq!(read(), BEFORE_TEXT);
        // No file.
        fs::remove_file(&file).expect("the link");
        files.replace("office", &servers, None).expect("writes");
        files.restore(None).expect("removes");
        assert!(!Path::new(&file).exists());
        files.restore(None).expect("nothing to do");
    }

    #[test]
    fn a_file_that_somebody_else_has_written_meanwhile_stays() {
        let folder = Folder::new("names-of-others");
        let (file, before, new) =
            (folder.path("resolv.conf"), folder.path("before"), folder.path("new"));
        let files = Files { file: &file, before: &before, new: &new };
        fs::write(&file, BEFORE_TEXT).expect("room");
        files.replace("office", &["10.77.0.1".into()], Some(BEFORE_TEXT)).expect("writes");
        fs::write(&file, "nameserver 198.51.100.1\n").expect("room");
        files.restore(Some("office")).expect("leaves it");
        assert_eq!(fs::read_to_string(&file).expect("the file"), "nameserver 198.51.100.1\n");
    }

    /// A program such as vpnc saves the tunnel's file, writes its own, and puts the tunnel's back. Another tunnel comes and
    /// goes meanwhile.
    #[test]
    fn a_file_that_was_replaced_for_a_while_comes_back() {
        let folder = Folder::new("names-for-a-while");
        let (file, before, new) =
            (folder.path("resolv.conf"), folder.path("before"), folder.path("new"));
        let files = Files { file: &file, before: &before, new: &new };
        fs::write(&file, BEFORE_TEXT).expect("room");
        files.replace("office", &["10.77.0.1".into()], Some(BEFORE_TEXT)).expect("writes");
        let saved = fs::read_to_string(&file).expect("the tunnel's");
        fs::write(&file, "nameserver 198.51.100.1\n").expect("room");
        files.restore(Some("home")).expect("leaves it");
        files.restore(Some("office")).expect("leaves it");
        fs::write(&file, &saved).expect("room");
        files.restore(Some("office")).expect("puts back");
        assert_eq!(fs::read_to_string(&file).expect("the file"), BEFORE_TEXT);
        // Without the previous file nothing is known, and nothing is emptied.
        fs::write(&file, &saved).expect("room");
        let error = files.restore(Some("office")).expect_err("nothing was kept");
        assert!(error.to_string().contains("is gone"), "{error}");
        assert_eq!(fs::read_to_string(&file).expect("the file"), saved);
    }

    /// The folder was writable for an earlier tunnel, and is not for this one.
    #[test]
    fn lines_in_the_file_count_more_than_a_former_file_that_was_left() {
        let folder = Folder::new("names-stale");
        let (file, before) = (folder.path("resolv.conf"), folder.path("before"));
        let no_folder = folder.path("no-folder/new");
        let files = Files { file: &file, before: &before, new: &no_folder };
        for now in ["nameserver 198.51.100.1\n", ""] {
            // A folder cannot be replaced by a link, as a file cannot where all is read-only.
            fs::create_dir(&before).expect("room");
            fs::write(&file, now).expect("room");
            files.replace("office", &["10.77.0.1".into()], Some(now)).expect("writes");
            fs::remove_dir(&before).expect("ours");
            fs::write(&before, BEFORE_TEXT).expect("room");
            files.restore(Some("office")).expect("puts back");
            assert_eq!(fs::read_to_string(&file).expect("the file"), now);
            assert!(!Path::new(&before).exists());
        }
        // No file.
        fs::write(&before, BEFORE_TEXT).expect("room");
        fs::remove_file(&file).expect("ours");
        files.replace("office", &["10.77.0.1".into()], None).expect("writes");
        files.restore(None).expect("removes");
        assert!(!Path::new(&file).exists());
    }

    #[test]
    fn resolved_is_known_by_its_address() {
        assert!(asks_resolved("# stub\nnameserver 127.0.0.53\noptions edns0 trust-ad\n"));
        assert!(!asks_resolved("nameserver 127.0.0.1\n#nameserver 127.0.0.53\n"));
    }
}
