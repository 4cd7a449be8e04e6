use paceline_cc::Stream;

use super::*;

const TRANSFER: Record<'static> =
    Record::Transfer(Transfer { id: [7; 32], resumable: true, entries: 9, bytes: Some(1007) });

fn entry<'a>(number: u32, path: &'a str, content: Content<'a>) -> Record<'a> {
    Record::Entry(Entry {
        number,
        is_top_level: !path.contains('/'),
        mode: Some(0o644),
        mtime: Some(Mtime { seconds: -5, nanoseconds: 999_999_999 }),
        path: path.as_bytes(),
        content,
    })
}

fn file(number: u32, path: &str, size: Option<u64>) -> Record<'_> {
    entry(number, path, Content::File { size, offset: 0 })
}

fn folder(number: u32, path: &str) -> Record<'_> {
    entry(number, path, Content::Folder)
}

fn piece(number: u32, bytes: &[u8]) -> Record<'_> {
    Record::Piece { number, bytes }
}

/// Returns the close record of a file with these bytes; without bytes, of a folder or link.
fn close(number: u32, bytes: &[u8]) -> Record<'static> {
    let mut hash = FileHash::default();
    hash.update(bytes);
    Record::Close { number, whole: Some(hash.whole()) }
}

const GIVEN_UP: Record<'static> = Record::Close { number: 8, whole: None };

/// Returns a transfer with all kinds of entries.
fn records() -> Vec<Record<'static>> {
    vec![
        TRANSFER,
        file(1, "first", Some(7)),
        piece(1, b"abc"),
        piece(1, b"defg"),
        close(1, b"abcdefg"),
        folder(2, "d"),
        file(3, "d/zweite Äpfel", None),
        piece(3, b""),
        piece(3, &[9; 1000]),
        close(3, &[9; 1000]),
        folder(4, "d/e"),
        entry(5, "d/e/link", Content::Symlink { target: b"../x" }),
        close(5, b""),
        close(4, b""),
        entry(6, "d/hard", Content::HardLink { target: 3 }),
        close(6, b""),
        file(7, "d/empty", Some(0)),
        close(7, b""),
        file(8, "d/unreadable", Some(100)),
        GIVEN_UP,
        close(2, b""),
        file(9, "last", Some(0)),
        close(9, b""),
        Record::End,
    ]
}

fn stream(records: &[Record<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.write(&mut bytes));
    bytes
}

/// Reads a stream. Returns the records in written form, with each part of a piece as a record of
/// its own.
fn read(
    bytes: &[u8],
    cut: &mut dyn FnMut() -> usize,
) -> Result<Vec<(u32, Vec<u8>)>, crate::FormatError> {
    let mut unpacker = Unpacker::new();
    let (mut rest, mut seen) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (now, later) = rest.split_at(cut().min(rest.len()));
        rest = later;
        unpacker.push(now, &mut |record| {
            let (mut bytes, number) = (
                Vec::new(),
                match record {
                    Record::Piece { number, .. } => number,
                    _ => 0,
                },
            );
            record.write(&mut bytes);
            seen.push((number, bytes));
        })?;
    }
    Ok(seen)
}

/// Returns the files that come out: number, content, and whether length and hash match the
/// sender's.
fn files(bytes: &[u8]) -> Vec<(u32, Vec<u8>, bool)> {
    let mut files: Vec<(u32, Vec<u8>, bool)> = Vec::new();
    let mut hash = FileHash::default();
    let mut unpacker = Unpacker::new();
    let _ = unpacker.push(bytes, &mut |record| match record {
        Record::Entry(Entry { number, content: Content::File { .. }, .. }) => {
            hash = FileHash::default();
            files.push((number, Vec::new(), false));
        }
        Record::Piece { bytes, .. } => {
            hash.update(bytes);
            files.last_mut().expect("an open file").1.extend(bytes);
        }
        Record::Close { number, whole } => {
            if let Some(file) = files.last_mut().filter(|file| file.0 == number) {
                file.2 = whole == Some(hash.whole());
            }
        }
        _ => {}
    });
    files
}

