//! Where a server keeps what it receives. A file has another name until all of it is there.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where what arrives goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Into this file, whatever its name was.
    File(PathBuf),
    /// Into this folder, under its own name.
    Folder(PathBuf),
    /// To standard output.
    Output,
    /// Nowhere: it is only checked.
    Nowhere,
}

/// A file that is being received.
pub(super) struct Saving {
    out: Option<BufWriter<File>>,
    output: bool,
    /// The name that it has now, and the one that it shall have.
    names: Option<(PathBuf, PathBuf)>,
    /// True if it may replace a file of that name.
    replaces: bool,
    pub(super) bytes: u64,
}

/// The last part of a name, if it is one for a file: no folder, nothing hidden.
fn plain(name: &str) -> Option<&str> {
    let last = Path::new(name).file_name()?.to_str()?;
    let good = !last.starts_with('.') && !last.chars().any(|c| c.is_control() || c == '/');
    (good && last.len() <= 200).then_some(last)
}

/// Gives a file a name that nothing else has: `name`, or `name.1`, ... in its folder. Returns it. The old
/// name may still be there.
fn keep_as_new(temporary: &Path, name: &Path) -> io::Result<PathBuf> {
    let numbered = |n: u32| {
        let mut text = name.as_os_str().to_owned();
        text.push(format!(".{n}"));
        PathBuf::from(text)
    };
    for path in std::iter::once(name.to_path_buf()).chain((1..10_000).map(numbered)) {
        // A second name never replaces a file, unlike a new name. Where there are no second names, an
        // empty file keeps the place.
        let taken = match std::fs::hard_link(temporary, &path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(_) => OpenOptions::new().write(true).create_new(true).open(&path),
        };
        match taken {
            Ok(_) => return std::fs::rename(temporary, &path).map(|()| path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let text = format!("there are 10,000 files of the name {} already", name.display());
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

impl Saving {
    /// Begins a file that the sender calls `name`; `unique` tells it from others on their way.
    pub(super) fn begin(target: &Target, name: &str, unique: &str) -> io::Result<Saving> {
        let output = *target == Target::Output;
        let replaces = matches!(target, Target::File(_));
        let mut saving = Saving { out: None, output, names: None, replaces, bytes: 0 };
        let last = match target {
            Target::Nowhere | Target::Output => return Ok(saving),
            Target::File(path) => path.clone(),
            Target::Folder(folder) => {
                std::fs::create_dir_all(folder)?;
                folder.join(plain(name).unwrap_or("received"))
            }
        };
        let folder = last.parent().unwrap_or(Path::new(""));
        let short = last.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{short}.{unique}.part"));
        let out = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        saving.out = Some(BufWriter::with_capacity(256 << 10, out));
        saving.names = Some((temporary, last));
        Ok(saving)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if self.output {
            return io::stdout().lock().write_all(bytes);
        }
        match &mut self.out {
            Some(out) => out.write_all(bytes),
            None => Ok(()),
        }
    }

    /// All of it is there: gives it its name. Returns where it is.
    pub(super) fn keep(mut self) -> io::Result<String> {
        if self.output {
            io::stdout().lock().flush()?;
        }
        let (Some(out), Some((temporary, last))) = (self.out.take(), &self.names) else {
            return Ok("nowhere".into());
        };
        let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.sync_all()?;
        let last = match self.replaces {
            true => std::fs::rename(temporary, last).map(|()| last.clone()),
            false => keep_as_new(temporary, last),
        };
        let last = last?.display().to_string();
        Ok(last)
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        // What is not whole does not stay, nor does the first name of what is.
        if let Some((temporary, _)) = &self.names {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("paceline-files-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    #[test]
    fn files_appear_when_they_are_whole() {
        let folder = folder("whole");
        let target = Target::Folder(folder.clone());
        let mut file = Saving::begin(&target, "a.txt", "1").expect("a file");
        file.write(b"hello").expect("room");
        assert!(!folder.join("a.txt").exists());
        let name = file.keep().expect("a name");
        assert_eq!(std::fs::read(&name).expect("the file"), b"hello");
        // A second one of this name does not replace the first.
        let second = Saving::begin(&target, "a.txt", "2").expect("a file").keep();
        assert!(second.expect("a name").ends_with("a.txt.1"));
        // Nor do two that arrive at once.
        let both =
            ["3", "4"].map(|unique| Saving::begin(&target, "b.txt", unique).expect("a file"));
        let names = both.map(|file| file.keep().expect("a name"));
        assert!(names[0].ends_with("b.txt") && names[1].ends_with("b.txt.1"), "{names:?}");
        names.iter().for_each(|name| std::fs::remove_file(name).expect("removed"));
        // What is given up leaves nothing.
        drop(Saving::begin(&target, "b.txt", "3").expect("a file"));
        assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 2);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_file_that_was_named_by_the_user_is_replaced() {
        let folder = folder("named");
        for content in [b"one", b"two"] {
            let target = Target::File(folder.join("out"));
            let mut file = Saving::begin(&target, "in", "1").expect("a file");
            file.write(content).expect("room");
            file.keep().expect("a name");
        }
        assert_eq!(std::fs::read(folder.join("out")).expect("the file"), b"two");
        assert_eq!(std::fs::read_dir(&folder).expect("the folder").count(), 1);
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn names_never_lead_out_of_the_folder() {
        let folder = folder("names");
        let target = Target::Folder(folder.clone());
        for name in ["../../etc/passwd", "/etc/passwd", "..", "", ".bashrc", "a/../../b", "x\ny"] {
            let kept = Saving::begin(&target, name, "1").and_then(Saving::keep).expect("a file");
            let kept = PathBuf::from(kept);
            assert_eq!(kept.parent(), Some(folder.as_path()), "{name}");
            assert!(!kept.file_name().expect("a name").to_string_lossy().starts_with('.'));
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
