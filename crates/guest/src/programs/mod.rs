//! Programs of the user's at a host: their command lines, and the file system that the host gets.
//!
//! The files are copied into an archive behind the initramfs, which the guest's kernel unpacks into its
//! memory. Programs see nothing of the machine: `hostfs` would show them its inodes, times and order
//! of names, by which runs differ, and would let them fill its disk.

mod elf;
mod libraries;
mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use paceline_cc::Time;
use paceline_sim::TransportSetup;
use paceline_sim::scenario::{Listens, Programs};

use self::elf::Kind;
use self::tree::Tree;
use crate::build::{sha256, short};
use crate::error::Error;
use crate::host::{FIRST_PORT, Flows, Role};
use crate::settings::HostSettings;

/// Where `/init` finds the command line of connection N: the program's path, the number of its
/// arguments, the arguments, and its environment, each with a zero byte at its end.
const DESCRIPTIONS: &str = "/.paceline";
/// Most bytes and texts of a description (`MAX_DESCRIPTION` and `MAX_TEXTS` of /init).
const MOST_BYTES: usize = 60_000;
const MOST_TEXTS: usize = 1000;
/// Working folder of programs; files without a place of their own are there.
const WORK: &str = "/work";
/// Folders of the guest in which programs are found by name.
const PATH: &str = "/work:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Most interpreters of scripts that are scripts.
const MOST_SCRIPTS: u32 = 4;

/// The programs of a host.
#[derive(Debug, Default)]
pub(crate) struct HostPrograms {
    /// Archive of its files; empty without programs.
    pub(crate) archive: Vec<u8>,
    /// First digits of the SHA-256 of the archive.
    pub(crate) files_sha256: String,
    /// Arguments of each flow's program, if it has one.
    pub(crate) arguments: Vec<Option<Vec<String>>>,
}

/// Returns the program of a flow at one of its hosts; `None` for the built-in one.
pub(crate) fn of_flow(role: Role, setup: &TransportSetup) -> Option<&Vec<String>> {
    let programs = setup.programs.as_ref()?;
    if role == Role::Sender { programs.sender.as_ref() } else { programs.receiver.as_ref() }
}

/// True if a flow's program at this host is started before the run begins.
pub(crate) fn listens(role: Role, programs: &Programs) -> bool {
    match programs.listens {
        Listens::Receiver => role == Role::Receiver,
        Listens::Sender => role == Role::Sender,
        Listens::Neither => false,
    }
}

/// Path of the description of connection `number`.
pub(crate) fn description(number: usize) -> String {
    format!("{DESCRIPTIONS}/{number}")
}

/// Returns the programs of a host of these flows, with their files.
///
/// # Errors
/// A program or a file is missing or cannot be run at a guest, or the files are too large.
pub(crate) fn of_host(role: Role, flows: &Flows) -> Result<HostPrograms, Error> {
    let mut all = HostPrograms { arguments: vec![None; flows.len()], ..HostPrograms::default() };
    let with_programs: Vec<_> = flows
        .iter()
        .enumerate()
        .filter_map(|(number, (settings, setup))| {
            let arguments = of_flow(role, setup)?;
            Some((number, settings, setup, setup.programs.as_ref()?, arguments))
        })
        .filter(|(.., arguments)| !arguments.is_empty())
        .collect();
    if with_programs.is_empty() {
        return Ok(all);
    }
    let mut roots = with_programs.iter().map(|(_, _, _, programs, _)| programs.root.as_deref());
    let root = roots.next().flatten();
    if roots.any(|other| other != root) {
        return Err(Error::Unusable(
            "flows of one host have different folders as root; write one for all, or give the flows \
             different hosts"
                .into(),
        ));
    }
    let mut image = Image::new(root).map_err(Error::Unusable)?;
    for (number, settings, setup, programs, arguments) in with_programs {
        let arguments: Vec<String> =
            arguments.iter().map(|it| filled(it, role, number, settings, setup)).collect();
        let named = |error: String| {
            let name = arguments.first().map_or("", String::as_str);
            Error::Unusable(format!("the program `{name}`: {error}"))
        };
        for file in &programs.files {
            image.add(programs, file).map_err(Error::Unusable)?;
        }
        let (place, argument) = image.program(programs, &arguments[0]).map_err(named)?;
        let mut texts = vec![place, arguments.len().to_string(), argument];
        texts.extend_from_slice(&arguments[1..]);
        let mut environment: BTreeMap<&str, String> =
            [("HOME", "/root"), ("LANG", "C.UTF-8"), ("PATH", PATH)]
                .map(|(name, value)| (name, value.to_string()))
                .into();
        for (name, value) in &programs.environment {
            environment.insert(name, filled(value, role, number, settings, setup));
        }
        texts.extend(environment.iter().map(|(name, value)| format!("{name}={value}")));
        let content: Vec<u8> = texts.iter().flat_map(|it| it.bytes().chain([0])).collect();
        if content.len() > MOST_BYTES || texts.len() > MOST_TEXTS {
            return Err(named(format!(
                "has more than {MOST_BYTES} bytes or {MOST_TEXTS} arguments and variables; write them \
                 into a file"
            )));
        }
        image.tree.file(&description(number), content, false).map_err(Error::Unusable)?;
        all.arguments[number] = Some(arguments);
    }
    all.archive = image.tree.archive();
    all.files_sha256 = short(&sha256(&all.archive)).to_string();
    Ok(all)
}

