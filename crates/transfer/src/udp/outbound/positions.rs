//! Positions in the stream of a transfer. A connection that continues sends other heads than the first one: its positions
//! are those of a stream that begins with the first entry.

use paceline_wire::records::{HEAD, Record, Transfer, Whole};

use super::manifest::Manifest;
use super::reader::PIECE;

/// Positions of the entries of a manifest in its stream, in bytes, without the transfer record.
pub(super) struct Positions {
    /// Bytes of all records of the entries before each entry, and of all entries. The close record of a folder counts
    /// with its entry record, although its contents come between both.
    starts: Vec<u64>,
    /// Bytes of the transfer record.
    transfer: u64,
    /// Bytes of a close record.
    close: u64,
}

fn length(record: &Record<'_>, place: &mut Vec<u8>) -> u64 {
    place.clear();
    record.write(place);
    place.len() as u64
}

impl Positions {
    pub(super) fn of(manifest: &Manifest, transfer: Transfer) -> Positions {
        let mut place = Vec::new();
        let transfer = length(&Record::Transfer(transfer), &mut place);
        let whole = Some(Whole::of_nothing());
        let close = length(&Record::Close { number: 1, whole }, &mut place);
        let mut starts = Vec::with_capacity(manifest.len() as usize + 1);
        let mut position = 0;
        for number in 1..=manifest.len() {
            starts.push(position);
            let size = manifest.version(number).map_or(0, |version| version.size);
            let pieces = size.div_ceil(PIECE as u64);
            position += entry_length(manifest, number) + size + HEAD as u64 * pieces + close;
        }
        starts.push(position);
        Positions { starts, transfer, close }
    }

    /// Returns the position at which an entry begins; behind the last entry, that of the stream's end.
    pub(super) fn start(&self, manifest: &Manifest, number: u32) -> u64 {
        let index = (number as usize).saturating_sub(1);
        match self.starts.get(index) {
            // The folders around it are not closed yet.
            Some(start) if index + 1 < self.starts.len() => {
                start.saturating_sub(self.close * folders(manifest, number).count() as u64)
            }
            _ => self.end(),
        }
    }

    /// Returns the position of the stream's end.
    pub(super) fn end(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0) + HEAD as u64
    }

    /// Returns the bytes that a connection sends before it continues at an entry: the transfer record, and the entry
    /// records of the folders around the entry.
    pub(super) fn prelude(&self, manifest: &Manifest, number: u32) -> u64 {
        let folders = folders(manifest, number).map(|folder| entry_length(manifest, folder));
        self.transfer + folders.sum::<u64>()
    }
}

/// Returns the folders around an entry, innermost first.
fn folders(manifest: &Manifest, number: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(manifest.parent(number), |folder| manifest.parent(*folder))
}

fn entry_length(manifest: &Manifest, number: u32) -> u64 {
    let (mut path, mut record) = (Vec::new(), Vec::new());
    let entry = manifest.entry(number, 0, &mut path);
    entry.map_or(0, |entry| length(&Record::Entry(entry), &mut record))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    use paceline_os::WakeUps;

    use super::*;
    use crate::udp::note::Resume;
    use crate::udp::outbound::reader::{Chunk, Input, Reader, Start};
    use crate::udp::outbound::{Outbound, Source};

    /// A folder for a test, which is removed at its end.
    struct Here(PathBuf);

    impl Drop for Here {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Files, nested folders and links, among them files of one and of two pieces.
    fn tree(test: &str) -> Here {
        let path = std::env::temp_dir().join(format!("paceline-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("top/inner/empty")).expect("folders");
        let write = |name: &str, length| {
            std::fs::write(path.join("top").join(name), vec![7; length]).expect("written");
        };
        write("a", 100);
        write("inner/b", PIECE);
        write("inner/c", PIECE + 1);
        write("z", 70_000);
        std::os::unix::fs::symlink("a", path.join("top/link")).expect("a link");
        std::fs::hard_link(path.join("top/a"), path.join("top/same")).expect("a link");
        Here(path)
    }

    /// Returns the bytes that a reader sends from an entry on.
    fn sent_from(manifest: &Arc<Manifest>, entry: u32, wake_ups: &WakeUps) -> u64 {
        let input = Input::Manifest(Arc::clone(manifest), Start { entry, beginnings: Vec::new() });
        let reader = Reader::start(input, wake_ups.waker()).expect("a thread");
        let mut sent = 0;
        loop {
            match reader.take() {
                Some(Chunk::Records { bytes, .. }) => sent += bytes.len() as u64,
                Some(Chunk::End) => return sent,
                Some(_) => panic!("a problem"),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn paths(here: &Path) -> Vec<PathBuf> {
        vec![here.join("top"), here.join("top/z")]
    }

    #[test]
    fn positions_are_those_of_the_stream_from_each_entry() {
        let here = tree("positions");
        let wake_ups = WakeUps::new().expect("a file");
        let manifest = Arc::new(Manifest::of(&paths(&here.0)).expect("a list"));
        let positions = Positions::of(&manifest, manifest.transfer);
        let end = positions.end();
        assert_eq!(sent_from(&manifest, 1, &wake_ups), end);
        for entry in 2..=manifest.len() {
            let prelude = positions.prelude(&manifest, entry) - positions.transfer;
            let rest = end - positions.start(&manifest, entry);
            assert_eq!(sent_from(&manifest, entry, &wake_ups), prelude + rest, "entry {entry}");
        }
        assert_eq!(positions.start(&manifest, manifest.len() + 1), end);
    }

    /// The second connection continues where the first one ended: it repeats nothing, and its first new byte is further.
    #[test]
    fn heads_of_records_are_not_repeated_bytes() {
        let here = tree("repeated");
        let wake_ups = WakeUps::new().expect("a file");
        let source = Source::Files(paths(&here.0));
        let mut outbound = Outbound::open(&source, true).expect("a list").expect("files");
        let manifest = Arc::clone(outbound.manifest.as_ref().expect("a manifest"));
        let positions = Positions::of(&manifest, manifest.transfer);
        let last = manifest.len();
        for (entry, until) in [(1, last), (last, last + 1)] {
            outbound.on_connected(wake_ups.waker()).expect("an announcement");
            let resume = Resume { entry, ..Resume::default() };
            outbound.on_resume(resume, wake_ups.waker()).expect("an entry");
            let start = positions.start(&manifest, entry);
            let prelude = positions.prelude(&manifest, entry);
            assert!(!outbound.reaches(prelude));
            assert!(outbound.reaches(prelude + 1));
            let stream = prelude + positions.start(&manifest, until) - start;
            outbound.reaches(stream);
            outbound.on_lost(stream);
            assert_eq!(outbound.bytes.repeated, 0);
        }
        // All that follows the first entry's start is sent again.
        outbound.on_connected(wake_ups.waker()).expect("an announcement");
        let resume = Resume { entry: 1, ..Resume::default() };
        outbound.on_resume(resume, wake_ups.waker()).expect("an entry");
        assert_eq!(outbound.bytes.repeated, positions.end());
    }
}
