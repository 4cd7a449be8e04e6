//! Reads the packets of pcapng files.

use std::fs;

/// A packet of a file: its interface, time in nanoseconds, flags, and bytes.
pub(crate) struct Packet {
    pub(crate) interface: usize,
    pub(crate) nanos: u64,
    pub(crate) flags: u32,
    pub(crate) length: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Reads the names of the interfaces, and the packets of a pcapng file.
pub(crate) fn read(path: &str) -> (Vec<String>, Vec<Packet>) {
    let file = fs::read(path).expect("the file");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut names, mut packets, mut at) = (Vec::new(), Vec::new(), 0);
    while at < file.len() {
        let (kind, length) = (word(at), word(at + 4) as usize);
        assert_eq!(word(at + length - 4) as usize, length, "the block at {at}");
        match kind {
            1 => {
                // The first option is the name.
                assert_eq!(word(at + 16) as u16, 2);
                let name = &file[at + 20..at + 20 + (word(at + 16) >> 16) as usize];
                names.push(String::from_utf8(name.to_vec()).expect("text"));
            }
            6 => {
                let captured = word(at + 20) as usize;
                packets.push(Packet {
                    interface: word(at + 8) as usize,
                    nanos: u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)),
                    flags: word(at + 28 + captured.next_multiple_of(4) + 4),
                    length: word(at + 24) as usize,
                    bytes: file[at + 28..at + 28 + captured].to_vec(),
                });
            }
            _ => assert_eq!(at, 0, "a block of kind {kind}"),
        }
        at += length;
    }
    (names, packets)
}