/// Returns a text with its placeholders filled.
fn filled(
    text: &str,
    role: Role,
    number: usize,
    settings: &HostSettings,
    setup: &TransportSetup,
) -> String {
    let lasts = setup.stop.min(setup.end).since(setup.start.min(setup.end));
    let seconds = if setup.end == Time::NEVER { 1 } else { lasts.as_nanos() / 1_000_000_000 };
    text.replace("{address}", &role.peer().address())
        .replace("{own_address}", &role.address())
        .replace("{port}", &(FIRST_PORT + number as u16).to_string())
        .replace("{cc}", &settings.scheme)
        .replace("{seconds}", &seconds.max(1).to_string())
}

/// The file system of a host under construction.
struct Image {
    tree: Tree,
    /// Folder that has all files, if the scenario names one.
    root: Option<PathBuf>,
    /// Folders and names of libraries.
    system: Vec<PathBuf>,
    known: Vec<String>,
}

impl Image {
    fn new(root: Option<&Path>) -> Result<Image, String> {
        let hosts = format!(
            "127.0.0.1 localhost\n{} sender\n{} receiver\n",
            Role::Sender.address(),
            Role::Receiver.address()
        );
        let tree = match root {
            None => Tree::usual(&hosts),
            Some(root) => {
                let mut tree = Tree::default();
                if !root.is_dir() {
                    return Err(format!("root = \"{}\" is not a folder", root.display()));
                }
                tree.copy(root, "/")?;
                if let Some(name) = ["init", ".paceline"].into_iter().find(|name| tree.has(name)) {
                    return Err(format!("{}: has /{name}, which is Paceline's", root.display()));
                }
                tree.basics(&hosts);
                tree
            }
        };
        let root = root.map(Path::to_path_buf);
        Ok(Image { tree, root, system: libraries::folders(), known: Vec::new() })
    }

