use paceline_ip::packet::parse;

use super::*;
use paceline_testing::packets::PacketSpec;

/// Reads a packet with this payload, or a piece of such segments; its handles.
fn keep(pool: &mut Pool, payload: &[u8], step: u16) -> Option<Vec<u32>> {
    let piece = PacketSpec { protocol: 6, ..PacketSpec::UDP4 }.piece(payload, step);
    pool.staging()[..piece.len()].copy_from_slice(&piece);
    let (header, packet) = piece.split_at(10);
    let layout = Layout::new(header, packet, &parse(packet).expect("valid")).expect("valid");
    let mut handles = Vec::new();
    pool.keep(piece.len(), 10, &layout, &mut handles).then_some(handles)
}

fn last(pool: &Pool, handle: u32) -> Option<u8> {
    pool.bytes(handle).and_then(|bytes| bytes.all.last().copied())
}

#[test]
fn bytes_stay_until_the_last_packet_has_left() {
    let mut pool = Pool::new(1 << 24);
    for length in [1, 1000, 7000, 20_000, 60_000] {
        let one = keep(&mut pool, &vec![1; length], 1000).expect("memory");
        let two = keep(&mut pool, &vec![2; length], 1000).expect("memory");
        assert_eq!(one.len(), length.div_ceil(1000));
        assert_eq!(pool.packets(), 2 * one.len());
        for &handle in &one {
            assert_eq!(last(&pool, handle), Some(1));
            pool.release(handle);
            assert_eq!(last(&pool, handle), None);
        }
        let three = keep(&mut pool, &vec![3; length], 1000).expect("memory");
        assert!(two.iter().all(|&handle| last(&pool, handle) == Some(2)));
        assert!(three.iter().all(|&handle| last(&pool, handle) == Some(3)));
        two.into_iter().chain(three).for_each(|handle| pool.release(handle));
        assert_eq!(pool.packets(), 0);
    }
}

#[test]
fn memory_is_used_again() {
    let mut pool = Pool::new(1 << 30);
    let round = |pool: &mut Pool| {
        let mut all = Vec::new();
        for length in [100, 60_000, 3000, 100, 60_000, 12_000] {
            all.extend(keep(pool, &vec![0; length], 1000).expect("memory"));
        }
        all.into_iter().for_each(|handle| pool.release(handle));
        pool.memory()
    };
    let first = round(&mut pool);
    for _ in 0..100 {
        assert_eq!(round(&mut pool), first);
    }
}

#[test]
fn memory_is_bounded() {
    let mut pool = Pool::new(1 << 20);
    let mut kept = Vec::new();
    while let Some(handles) = keep(&mut pool, &[4; 1400], 0) {
        kept.extend(handles);
        assert!(kept.len() < 10_000);
    }
    assert!(kept.len() > 400 && pool.memory() <= 1 << 20, "{}", kept.len());
    // Large ones neither; and the place to read into is not lost.
    assert_eq!(keep(&mut pool, &[0; 60_000], 1000), None);
    assert_eq!(pool.staging().len(), LARGEST);
    assert!(kept.iter().all(|&handle| last(&pool, handle) == Some(4)));
    pool.release(kept[0]);
    assert!(keep(&mut pool, &[5; 1400], 0).is_some());
}

#[test]
fn copies_count() {
    let mut pool = Pool::new(1 << 20);
    let handle = keep(&mut pool, &[6; 10], 0).expect("memory")[0];
    pool.duplicate(handle);
    pool.release(handle);
    assert_eq!(last(&pool, handle), Some(6));
    pool.release(handle);
    assert_eq!(last(&pool, handle), None);
    // Once too often, or a handle that never was.
    pool.release(handle);
    pool.release(77);
    assert_eq!(pool.packets(), 0);
}
