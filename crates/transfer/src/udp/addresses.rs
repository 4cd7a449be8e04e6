//! Names and addresses of other ends: looked up on a thread of their own, where a loop must go on meanwhile.

use std::io::{self, PipeReader};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::thread;

use paceline_os::LiveError;
use paceline_os::udp::Socket;

/// The most addresses of a name that are tried.
const MOST: usize = 16;

/// Returns the first of the [`addresses`] that `text` names.
///
/// # Errors
/// There is no such host, or no port.
pub fn connect_to(text: &str) -> Result<SocketAddr, LiveError> {
    let found = addresses(text)?;
    found.first().copied().ok_or_else(|| LiveError::Message(format!("{text}: no address")))
}

/// Returns the addresses that `text` names, 16 at most: `host:port`, `192.0.2.1:5311`, `[2001:db8::1]:5311` or, with an
/// interface, `[fe80::1%eth0]:5311`. They have the system's order (RFC 6724), and families take turns from the second
/// address on (RFC 8305 §4). Waits for name servers.
///
/// # Errors
/// There is no such host, or no port.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, LiveError> {
    let system = LiveError::system(format!(
        "{text}: no address; write host:port, as 192.0.2.1:5311 or [2001:db8::1]:5311"
    ));
    let found: Vec<SocketAddr> = match interface(text) {
        // The standard library reads no interfaces, and the system does.
        Some(host_and_port) => host_and_port.to_socket_addrs().map_err(system)?.collect(),
        None => text.to_socket_addrs().map_err(system)?.collect(),
    };
    let found = in_turns(found);
    if found.is_empty() {
        return Err(LiveError::Message(format!("{text}: no address")));
    }
    Ok(found)
}

/// Returns the address at which a server listens if nothing is said: all addresses of this machine, of both families
/// where the system has IPv6, and of IPv4 elsewhere.
pub fn any_address(port: u16) -> SocketAddr {
    let six = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    match Socket::bind(SocketAddr::new(six.ip(), 0)) {
        Ok(_) => six,
        Err(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
    }
}

/// The host and port of an address with an interface.
fn interface(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.strip_prefix('[')?.split_once("]:")?;
    Some((host.contains('%').then_some(host)?, port.parse().ok()?))
}

/// Each address once; after the first, both families in turn.
fn in_turns(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut each: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !each.contains(&address) {
            each.push(address);
        }
    }
    let six = each.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = each.into_iter().partition(|at| at.is_ipv6() == six);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] || ordered.len() >= MOST {
            ordered.truncate(MOST);
            return ordered;
        }
        ordered.extend(pair.into_iter().flatten());
    }
}

/// A look-up on a thread of its own.
struct Lookup {
    /// Readable once the look-up is over: the thread closes the other end.
    over: PipeReader,
    found: mpsc::Receiver<Result<Vec<SocketAddr>, LiveError>>,
}

/// A name whose addresses are looked up again and again, by one thread at a time.
pub(crate) struct Name {
    text: String,
    pending: Option<Lookup>,
    /// The addresses that were found last, and why none were if none were.
    found: Result<Vec<SocketAddr>, LiveError>,
}

impl Name {
    /// A name that has not been looked up.
    pub(crate) fn new(text: &str) -> Name {
        let found = Err(LiveError::Message(format!("{text}: no name server has answered yet")));
        Name { text: text.into(), pending: None, found }
    }

    /// Begins to look the name up, unless that goes on already. Call it once signals are blocked.
    ///
    /// # Errors
    /// The system gives no pipe.
    pub(crate) fn look_up(&mut self) -> Result<(), LiveError> {
        if self.pending.is_some() {
            return Ok(());
        }
        let (over, ends) = io::pipe().map_err(LiveError::system("making a pipe"))?;
        let (tell, found) = mpsc::channel();
        let text = self.text.clone();
        let look = move || {
            let _ = tell.send(addresses(&text));
            drop(ends);
        };
        let thread = thread::Builder::new().name("names".into()).spawn(look);
        thread.map_err(LiveError::system("starting a thread"))?;
        self.pending = Some(Lookup { over, found });
        Ok(())
    }

    /// A file that is readable once the look-up is over; `None` if none goes on.
    pub(crate) fn pending(&self) -> Option<BorrowedFd<'_>> {
        self.pending.as_ref().map(|lookup| lookup.over.as_fd())
    }

    /// Takes the result of a look-up that is over. Addresses that were found before stay if there are no new ones.
    pub(crate) fn take(&mut self) {
        let result = match &self.pending {
            Some(lookup) => match lookup.found.try_recv() {
                Ok(result) => result,
                Err(mpsc::TryRecvError::Empty) => return,
                Err(mpsc::TryRecvError::Disconnected) => {
                    Err(LiveError::Message(format!("{}: the look-up has failed", self.text)))
                }
            },
            None => return,
        };
        self.pending = None;
        if result.is_ok() || self.found.is_err() {
            self.found = result;
        }
    }

    /// The addresses.
    ///
    /// # Errors
    /// None were found yet.
    pub(crate) fn addresses(&self) -> Result<&[SocketAddr], &LiveError> {
        self.found.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|text| text.parse().expect("an address")).collect()
    }

    #[test]
    fn families_take_turns_and_each_address_is_there_once() {
        let found = all(&["[2001:db8::1]:1", "[2001:db8::2]:1", "192.0.2.1:1", "192.0.2.1:1"]);
        let ordered = all(&["[2001:db8::1]:1", "192.0.2.1:1", "[2001:db8::2]:1"]);
        assert_eq!(in_turns(found), ordered);
        assert_eq!(in_turns(Vec::new()), Vec::new());
    }

    #[test]
    fn addresses_with_an_interface_are_read() {
        let Ok(at) = connect_to("[fe80::1%lo]:5311") else {
            return paceline_testing::skip(
                paceline_testing::Need::Kernel,
                &paceline_testing::this_test(),
                "no IPv6",
            );
        };
        let SocketAddr::V6(at) = at else { panic!("{at}") };
        assert_eq!((at.ip().to_string().as_str(), at.port(), at.scope_id()), ("fe80::1", 5311, 1));
        for wrong in
            ["[fe80::1%nosuch0]:5311", "[fe80::1%lo]", "[fe80::1%lo]:x", "nothing", "[::1]"]
        {
            assert!(addresses(wrong).is_err(), "{wrong}");
        }
        assert_eq!(addresses("[::1]:5").expect("an address"), all(&["[::1]:5"]));
        assert_eq!(addresses("127.0.0.1:5").expect("an address"), all(&["127.0.0.1:5"]));
    }

    #[test]
    fn a_look_up_goes_on_beside_its_caller_and_old_addresses_stay() {
        let mut name = Name::new("127.0.0.1:7");
        assert!(name.addresses().is_err() && name.pending().is_none());
        let begun = std::time::Instant::now();
        name.look_up().expect("a thread");
        while name.pending().is_some() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(60));
            name.take();
        }
        assert_eq!(name.addresses().ok(), Some(&all(&["127.0.0.1:7"])[..]));
        name.text = "nosuch.invalid".into();
        name.look_up().expect("a thread");
        while name.pending().is_some() {
            name.take();
        }
        assert_eq!(name.addresses().ok(), Some(&all(&["127.0.0.1:7"])[..]), "it has not moved");
    }
}