    /// Adds a file or a folder, written as `FILE` or `FILE:PLACE`.
    fn add(&mut self, programs: &Programs, written: &str) -> Result<(), String> {
        let (file, place) = match written.split_once(':') {
            Some((file, place)) if place.starts_with('/') => (file, place.to_string()),
            Some((file, place)) => (file, format!("{WORK}/{place}")),
            None => (written, placed(written)),
        };
        let path = found(programs, file);
        self.tree.copy(&path, &place).map_err(|error| format!("files: {error}"))?;
        match self.tree.read(&place) {
            // A program for another machine may be data here.
            Some((content, true)) if !matches!(elf::read(content), Kind::Foreign(_)) => {
                let content = content.to_vec();
                self.needs(programs, &path, &content, MOST_SCRIPTS)
                    .map_err(|error| format!("files: {file}: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Adds a program. Returns its path at the guest, and its first argument.
    fn program(&mut self, programs: &Programs, name: &str) -> Result<(String, String), String> {
        if name.is_empty() {
            return Err("has no name".into());
        }
        if self.root.is_some() {
            return self.of_root(name).map(|place| (place, name.to_string()));
        }
        let (path, place, argument) = if name.contains('/') {
            let place = placed(name);
            // A file that the scenario has brought to this place.
            if self.tree.has(&place) && !found(programs, name).exists() {
                let (content, is_executable) =
                    self.tree.read(&place).ok_or("is not a file at its host")?;
                check(content, is_executable)?;
                return Ok((place.clone(), place));
            }
            (found(programs, name), place.clone(), place)
        } else {
            let brought = format!("{WORK}/{name}");
            if let Some((content, is_executable)) = self.tree.read(&brought) {
                check(content, is_executable)?;
                return Ok((brought, name.into()));
            }
            let path = in_path(name)?;
            let place = path.to_string_lossy().into_owned();
            (path, place, name.to_string())
        };
        self.bring(programs, &path, &place, MOST_SCRIPTS)?;
        Ok((place, argument))
    }

    /// Copies a program to `place`, with all that it needs.
    fn bring(
        &mut self,
        programs: &Programs,
        path: &Path,
        place: &str,
        scripts: u32,
    ) -> Result<(), String> {
        let failed = |error| format!("{}: {error}", path.display());
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            return Err(format!("{}: is a folder", path.display()));
        }
        self.tree.copy(path, place)?;
        let is_executable = metadata.permissions().mode() & 0o111 != 0;
        let (content, _) =
            self.tree.read(place).ok_or_else(|| format!("{place}: is not a file"))?;
        let content = content.to_vec();
        check(&content, is_executable).map_err(|error| format!("{} {error}", path.display()))?;
        self.needs(programs, path, &content, scripts)
    }

    /// Adds the loader and the libraries of a program, or the interpreter of a script.
    fn needs(
        &mut self,
        programs: &Programs,
        path: &Path,
        content: &[u8],
        scripts: u32,
    ) -> Result<(), String> {
        if self.root.is_some() {
            return Ok(());
        }
        if let Some((interpreter, argument)) = interpreter(content) {
            if scripts == 0 {
                return Err(
                    "its interpreter is a script, whose interpreter is one, and so on".into()
                );
            }
            if interpreter.ends_with("/env") && !argument.is_empty() {
                let name = argument.split_whitespace().find(|word| !word.starts_with('-'));
                if let Some(name) = name.filter(|name| !name.contains('/')) {
                    let path = in_path(name)?;
                    let place = path.to_string_lossy().into_owned();
                    self.bring(programs, &path, &place, scripts - 1)?;
                }
            }
            return self
                .bring(programs, Path::new(&interpreter), &interpreter, scripts - 1)
                .map_err(|error| format!("its interpreter: {error}"));
        }
        let Kind::Elf(elf) = elf::read(content) else { return Ok(()) };
        if let Some(loader) = &elf.interpreter
            && !self.tree.has(loader)
        {
            self.tree.copy(Path::new(loader), loader).map_err(|error| {
                format!(
                    "its loader is missing: {error}; install its C library, link the program \
                     statically, or give a whole file system with root"
                )
            })?;
        }
        for library in libraries::find(path, &elf, &self.system, &self.known)? {
            let place = match library.name.starts_with('/') {
                true => library.name.clone(),
                false => format!("/lib/{}", library.name),
            };
            self.tree
                .file(&place, library.content, true)
                .map_err(|error| format!("{}: {error}", library.path.display()))?;
            self.known.push(library.name);
        }
        Ok(())
    }

    /// Returns the path of a program in a file system of the user's.
    fn of_root(&self, name: &str) -> Result<String, String> {
        let places: Vec<String> = match name.contains('/') {
            true => vec![placed(name)],
            false => PATH.split(':').map(|folder| format!("{folder}/{name}")).collect(),
        };
        let root = self.root.as_deref().unwrap_or(Path::new("/")).display();
        let place = places.into_iter().find(|place| self.tree.read(place).is_some());
        let place =
            place.ok_or_else(|| format!("is not in root = \"{root}\" (looked in {PATH})"))?;
        if let Some((content, is_executable)) = self.tree.read(&place) {
            check(content, is_executable)?;
            let needed = match (elf::read(content), interpreter(content)) {
                (Kind::Elf(elf), _) => elf.interpreter,
                (_, script) => script.map(|(interpreter, _)| interpreter),
            };
            if let Some(needed) = needed.filter(|needed| self.tree.read(needed).is_none()) {
                return Err(format!("needs {needed}, which is not in root = \"{root}\""));
            }
        }
        Ok(place)
    }
}

/// Returns the path at a guest of a file that is written so: an absolute path stays; other files
/// are in the working folder.
fn placed(written: &str) -> String {
    if written.starts_with('/') {
        return written.to_string();
    }
    let name = Path::new(written).file_name().unwrap_or_default().to_string_lossy();
    format!("{WORK}/{name}")
}

/// Returns the path of a file that a scenario names.
fn found(programs: &Programs, written: &str) -> PathBuf {
    let beside = programs.folder.as_ref().map(|folder| folder.join(written));
    beside.filter(|path| path.exists()).unwrap_or_else(|| written.into())
}

/// Finds a program by its name, as a shell of root would.
fn in_path(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    let all = folders.chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from));
    let mut candidates = all.filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    let is_program = |path: &PathBuf| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    candidates.find(is_program).ok_or_else(|| {
        "this machine has no such program in PATH; install it, or write its path".to_string()
    })
}

/// Checks that a guest can execute this file.
fn check(content: &[u8], is_executable: bool) -> Result<(), String> {
    if !is_executable {
        return Err("is not executable: use chmod +x".into());
    }
    match elf::read(content) {
        Kind::Elf(_) => Ok(()),
        Kind::Foreign(problem) => Err(format!("{problem}; guests run programs for x86-64")),
        Kind::Other if content.starts_with(b"#!") => Ok(()),
        Kind::Other => {
            Err("is neither a program for Linux nor a script with #! in its first line".into())
        }
    }
}

/// Returns the interpreter of a script and its argument.
fn interpreter(content: &[u8]) -> Option<(String, String)> {
    let line = content.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line.get(..line.len().min(255))?).trim().to_string();
    let (path, argument) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
    Some((path.to_string(), argument.trim().to_string()))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
