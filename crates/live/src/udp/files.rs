//! Where a server keeps what it receives. A file has no name until all of it is there, or, where the file
//! system has no such files, a hidden one that ends with `.part`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use nix::unistd::{PathconfVar, pathconf};

use super::names::{NAME_MAX, fit, kept_name};
use super::output::Output;
use crate::linux::unnamed;

/// Where what arrives goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Into this file, whatever its name was.
    File(PathBuf),
    /// Into this folder, under its own name.
    Folder(PathBuf),
    /// To standard output: one sender at a time, one file at a time.
    Output,
    /// Nowhere: it is only checked.
    Nowhere,
}

impl Target {
    /// Whether two files at once are in each other's way.
    pub(super) fn is_output(&self) -> bool {
        *self == Target::Output
    }
}

/// A file that is being received.
pub(super) enum IncomingFile {
    /// Into a file.
    File(BufWriter<File>, FileNames),
    /// To standard output.
    Output,
    /// Nowhere.
    Nowhere,
}

/// The names of a file that is being received.
pub(super) struct FileNames {
    /// The one that it shall have.
    last: PathBuf,
    /// Longest name in bytes in its folder.
    longest: usize,
    /// True if it may replace a file of that name.
    replaces: bool,
    /// The one that it has until then, if it has one.
    temporary: PathBuf,
    is_named: bool,
}

