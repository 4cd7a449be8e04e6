//! Datagrams, decrypted payloads, handshake terms and records of files: no panic, and frames that
//! were read and written again are read as equal frames.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_wire::frame::{self, Frames};
use paceline_wire::key::{Identity, Key};
use paceline_wire::packet::Packet;
use paceline_wire::records::{Record, Unpacker};
use paceline_wire::{Answer, ClientPublic, Offer};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Packet::Transport(packet)) = Packet::read(bytes) {
        assert!(packet.payload_at <= bytes.len());
    }
    let mut again = vec![0; bytes.len() + 64];
    for frame in Frames::new(bytes).flatten() {
        let length = frame::write(&frame, &mut again).expect("what was read can be written");
        let back = Frames::new(&again[..length]).next();
        let back = back.expect("a frame").expect("a good frame");
        let mut third = vec![0; length];
        assert_eq!(frame::write(&back, &mut third), Ok(length));
        assert_eq!(third, again[..length], "{frame:?}");
    }
    if let Ok(text) = core::str::from_utf8(bytes) {
        let _ = Identity::parse(text);
        if let Ok(key) = ClientPublic::parse(text) {
            assert_eq!(ClientPublic::parse(&key.to_string()), Ok(key));
        }
        if let Ok(key) = Key::parse(text) {
            assert_eq!(Key::parse(&key.to_string()).map(|key| key.to_string()), Ok(key.to_string()));
        }
    }
    let _ = Offer::read(bytes);
    let _ = Answer::read(bytes);
    // The first byte is the size of the parts in which the stream arrives.
    let mut unpacker = Unpacker::new();
    if let Some((&cut, stream)) = bytes.split_first() {
        let mut pieces = stream.chunks(usize::from(cut).max(1));
        // Records other than pieces, which arrive in parts, are written as they were read.
        let (mut written, mut records) = (Vec::new(), 0);
        let mut see = |record: Record<'_>| {
            records += 1;
            if !matches!(record, Record::Piece { .. }) {
                written.clear();
                record.write(&mut written);
                assert!(stream.windows(written.len()).any(|part| part == written), "{record:?}");
            }
        };
        let _ = pieces.try_for_each(|piece| unpacker.push(piece, &mut see));
        assert!(unpacker.open() <= paceline_wire::records::DEEPEST_PATH + 1 && unpacker.open() <= records);
    }
});