#[test]
fn records_come_out_as_they_went_in_however_the_stream_is_cut() {
    let bytes = stream(&records());
    let whole: Vec<Vec<u8>> =
        read(&bytes, &mut || bytes.len()).expect("good records").into_iter().map(|r| r.1).collect();
    // All records except the empty piece, which is not passed on.
    let expected = records().into_iter().filter(|record| *record != piece(3, b""));
    let expected: Vec<Vec<u8>> = expected.map(|record| stream(&[record])).collect();
    assert_eq!(whole, expected);
    let mut random = Stream::new(1, "records");
    for _ in 0..500 {
        let seen = read(&bytes, &mut || 1 + random.below(40) as usize).expect("good records");
        // Joins the parts of pieces again.
        let mut joined: Vec<(u32, Vec<u8>)> = Vec::new();
        for (number, record) in seen {
            let content = record.get(HEAD..).unwrap_or_default().to_vec();
            match joined.last_mut() {
                Some((last, bytes)) if number != 0 && *last == number => bytes.extend(content),
                _ => joined.push((number, content)),
            }
        }
        let pieces: Vec<_> = joined.into_iter().filter(|(number, _)| *number != 0).collect();
        assert_eq!(pieces, [(1, b"abcdefg".to_vec()), (3, vec![9; 1000])]);
    }
}

#[test]
fn changed_records_are_never_taken_for_whole_files() {
    let bytes = stream(&records());
    let good = files(&bytes);
    assert_eq!(good.iter().filter(|file| file.2).count(), 4);
    let mut random = Stream::new(2, "records");
    for _ in 0..20_000 {
        let mut wrong = bytes.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(wrong.len() as u64) as usize;
            wrong[at] = random.next_u64() as u8;
        }
        wrong.truncate(random.below(wrong.len() as u64 * 2).max(1) as usize);
        for file in files(&wrong) {
            assert!(!file.2 || good.iter().any(|known| known.1 == file.1), "{file:?}");
        }
    }
}

