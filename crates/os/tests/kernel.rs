//! Devices, addresses, routes and translation rules against the running kernel, each test in a
//! network namespace of its own.

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use nix::sched::{CloneFlags, unshare};
use paceline_os::namespace::{current_network, enter_network};
use paceline_os::nat::Nat;
use paceline_os::route::Links;
use paceline_os::tun::HEADER;
use paceline_os::{Tun, TunOptions};
use paceline_testing::{Need, skip};

/// The test that runs. A program that another test starts holds copies of this process' files until
/// it is executed, and a device lives as long as any copy of its file.
static RUNNING: Mutex<()> = Mutex::new(());

/// Runs a test on a thread with a network of its own, while no other test of this file runs.
fn alone(test: &'static str, body: impl FnOnce() + Send + 'static) {
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let thread = std::thread::spawn(move || match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => body(),
        Err(error) => {
            skip(Need::Net, test, &format!("no network namespace without root ({error})"));
        }
    });
    thread.join().expect("the test holds");
}

const OWN: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
const OWN6: Ipv6Addr = Ipv6Addr::new(0xfd6e, 0xa13c, 0, 0, 0, 0, 0, 1);
const PEER6: Ipv6Addr = Ipv6Addr::new(0xfd6e, 0xa13c, 0, 0, 0, 0, 0, 2);

#[test]
fn a_device_comes_up_as_asked_for_and_goes() {
    alone("a_device_comes_up_as_asked_for_and_goes", || {
        let options = TunOptions { mtu: 1400, queue_len: 1234, ..TunOptions::new("test") };
        let tun = Tun::open(&options).expect("a device");
        let mut links = Links::open().expect("netlink");
        let found = links.interfaces().expect("interfaces");
        let own = found.iter().find(|it| it.name == "test").expect("the device");
        assert_eq!((own.mtu, own.queue_len), (1400, 1234));
        let again = Tun::open(&options).expect_err("the name is taken");
        assert_eq!(again.errno(), Some(libc::EBUSY));
        assert!(again.to_string().contains("test"), "{again}");
        drop(tun);
        assert!(links.index("test").is_err());
    });
}

#[test]
fn a_device_beside_others_has_a_name_of_its_own() {
    alone("a_device_beside_others_has_a_name_of_its_own", || {
        let short = TunOptions::new("test-1");
        let open = || Tun::open_beside(&short).expect("a device");
        let (one, two, three) = (open(), open(), open());
        assert_eq!([one.name(), two.name(), three.name()], ["test-1", "test-1-2", "test-1-3"]);
        drop(two);
        assert_eq!(open().name(), "test-1-2");
        let long = TunOptions::new("test-123456-78");
        let _one = Tun::open_beside(&long).expect("a device");
        let full = Tun::open_beside(&long).expect_err("no byte is left");
        assert!(full.to_string().contains("test-123456-78"), "{full}");
    });
}

#[test]
fn packets_go_out_and_come_in() {
    for offload in [false, true] {
        alone("packets_go_out_and_come_in", move || {
            let tun =
                Tun::open(&TunOptions { offload, ..TunOptions::new("test") }).expect("a device");
            let mut links = Links::open().expect("netlink");
            let index = links.index("test").expect("the device");
            links.add_address(index, OWN.into(), PEER.into()).expect("an address");
            assert!(links.addresses().expect("addresses").contains(&(index, PEER.into())));
            let socket = std::net::UdpSocket::bind((OWN, 4000)).expect("a socket");
            socket.send_to(b"hello", (PEER, 5000)).expect("sent");
            let mut packet = [0; 2000];
            let skip = if offload { HEADER } else { 0 };
            let length = tun.read(&mut packet).expect("a packet");
            assert_eq!(length, skip + 20 + 8 + 5);
            assert_eq!(&packet[length - 5..length], b"hello");
            let none = tun.read(&mut [0; 2000]).expect_err("no other packet");
            assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
            // Back to where it came from: addresses and ports change places, which leaves the
            // checksums as they are. Those left open by offload are made zero: none.
            let (header, ip) = packet[..length].split_at_mut(skip);
            header.fill(0);
            for i in 0..4 {
                ip.swap(12 + i, 16 + i);
            }
            for i in 0..2 {
                ip.swap(20 + i, 22 + i);
            }
            ip[26..28].fill(0);
            tun.write(&[IoSlice::new(header), IoSlice::new(ip)]).expect("written");
            socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a timeout");
            let mut text = [0; 10];
            let (length, from) = socket.recv_from(&mut text).expect("an answer");
            assert_eq!((&text[..length], from), (&b"hello"[..], (PEER, 5000).into()));
            // What is no packet is refused, and does no harm.
            assert!(tun.write(&[IoSlice::new(&[0xff; 3])]).is_err());
        });
    }
}

