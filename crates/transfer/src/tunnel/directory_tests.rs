use paceline_os::WakeUps;
use paceline_wire::key::Identity;

use super::*;
use crate::clients_file::ClientsFile;
use crate::tunnel::neighbours::Neighbours;
use crate::tunnel::owners::ListedOwners;

const NOW: Time = Time::ZERO;

fn at(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn peer(port: u16) -> Peer {
    Peer::from(SocketAddr::from(([192, 0, 2, 1], port)))
}

fn key() -> ClientPublic {
    let identity = Identity::generate().expect("random numbers");
    identity.key().for_new_client().expect("random numbers").1
}

fn list(lines: &[(&str, ClientPublic, &str)]) -> Arc<ClientList> {
    let lines = lines.iter().map(|(name, key, networks)| format!("{name} {key} {networks}\n"));
    let file = ClientsFile::parse(&lines.collect::<String>()).expect("a list");
    let admission = Arc::new(file.admission(|_| paceline_wire::Handout::default()));
    Arc::new(ClientList { file, admission })
}

/// Creates the directories of `COUNT` loops.
fn loops<const COUNT: usize>(owners: impl Fn() -> Owners) -> [Directory; COUNT] {
    let wakers = (0..COUNT).map(|_| WakeUps::new().expect("a file").waker());
    let log = Arc::new(ChangeLog::new(wakers.collect()));
    std::array::from_fn(|number| Directory::new(owners(), number, Some(Arc::clone(&log))))
}

fn learnt() -> Owners {
    Owners::Learnt(Neighbours::default())
}

/// A client connects to this loop.
fn connect(directory: &mut Directory, slot: usize, key: Option<ClientPublic>, handshake: u64) {
    let place = place_of(directory.number, slot);
    let peer = peer(handshake as u16);
    directory.publish(Change::Add { place, key, handshake, peer });
    directory.publish(Change::Confirm { place });
}

fn replaced(directory: &mut Directory) -> Vec<(usize, u64)> {
    directory.catch_up();
    let replaced = directory.take_effects().into_iter().filter_map(|effect| match effect {
        Effect::Replaced { slot, handshake } => Some((slot, handshake)),
        Effect::List(_) => None,
    });
    replaced.collect()
}

#[test]
fn a_place_has_the_number_of_its_loop() {
    for (number, slot) in [(0, 0), (0, 65_535), (63, 0), (1, 7)] {
        let place = place_of(number, slot);
        assert_eq!((loop_of(place), slot_of(place)), (number, slot));
    }
}

#[test]
fn an_address_belongs_to_one_client_at_all_loops() {
    let [mut first, mut second] = loops(learnt);
    connect(&mut first, 3, None, 1);
    connect(&mut second, 3, None, 2);
    let (ada, bob) = (place_of(0, 3), place_of(1, 3));
    assert_eq!(first.judge(NOW, at("10.77.0.2"), ada), SourceVerdict::Own);
    // The second loop has not applied the change yet, and still does not assign the address again.
    assert_eq!(second.judge(NOW, at("10.77.0.2"), bob), SourceVerdict::OwnedBy(ada));
    assert_eq!(second.peer(ada), Some(peer(1)));
    assert_eq!(second.judge(NOW, at("10.77.0.3"), bob), SourceVerdict::Own);
    first.catch_up();
    for directory in [&first, &second] {
        assert_eq!(directory.find(at("10.77.0.2")), Some(ada));
        assert_eq!(directory.find(at("10.77.0.3")), Some(bob));
    }
    // Packets between both clients are written to one queue, in both directions.
    let packet = |to: u8| {
        let mut packet = [0; 20];
        packet[0] = 0x45;
        packet[16..].copy_from_slice(&[10, 77, 0, to]);
        packet
    };
    assert_eq!((first.queue_for(&packet(3)), second.queue_for(&packet(2))), (0, 0));
    assert_eq!((first.queue_for(&packet(9)), second.queue_for(&packet(9))), (0, 1));
    assert_eq!((first.queue_for(&[]), second.queue_for(&[])), (0, 1));
    // The owner disconnects, and the address is free at all loops.
    first.publish(Change::Remove { place: ada });
    second.catch_up();
    assert_eq!(second.judge(NOW, at("10.77.0.2"), bob), SourceVerdict::Own);
    first.catch_up();
    assert_eq!(first.find(at("10.77.0.2")), Some(bob));
}

#[test]
fn the_newest_connection_of_a_client_is_kept_whichever_loop_has_it() {
    let (ada, listed) = (key(), |list: &Arc<ClientList>| ListedOwners::new(&list.file));
    let list = list(&[("ada", ada, "10.77.0.2")]);
    let [mut first, mut second, mut third] = loops(|| Owners::Listed(listed(&list)));
    connect(&mut first, 0, Some(ada), 1);
    connect(&mut second, 5, Some(ada), 2);
    assert_eq!(replaced(&mut second), []);
    assert_eq!(replaced(&mut first), [(0, 1)]);
    assert_eq!(first.find(at("10.77.0.2")), Some(place_of(1, 5)));
    assert_eq!(first.judge(NOW, at("10.77.0.2"), place_of(0, 0)), SourceVerdict::NotListed);
    // A delayed packet confirms an older handshake. Its connection is closed and gets no packets.
    third.publish(Change::Add {
        place: place_of(2, 9),
        key: Some(ada),
        handshake: 0,
        peer: peer(0),
    });
    third.publish(Change::Confirm { place: place_of(2, 9) });
    assert_eq!(replaced(&mut third), [(9, 0)]);
    assert_eq!((replaced(&mut first), replaced(&mut second)), (vec![], vec![]));
    assert_eq!(third.find(at("10.77.0.2")), Some(place_of(1, 5)));
    // At one loop the server closes the former connection by itself.
    connect(&mut second, 6, Some(ada), 3);
    assert_eq!(replaced(&mut second), []);
    assert_eq!(second.find(at("10.77.0.2")), Some(place_of(1, 6)));
    // The end of the former connection takes nothing from the newer one.
    second.publish(Change::Remove { place: place_of(1, 5) });
    third.catch_up();
    assert_eq!(third.find(at("10.77.0.2")), Some(place_of(1, 6)));
    second.publish(Change::Remove { place: place_of(1, 6) });
    third.catch_up();
    assert_eq!(third.find(at("10.77.0.2")), None);
}

#[test]
fn a_handshake_that_is_confirmed_after_another_one_of_its_client_has_its_addresses() {
    let ada = key();
    let list = list(&[("ada", ada, "10.77.0.2")]);
    let mut only = Directory::new(Owners::Listed(ListedOwners::new(&list.file)), 0, None);
    let add = |place, handshake| Change::Add { place, key: Some(ada), handshake, peer: peer(1) };
    only.publish(add(0, 1));
    only.publish(add(1, 2));
    only.publish(Change::Confirm { place: 0 });
    only.publish(Change::Confirm { place: 1 });
    assert_eq!(only.find(at("10.77.0.2")), Some(1));
    assert_eq!(only.judge(NOW, at("10.77.0.2"), 1), SourceVerdict::Own);
}

#[test]
fn a_list_counts_at_all_loops() {
    let (ada, bob) = (key(), key());
    let before = list(&[("ada", ada, "10.77.0.2"), ("bob", bob, "10.77.0.3")]);
    let [mut first, mut second] = loops(|| Owners::Listed(ListedOwners::new(&before.file)));
    connect(&mut second, 1, Some(bob), 1);
    let after = list(&[("ada", ada, "10.77.0.2"), ("robert", bob, "10.77.0.4")]);
    first.publish(Change::List(Arc::clone(&after)));
    for directory in [&mut first, &mut second] {
        directory.catch_up();
        let effects = directory.take_effects();
        assert!(matches!(&effects[..], [Effect::List(list)] if Arc::ptr_eq(list, &after)));
        assert_eq!(directory.find(at("10.77.0.4")), Some(place_of(1, 1)));
        assert_eq!(directory.find(at("10.77.0.3")), None);
        let name = directory.peer(place_of(1, 1)).and_then(|peer| peer.name);
        assert_eq!(name.as_deref(), Some("robert"));
    }
}

#[test]
fn changes_that_all_loops_have_applied_are_forgotten() {
    let [mut first, mut second, mut third] = loops(learnt);
    let length =
        |directory: &Directory| directory.shared.as_ref().map_or(0, |log| log.lock().log.len());
    for slot in 0..100 {
        connect(&mut first, slot, None, slot as u64);
        second.catch_up();
    }
    assert_eq!(length(&first), 200, "the third one has applied none");
    third.catch_up();
    assert_eq!(length(&first), 0);
    assert_eq!((third.entries.len(), second.entries.len()), (100, 100));
    // Each loop makes a change that the others have not applied yet.
    third.publish(Change::Remove { place: 0 });
    second.publish(Change::Remove { place: 1 });
    first.catch_up();
    third.catch_up();
    assert_eq!((first.entries.len(), second.entries.len(), third.entries.len()), (98, 98, 98));
    assert_eq!(length(&first), 0);
}

/// Loops on threads claim the same addresses. Each address gets one owner, on which all loops
/// agree.
#[test]
fn loops_that_learn_at_the_same_time_agree() {
    let mut all: [Directory; 4] = loops(learnt);
    all.iter_mut().enumerate().for_each(|(number, directory)| {
        connect(directory, 0, None, number as u64);
    });
    std::thread::scope(|scope| {
        for directory in &mut all {
            scope.spawn(move || {
                let place = place_of(directory.number, 0);
                for round in 0..200u8 {
                    let address = IpAddr::from([10, 77, 1, round % 50]);
                    directory.judge(NOW, address, place);
                    if round % 7 == 0 {
                        directory.catch_up();
                    }
                }
            });
        }
    });
    all.iter_mut().for_each(Directory::catch_up);
    let owned: usize = (0..4).map(|number| all[0].learnt_of(place_of(number, 0)).len()).sum();
    assert_eq!(owned, 50);
    for last in 0..50 {
        let owners = all.each_ref().map(|one| one.find(IpAddr::from([10, 77, 1, last])));
        assert!(
            owners[0].is_some() && owners.iter().all(|owner| *owner == owners[0]),
            "{owners:?}"
        );
    }
}