impl FileNames {
    /// The folder in which the file is.
    fn folder(&self) -> &Path {
        match self.last.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        }
    }

    /// Begins the file. `named` is false if it may be without a name.
    fn create(&mut self, named: bool) -> io::Result<File> {
        let folder = self.folder();
        if let (false, Ok(file)) = (named, unnamed::create(folder)) {
            return Ok(file);
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&self.temporary)?;
        self.is_named = true;
        Ok(file)
    }

    /// Gives the file a further name, or its first. Never replaces a file.
    fn link(&self, file: &File, path: &Path) -> io::Result<()> {
        match self.is_named {
            true => std::fs::hard_link(&self.temporary, path),
            false => unnamed::name(file, path),
        }
    }

    /// Gives the complete file the name that it shall have. The temporary name may still be there. Returns
    /// where the file is.
    fn keep(&mut self, file: &File) -> io::Result<PathBuf> {
        if !self.replaces {
            return self.keep_as_new(file);
        }
        if !self.is_named {
            match self.link(file, &self.last) {
                Ok(()) => return Ok(self.last.clone()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            // Only a name can take the place of another file.
            self.link(file, &self.temporary)?;
            self.is_named = true;
        }
        std::fs::rename(&self.temporary, &self.last).map(|()| self.last.clone())
    }

    /// Gives the file a name that nothing else has: its own, or with `.1`, ... behind it.
    fn keep_as_new(&self, file: &File) -> io::Result<PathBuf> {
        let name = self.last.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let numbered =
            |n: u32| self.last.with_file_name(fit(&name, &format!(".{n}"), self.longest));
        for path in std::iter::once(self.last.clone()).chain((1..10_000).map(numbered)) {
            // A second name never replaces a file, unlike a new name. Where there are no second names, an
            // empty file keeps the place.
            let taken = match self.link(file, &path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) if !self.is_named => return Err(error),
                Err(_) => OpenOptions::new().write(true).create_new(true).open(&path),
            };
            match taken {
                Ok(_) => return std::fs::rename(&self.temporary, &path).map(|()| path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let name = self.last.display();
        let text = format!("there are 10,000 files of the name {name} already");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
    }
}

impl Drop for FileNames {
    fn drop(&mut self) {
        // What is not whole does not stay, nor does the first name of what is.
        if self.is_named {
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// Writes a folder's entries to the disk: only then does a new name outlive a power cut. A folder that this user may
/// write to and not read, and a file system that cannot do this, are left as they are.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Makes a folder, unless it is there.
fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    folder.parent().map_or(Ok(()), sync_folder)
}

impl IncomingFile {
    /// Begins a file that the sender calls `name`; `unique` tells it from others on their way.
    pub(super) fn begin(target: &Target, name: &str, unique: &str) -> io::Result<IncomingFile> {
        IncomingFile::begin_as(target, name, unique, false)
    }

    /// As [`IncomingFile::begin`]; `named` if the file is to have a name on its way in any case.
    fn begin_as(
        target: &Target,
        name: &str,
        unique: &str,
        named: bool,
    ) -> io::Result<IncomingFile> {
        let mut longest = NAME_MAX;
        let last = match target {
            Target::Nowhere => return Ok(IncomingFile::Nowhere),
            Target::Output => return Ok(IncomingFile::Output),
            Target::File(path) => path.clone(),
            Target::Folder(folder) => {
                make_folder(folder)?;
                if let Ok(Some(most)) = pathconf(folder, PathconfVar::NAME_MAX) {
                    longest = usize::try_from(most).unwrap_or(NAME_MAX);
                }
                folder.join(fit(&kept_name(name), "", longest))
            }
        };
        let temporary = last.with_file_name(format!(".paceline-{unique}.part"));
        let replaces = matches!(target, Target::File(_));
        let mut names = FileNames { last, longest, replaces, temporary, is_named: false };
        let out = BufWriter::with_capacity(256 << 10, names.create(named)?);
        Ok(IncomingFile::File(out, names))
    }

    /// Takes the next bytes of it; `output` is where they go if that is standard output.
    pub(super) fn write(&mut self, bytes: &[u8], output: Output<'_>) -> io::Result<()> {
        match self {
            IncomingFile::File(out, _) => out.write_all(bytes),
            IncomingFile::Output => output.write(bytes),
            IncomingFile::Nowhere => Ok(()),
        }
    }

    /// All of it is there: gives it its name. Returns where it is.
    pub(super) fn keep(self) -> io::Result<String> {
        let (out, mut names) = match self {
            IncomingFile::File(out, names) => (out, names),
            IncomingFile::Output => return Ok("standard output".into()),
            IncomingFile::Nowhere => return Ok("/dev/null".into()),
        };
        let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.sync_all()?;
        let path = names.keep(&out)?;
        sync_folder(names.folder())?;
        Ok(path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::super::output::OutputOwner;
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("paceline-files-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// The same with files that have no name on their way, if this file system has such, and with named ones.
    fn both_ways(name: &str, test: impl Fn(&Path, bool)) {
        for named in [false, true] {
            let folder = folder(&format!("{name}-{named}"));
            if !named && unnamed::create(&folder).is_err() {
                paceline_testing::skip(
                    paceline_testing::Need::Kernel,
                    &paceline_testing::this_test(),
                    "the file system has no files without names",
                );
                continue;
            }
            test(&folder, named);
            std::fs::remove_dir_all(&folder).expect("removed");
        }
    }

    fn write(file: &mut IncomingFile, bytes: &[u8]) {
        // Nothing is written to standard output here.
        let (input, owner) = (io::stdin(), OutputOwner::default());
        let output = Output { ends: [input.as_fd(); 2], owner: &owner };
        file.write(bytes, output).expect("room");
    }

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).expect("the folder").count()
    }

    #[test]
    fn files_appear_when_they_are_whole() {
        both_ways("whole", |folder, named| {
            let target = Target::Folder(folder.to_path_buf());
            let begin = |name, unique| {
                IncomingFile::begin_as(&target, name, unique, named).expect("a file")
            };
            let mut file = begin("a.txt", "1");
            write(&mut file, b"hello");
            assert!(!folder.join("a.txt").exists());
            assert_eq!(entries(folder), usize::from(named));
            let name = file.keep().expect("a name");
            assert_eq!(std::fs::read(&name).expect("the file"), b"hello");
            // A second one of this name does not replace the first.
            let second = begin("a.txt", "2").keep();
            assert!(second.expect("a name").ends_with("a.txt.1"));
            // Nor do two that arrive at once.
            let names = ["3", "4"].map(|unique| begin("b.txt", unique));
            let names = names.map(|file| file.keep().expect("a name"));
            assert!(names[0].ends_with("b.txt") && names[1].ends_with("b.txt.1"), "{names:?}");
            names.iter().for_each(|name| std::fs::remove_file(name).expect("removed"));
            // Nor does one whose name somebody else has taken meanwhile, with a folder or a link.
            let names = [("c.txt", "5"), ("d.txt", "6")].map(|(name, unique)| begin(name, unique));
            std::fs::create_dir(folder.join("c.txt")).expect("a folder");
            std::os::unix::fs::symlink("a.txt", folder.join("d.txt")).expect("a link");
            let names = names.map(|file| file.keep().expect("a name"));
            assert!(names[0].ends_with("c.txt.1") && names[1].ends_with("d.txt.1"), "{names:?}");
            assert_eq!(std::fs::read(folder.join("a.txt")).expect("the file"), b"hello");
            // What is given up leaves nothing.
            drop(begin("b.txt", "3"));
            assert_eq!(entries(folder), 6);
        });
    }

    #[test]
    fn a_file_that_was_named_by_the_user_is_replaced() {
        both_ways("replaced", |folder, named| {
            let target = Target::File(folder.join("out"));
            for content in [b"one", b"two"] {
                let mut file = IncomingFile::begin_as(&target, "in", "1", named).expect("a file");
                write(&mut file, content);
                file.keep().expect("a name");
            }
            assert_eq!(std::fs::read(folder.join("out")).expect("the file"), b"two");
            assert_eq!(entries(folder), 1);
            // A folder cannot be replaced; then nothing half stays.
            let target = Target::File(folder.join("taken"));
            let file = IncomingFile::begin_as(&target, "in", "1", named).expect("a file");
            std::fs::create_dir(folder.join("taken")).expect("a folder");
            assert!(file.keep().is_err());
            assert_eq!(entries(folder), 2);
        });
    }

    #[test]
    fn names_never_lead_out_of_the_folder() {
        both_ways("names", |folder, named| {
            let target = Target::Folder(folder.to_path_buf());
            let long = "x".repeat(255);
            for name in [
                "../../etc/passwd",
                "/etc/passwd",
                "..",
                "",
                ".bashrc",
                "a/../../b",
                "x\ny",
                &long,
                &long,
            ] {
                let kept = IncomingFile::begin_as(&target, name, "1", named)
                    .and_then(IncomingFile::keep)
                    .expect("a file");
                let kept = PathBuf::from(kept);
                assert_eq!(kept.parent(), Some(folder), "{name}");
                assert!(!kept.file_name().expect("a name").to_string_lossy().starts_with('.'));
            }
            assert!(folder.join(&long).exists() && folder.join("%2Ebashrc").exists());
        });
    }
}