#[test]
fn routes_lead_through_the_device() {
    alone("routes_lead_through_the_device", || {
        let _tun = Tun::open(&TunOptions::new("test")).expect("a device");
        let mut links = Links::open().expect("netlink");
        let index = links.index("test").expect("the device");
        for (own, peer) in [(IpAddr::from(OWN), IpAddr::from(PEER)), (OWN6.into(), PEER6.into())] {
            links.add_address(index, own, peer).expect("an address");
            links.add_default_route(index, peer).expect("a route");
            let routes = links.routes(own.is_ipv6()).expect("routes");
            let default = routes.iter().find(|route| route.to.is_none());
            assert_eq!(default.map(|route| route.interface), Some(index), "{routes:?}");
            let twice = links.add_address(index, own, peer).expect_err("it has it");
            assert!(twice.to_string().contains(&own.to_string()), "{twice}");
        }
    });
}

#[test]
fn a_peer_is_reached_as_soon_as_it_has_a_name() {
    alone("a_peer_is_reached_as_soon_as_it_has_a_name", || {
        let _tun = Tun::open(&TunOptions::new("test")).expect("a device");
        let mut links = Links::open().expect("netlink");
        let index = links.index("test").expect("the device");
        for pair in 0..100 {
            let own = Ipv6Addr::new(0xfd6e, 0xa13c, 0, 0, 0, 0, pair, 1);
            let peer = Ipv6Addr::new(0xfd6e, 0xa13c, 0, 0, 0, 0, pair, 2);
            links.add_address(index, own.into(), peer.into()).expect("an address");
            let socket = UdpSocket::bind((own, 0)).expect("an address of ours");
            socket.connect((peer, 4000)).expect("a way");
            socket.send(b"hello").expect("sent");
        }
    });
}

#[test]
fn a_device_moves_to_another_namespace() {
    alone("a_device_moves_to_another_namespace", || {
        let tun = Tun::open(&TunOptions::new("test")).expect("a device");
        let home = current_network().expect("a handle");
        unshare(CloneFlags::CLONE_NEWNET).expect("another namespace");
        let there = current_network().expect("a handle");
        assert!(Links::open().expect("netlink").index("test").is_err());
        enter_network(&home).expect("back");
        let mut links = Links::open().expect("netlink");
        let index = links.index("test").expect("the device");
        links.move_to(index, there.as_fd()).expect("moved");
        assert!(links.index("test").is_err());
        enter_network(&there).expect("there");
        assert!(Links::open().expect("netlink").index("test").is_ok());
        drop(tun);
    });
}

#[test]
fn translation_rules_go_with_their_owner() {
    let name = "translation_rules_go_with_their_owner";
    alone(name, move || {
        let four = match Nat::masquerade("test", PEER.into()) {
            Ok(nat) => nat,
            Err(error) => return skip(Need::Kernel, name, &error.to_string()),
        };
        let six = Nat::masquerade("test", PEER6.into()).expect("rules for IPv6");
        let list = || Command::new("nft").args(["list", "ruleset"]).output();
        match list() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                for part in ["table ip test", "table ip6 test", "masquerade", "100.64.0.2"] {
                    assert!(text.contains(part), "no {part} in {text}");
                }
            }
            Err(error) => skip(Need::Programs, name, &format!("nft cannot list them: {error}")),
        }
        let other = Nat::masquerade("test", PEER.into()).expect_err("the name is taken");
        assert!(other.to_string().contains("100.64.0.2"), "{other}");
        drop((four, six));
        // The kernel takes the table away some time after the socket is closed.
        let again = (0..3000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            Nat::masquerade("test", PEER.into()).ok()
        });
        assert!(again.is_some(), "the rules stay");
    });
}
