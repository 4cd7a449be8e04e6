//! Where a server keeps what it receives. A file has no name until all of it is there, or, where the file
//! system has no such files, a hidden one that ends with `.part`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::output::Output;
use crate::linux::unnamed;

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
pub(super) struct IncomingFile {
    out: Option<BufWriter<File>>,
    output: bool,
    names: Option<FileNames>,
}

/// The last part of a name, if it is one for a file: no folder, nothing hidden.
fn plain(name: &str) -> Option<&str> {
    let last = Path::new(name).file_name()?.to_str()?;
    let good = !last.starts_with('.') && !last.chars().any(|c| c.is_control() || c == '/');
    (good && last.len() <= 200).then_some(last)
}

/// The names of a file that is being received.
struct FileNames {
    /// The one that it shall have.
    last: PathBuf,
    /// True if it may replace a file of that name.
    replaces: bool,
    /// The one that it has until then, if it has one.
    temporary: PathBuf,
    is_named: bool,
}

impl FileNames {
    /// Begins the file. `named` is false if it may be without a name.
    fn create(&mut self, named: bool) -> io::Result<File> {
        let folder = self.last.parent().unwrap_or(Path::new(""));
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
        let numbered = |n: u32| {
            let mut text = self.last.as_os_str().to_owned();
            text.push(format!(".{n}"));
            PathBuf::from(text)
        };
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
        let output = *target == Target::Output;
        let mut incoming = IncomingFile { out: None, output, names: None };
        let last = match target {
            Target::Nowhere | Target::Output => return Ok(incoming),
            Target::File(path) => path.clone(),
            Target::Folder(folder) => {
                std::fs::create_dir_all(folder)?;
                folder.join(plain(name).unwrap_or("received"))
            }
        };
        let short = last.file_name().unwrap_or_default().to_string_lossy();
        let temporary = last.with_file_name(format!(".{short}.{unique}.part"));
        let replaces = matches!(target, Target::File(_));
        let mut names = FileNames { last, replaces, temporary, is_named: false };
        let out = names.create(named)?;
        incoming.out = Some(BufWriter::with_capacity(256 << 10, out));
        incoming.names = Some(names);
        Ok(incoming)
    }

    /// Takes the next bytes of it; `output` is where they go if that is standard output.
    pub(super) fn write(&mut self, bytes: &[u8], output: Output<'_>) -> io::Result<()> {
        if self.output {
            return output.write(bytes);
        }
        match &mut self.out {
            Some(out) => out.write_all(bytes),
            None => Ok(()),
        }
    }

    /// All of it is there: gives it its name. Returns where it is.
    pub(super) fn keep(mut self) -> io::Result<String> {
        let (Some(out), Some(mut names)) = (self.out.take(), self.names.take()) else {
            return Ok("nowhere".into());
        };
        let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.sync_all()?;
        names.keep(&out).map(|path| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

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
        let input = io::stdin();
        let output = Output { ends: [input.as_fd(); 2] };
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
            let names = ["c.txt", "d.txt"].map(|name| begin(name, "5"));
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
        let folder = folder("names");
        let target = Target::Folder(folder.clone());
        for name in ["../../etc/passwd", "/etc/passwd", "..", "", ".bashrc", "a/../../b", "x\ny"] {
            let kept = IncomingFile::begin(&target, name, "1")
                .and_then(IncomingFile::keep)
                .expect("a file");
            let kept = PathBuf::from(kept);
            assert_eq!(kept.parent(), Some(folder.as_path()), "{name}");
            assert!(!kept.file_name().expect("a name").to_string_lossy().starts_with('.'));
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