/// Returns whether a stream of the first `good` records and `more` is refused.
fn is_refused(good: usize, more: &[Record<'_>]) -> bool {
    let mut all = records();
    all.truncate(good);
    let mut unpacker = Unpacker::new();
    unpacker.push(&stream(&all), &mut |_| {}).expect("good records");
    let mut seen = 0;
    let result = unpacker.push(&stream(more), &mut |_| seen += 1);
    assert!(result.is_ok() || seen < more.len());
    result.is_err()
}

#[test]
fn records_in_another_order_are_refused() {
    // Without a transfer record, with two, and after the end.
    assert!(is_refused(0, &[file(1, "a", None)]) && is_refused(0, &[Record::End]));
    assert!(is_refused(1, &[TRANSFER]));
    let count = records().len();
    assert!(is_refused(count, &[file(9, "a", None)]) && is_refused(count, &[Record::End]));
    assert!(is_refused(count, &[TRANSFER]));
    // Numbers that do not increase, or that are beyond the transfer's entries.
    assert!(is_refused(5, &[file(1, "b", None)]) && is_refused(1, &[file(0, "b", None)]));
    assert!(is_refused(5, &[file(10, "b", None)]) && !is_refused(5, &[file(9, "b", None)]));
    // Two open files; a piece or the close of another file, of a folder, or of no entry.
    assert!(is_refused(2, &[file(2, "b", None)]) && is_refused(2, &[folder(2, "b")]));
    assert!(is_refused(2, &[piece(2, b"x")]) && is_refused(6, &[piece(2, b"x")]));
    assert!(is_refused(5, &[piece(1, b"x")]) && is_refused(5, &[close(1, b"")]));
    assert!(is_refused(7, &[close(2, b"")]) && is_refused(11, &[close(2, b"")]));
    assert!(is_refused(12, &[piece(5, b"")]));
    // More bytes than the size; a folder with a length.
    assert!(is_refused(4, &[piece(1, b"x")]) && !is_refused(4, &[piece(1, b"")]));
    assert!(is_refused(6, &[close(2, b"x")]));
    // The end while an entry is open.
    assert!(is_refused(2, &[Record::End]) && is_refused(6, &[Record::End]));
    // Entries outside the open folder.
    for path in ["b", "e/b", "d/e/b", "dd/b"] {
        assert!(is_refused(6, &[file(3, path, None)]), "{path}");
    }
    assert!(is_refused(5, &[file(3, "d/b", None)]));
    // A folder continues after the one within it.
    assert!(!is_refused(14, &[file(6, "d/b", None)]) && is_refused(14, &[file(6, "d/e/b", None)]));
}

#[test]
fn a_stream_goes_on_within_folders() {
    let records = [
        TRANSFER,
        folder(2, "d"),
        folder(4, "d/e"),
        entry(8, "d/e/f", Content::File { size: Some(10), offset: 7 }),
        piece(8, b"xyz"),
        close(8, b"abcdefgxyz"),
        close(4, b""),
        close(2, b""),
        Record::End,
    ];
    let bytes = stream(&records);
    assert!(read(&bytes, &mut || 3).is_ok());
    let more = [&records[..4], &[piece(8, b"wxyz")]].concat();
    assert!(read(&stream(&more), &mut || 1000).is_err());
}

/// Returns whether an entry is refused when it is read.
fn is_bad(entry: Record<'_>) -> bool {
    let bytes = stream(&[TRANSFER, entry]);
    read(&bytes, &mut || bytes.len()).is_err()
}

#[test]
fn entries_that_lead_elsewhere_or_mean_nothing_are_refused() {
    let long = "x".repeat(256);
    let depth = ["x"; 257].join("/");
    let length = ["x".repeat(200).as_str(); 21].join("/");
    for path in
        ["", ".", "..", "a/..", "../a", "/a", "a//b", "a/", "a/./b", "a\0b", &long, &depth, &length]
    {
        let Record::Entry(good) = file(2, path, None) else { continue };
        let mut content = Vec::new();
        good.write(&mut content);
        assert!(Entry::read(2, &content).is_err(), "{path}");
    }
    assert!(!is_bad(file(1, &long[1..], None)));
    let Record::Entry(good) = file(2, "a", Some(5)) else { return };
    let bad = |entry: Entry<'_>| is_bad(Record::Entry(entry));
    assert!(!bad(good));
    assert!(bad(Entry { is_top_level: false, ..good }));
    assert!(bad(Entry { mode: Some(0o4755), ..good }) && !bad(Entry { mode: None, ..good }));
    let mtime = |seconds, nanoseconds| Some(Mtime { seconds, nanoseconds });
    assert!(bad(Entry { mtime: mtime(0, 1_000_000_000), ..good }));
    assert!(bad(Entry { mtime: mtime(i64::MIN, 1), ..good }));
    assert!(!bad(Entry { mtime: None, ..good }));
    assert!(bad(good.at(6)) && !bad(good.at(5)));
    let link = |target| Entry { content: Content::Symlink { target }, ..good };
    assert!(bad(link(b"")) && bad(link(b"a\0")) && bad(link(&[b'x'; 4097])));
    assert!(!bad(link(&[b'x'; 4096])));
    let hard = |target| Entry { content: Content::HardLink { target }, ..good };
    assert!(bad(hard(0)) && bad(hard(2)) && bad(hard(3)) && !bad(hard(1)));
    // Bytes after the fields, truncated fields, unknown flags and kinds.
    let mut content = Vec::new();
    good.write(&mut content);
    assert_eq!(Entry::read(2, &content), Ok(good));
    for length in 0..content.len() {
        assert!(Entry::read(2, &content[..length]).is_err(), "{length}");
    }
    for (at, byte) in [(0, 4), (1, 2), (1, 3)] {
        let mut wrong = content.clone();
        wrong[at] = byte;
        assert!(Entry::read(2, &wrong).is_err());
    }
    content.push(0);
    assert!(Entry::read(2, &content).is_err());
}

#[test]
fn the_id_depends_on_everything_but_offsets() {
    let id = |entries: &[(Record<'_>, i128)]| {
        let mut hash = ManifestHash::default();
        for (record, version) in entries {
            if let Record::Entry(entry) = record {
                hash.update(entry, *version);
            }
        }
        hash.finish()
    };
    let first = id(&[(file(1, "a", Some(5)), 0), (folder(2, "b"), 0)]);
    let moved = entry(1, "a", Content::File { size: Some(5), offset: 3 });
    assert_eq!(first, id(&[(moved, 0), (folder(2, "b"), 0)]));
    for other in [
        id(&[(file(1, "a", Some(5)), 1), (folder(2, "b"), 0)]),
        id(&[(file(1, "a", Some(6)), 0), (folder(2, "b"), 0)]),
        id(&[(file(1, "a", Some(5)), 0), (folder(2, "c"), 0)]),
        id(&[(file(1, "a", Some(5)), 0)]),
    ] {
        assert_ne!(first, other);
    }
}
