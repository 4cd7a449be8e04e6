//! Host names and their addresses. Look-ups run on their own thread where an event loop must not
//! wait.

use std::io::{self, PipeReader};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc;
use std::thread;

use paceline_os::RealTimeError;
use paceline_os::udp::Socket;

/// Maximum number of addresses that are tried per name.
const MOST: usize = 16;

/// Returns the first of the [`addresses`] that `text` names.
///
/// # Errors
/// The host does not exist, or the port is missing.
pub fn connect_to(text: &str) -> Result<SocketAddr, RealTimeError> {
    let found = addresses(text)?;
    found.first().copied().ok_or_else(|| RealTimeError::Message(format!("{text}: no address")))
}

/// Returns the addresses that `text` names, at most 16. `text` is `host:port`, `192.0.2.1:5311`,
/// `[2001:db8::1]:5311` or, with an interface, `[fe80::1%eth0]:5311`. The addresses are in the
/// system's order (RFC 6724); from the second on, IPv4 and IPv6 alternate (RFC 8305 §4). Blocks
/// while name servers answer.
///
/// # Errors
/// The host does not exist, or the port is missing.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, RealTimeError> {
    check_form(text).map_err(RealTimeError::Message)?;
    let system = RealTimeError::system(format!("{text}: no address"));
    let found: Vec<SocketAddr> = match interface(text) {
        // The standard library does not parse `%interface`; the system's resolver does.
        Some(host_and_port) => host_and_port.to_socket_addrs().map_err(system)?.collect(),
        None => text.to_socket_addrs().map_err(system)?.collect(),
    };
    let found = in_turns(found);
    if found.is_empty() {
        return Err(RealTimeError::Message(format!("{text}: no address")));
    }
    Ok(found)
}

/// Checks that `text` has the form of an address, a host and a port, without looking the host up.
///
/// # Errors
/// Says which form is expected.
pub fn check_form(text: &str) -> Result<(), String> {
    let has_port = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    match text.rsplit_once(':').is_some_and(has_port) {
        true => Ok(()),
        false => Err(format!(
            "{text}: no address; write host:port, as 192.0.2.1:5311 or [2001:db8::1]:5311, with a port up to 65535"
        )),
    }
}

/// Returns a server's default listening address: all addresses of this machine, of both families
/// where the system has IPv6, else of IPv4.
pub fn any_address(port: u16) -> SocketAddr {
    let six = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    match Socket::bind(SocketAddr::new(six.ip(), 0)) {
        Ok(_) => six,
        Err(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
    }
}

/// Splits an address with an interface into host and port.
fn interface(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.strip_prefix('[')?.split_once("]:")?;
    Some((host.contains('%').then_some(host)?, port.parse().ok()?))
}

/// Removes duplicates, and alternates the families after the first address.
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

/// A look-up that runs on its own thread.
struct Lookup {
    /// Readable once the look-up is over, because its thread then closes the other end.
    over: PipeReader,
    found: mpsc::Receiver<Result<Vec<SocketAddr>, RealTimeError>>,
}

/// A host name that is looked up repeatedly, by one thread at a time.
pub(crate) struct Name {
    text: String,
    pending: Option<Lookup>,
    /// The addresses of the last successful look-up; the error if none has succeeded.
    found: Result<Vec<SocketAddr>, RealTimeError>,
}

impl Name {
    /// Creates a name, without looking it up.
    pub(crate) fn new(text: &str) -> Name {
        let found = Err(RealTimeError::Message(format!("{text}: no name server has answered yet")));
        Name { text: text.into(), pending: None, found }
    }

    /// Starts a look-up, unless one is running. Call it after signals are blocked, so that its
    /// thread inherits that.
    ///
    /// # Errors
    /// The system cannot create a pipe.
    pub(crate) fn look_up(&mut self) -> Result<(), RealTimeError> {
        if self.pending.is_some() {
            return Ok(());
        }
        let (over, ends) = io::pipe().map_err(RealTimeError::system("making a pipe"))?;
        let (tell, found) = mpsc::channel();
        let text = self.text.clone();
        let look = move || {
            let _ = tell.send(addresses(&text));
            drop(ends);
        };
        let thread = thread::Builder::new().name("names".into()).spawn(look);
        thread.map_err(RealTimeError::system("starting a thread"))?;
        self.pending = Some(Lookup { over, found });
        Ok(())
    }

    /// Returns a file that is readable once the look-up is over; `None` if none is running.
    pub(crate) fn pending(&self) -> Option<BorrowedFd<'_>> {
        self.pending.as_ref().map(|lookup| lookup.over.as_fd())
    }

    /// Takes the result of a look-up that is over. If it failed, the addresses found before stay.
    pub(crate) fn take(&mut self) {
        let result = match &self.pending {
            Some(lookup) => match lookup.found.try_recv() {
                Ok(result) => result,
                Err(mpsc::TryRecvError::Empty) => return,
                Err(mpsc::TryRecvError::Disconnected) => {
                    Err(RealTimeError::Message(format!("{}: the look-up has failed", self.text)))
                }
            },
            None => return,
        };
        self.pending = None;
        if result.is_ok() || self.found.is_err() {
            self.found = result;
        }
    }

    /// Returns the addresses.
    ///
    /// # Errors
    /// No look-up has found any yet.
    pub(crate) fn addresses(&self) -> Result<&[SocketAddr], &RealTimeError> {
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
        for (text, is_good) in [
            ("host:5311", true),
            ("nosuch.invalid:1", true),
            ("[fe80::1%nosuch0]:5311", true),
            ("127.0.0.1:99999", false),
            ("127.0.0.1:-1", false),
            ("127.0.0.1:", false),
            (":5311", false),
            ("host", false),
        ] {
            assert_eq!(check_form(text).is_ok(), is_good, "{text}");
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
