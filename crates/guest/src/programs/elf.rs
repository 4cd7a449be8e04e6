//! The headers of a program or a library: its architecture, its loader, and the libraries that it
//! names (System V ABI, "Dynamic Linking").

const MAGIC: &[u8] = b"\x7fELF";
/// Bytes of the file header, of an entry of the program header, and of the dynamic section.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const DYNAMIC: usize = 16;
/// Most entries of each table that are read.
const MOST_ENTRIES: usize = 4096;

/// A program or a library for x86-64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Elf {
    /// Path of the loader; `None` for libraries and static programs.
    pub(super) interpreter: Option<String>,
    /// Names of libraries (`DT_NEEDED`).
    pub(super) needed: Vec<String>,
    /// Folders in which libraries are looked for first (`DT_RPATH`, `DT_RUNPATH`).
    pub(super) folders: Vec<String>,
}

/// Result of reading a file's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program or a library that guests can run.
    Elf(Elf),
    /// A program or a library for another machine, or damaged; the text says which.
    Foreign(String),
    /// Another file.
    Other,
}

/// Reads the headers of a file.
pub(super) fn read(file: &[u8]) -> Kind {
    if !file.starts_with(MAGIC) {
        return Kind::Other;
    }
    if file.get(4) != Some(&2) || file.get(5) != Some(&1) {
        return Kind::Foreign("is for a machine of 32 bits or with big-endian numbers".into());
    }
    match (half(file, 18), half(file, 16)) {
        (Some(62), Some(2 | 3)) => {}
        (Some(62), Some(1)) => {
            return Kind::Foreign("is an object file, which is not linked yet".into());
        }
        (Some(183), _) => return Kind::Foreign("is for aarch64".into()),
        (Some(machine), _) => {
            return Kind::Foreign(format!("is for another machine (ELF number {machine})"));
        }
        (None, _) => return Kind::Foreign("is cut off".into()),
    }
    match parts(file) {
        Some(elf) => Kind::Elf(elf),
        None => Kind::Foreign("has damaged headers, or is cut off".into()),
    }
}

/// A part of the file that is loaded into memory.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    length: u64,
}

fn parts(file: &[u8]) -> Option<Elf> {
    let mut elf = Elf::default();
    let start = usize::try_from(long(file, 32)?).ok()?;
    let (size, count) = (usize::from(half(file, 54)?), usize::from(half(file, 56)?));
    if file.len() < HEADER || (count > 0 && size != SEGMENT) {
        return None;
    }
    let table = file.get(start..start.checked_add(count * size)?)?;
    let segment = |entry: &[u8]| {
        let [offset, address, length] = [8, 16, 32].map(|at| long(entry, at));
        let kind = u64::from(half(entry, 0)?);
        // The upper half of the type is 0 for the types that are read here.
        let kind = if half(entry, 2)? == 0 { kind } else { 0 };
        Some(Segment { kind, offset: offset?, address: address?, length: length? })
    };
    let segments = table.chunks_exact(SEGMENT).map(segment).collect::<Option<Vec<_>>>()?;
    let of_kind = |kind: u64| segments.iter().find(move |segment| segment.kind == kind);
    let bytes = |segment: &Segment| {
        let from = usize::try_from(segment.offset).ok()?;
        file.get(from..from.checked_add(usize::try_from(segment.length).ok()?)?)
    };
    if let Some(interpreter) = of_kind(3) {
        elf.interpreter = Some(text(bytes(interpreter)?)?);
    }
    let Some(dynamic) = of_kind(2) else { return Some(elf) };
    let entries: Vec<(u64, u64)> = bytes(dynamic)?
        .chunks_exact(DYNAMIC)
        .take(MOST_ENTRIES)
        .map_while(|entry| Some((long(entry, 0)?, long(entry, 8)?)))
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let address = entries.iter().find(|(tag, _)| *tag == 5).map(|(_, address)| *address);
    let strings = address.and_then(|address| {
        let holds = |it: &&Segment| {
            it.kind == 1 && it.address <= address && address - it.address < it.length
        };
        let segment = segments.iter().find(holds)?;
        let from = usize::try_from(segment.offset.checked_add(address - segment.address)?).ok()?;
        file.get(from..)
    });
    for (tag, value) in entries {
        if !matches!(tag, 1 | 15 | 29) {
            continue;
        }
        let name = text(strings?.get(usize::try_from(value).ok()?..)?)?;
        match tag {
            1 => elf.needed.push(name),
            _ => elf.folders.extend(name.split(':').filter(|it| !it.is_empty()).map(String::from)),
        }
    }
    Some(elf)
}

/// Returns the text up to the first zero byte.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().take(4096).position(|byte| *byte == 0)?;
    String::from_utf8(bytes[..end].to_vec()).ok()
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_names_its_loader_and_libraries() {
        let file = std::fs::read("/proc/self/exe").expect("this program");
        let Kind::Elf(elf) = read(&file) else { panic!("{:?}", read(&file)) };
        if let Some(interpreter) = &elf.interpreter {
            assert!(interpreter.starts_with('/'), "{interpreter}");
            assert!(elf.needed.iter().any(|name| name.starts_with("libc.")), "{elf:?}");
        }
    }

    #[test]
    fn other_machines_and_damaged_files_are_named() {
        let file = std::fs::read("/proc/self/exe").expect("this program");
        let with = |at: usize, byte: u8| {
            let mut file = file[..4096].to_vec();
            file[at] = byte;
            read(&file)
        };
        assert_eq!(with(0, 0), Kind::Other);
        assert_eq!(with(18, 183), Kind::Foreign("is for aarch64".into()));
        assert!(matches!(with(18, 40), Kind::Foreign(text) if text.contains("40")));
        assert!(matches!(with(4, 1), Kind::Foreign(text) if text.contains("32 bits")));
        assert!(matches!(with(16, 1), Kind::Foreign(text) if text.contains("object file")));
        assert!(matches!(with(39, 255), Kind::Foreign(text) if text.contains("damaged")));
        // Headers of every length, and with any byte changed, are read or refused.
        for length in 0..512 {
            read(&file[..length]);
            with(length, 0xff);
        }
    }
}
