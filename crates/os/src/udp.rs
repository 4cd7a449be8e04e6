//! UDP sockets: many datagrams a call (segmentation and receive offload, `recvmmsg`), the ECN field
//! of each, the time at which the kernel received them, and no fragmentation.

use std::io;
use std::mem::{self, size_of};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};

use crate::RealTimeError;

mod refusal;
mod steering;

pub use steering::{MOST_SOCKETS, Steering};

/// Datagrams, or groups of datagrams, that one call receives.
const MESSAGES: usize = 16;
/// Bytes of a group.
const GROUP: usize = 65_536;
/// Bytes of the control messages of a group, in whole words.
const CONTROL: usize = 32;
/// The most datagrams of a group that is sent.
pub const MOST_SEGMENTS: usize = 64;
/// The most bytes of a group that is sent.
pub const MOST_BYTES: usize = 65_000;
/// The size asked for the socket's buffers.
const BUFFER: libc::c_int = 8 << 20;

/// A UDP socket. Its calls do not block.
pub struct Socket {
    socket: UdpSocket,
    v6: bool,
    /// True if it is bound to all addresses of this machine: then the kernel reports the address that each group came
    /// to.
    any: bool,
    /// True if the kernel can send groups on the present route.
    groups: bool,
}

/// The outcome of sending a group.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// All of it is on its way.
    All,
    /// The kernel has no room: try again once the socket is writable.
    Full,
    /// Datagrams are too large for the path. The others of the group are on their way.
    TooLarge,
    /// This machine has lost it, with this error number: no route, a firewall, an interface that is down.
    Lost(i32),
}

/// The memory into which datagrams are received.
pub struct Inbox {
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    controls: Vec<[u64; CONTROL]>,
}

/// A group of datagrams of one size that came from one place.
pub struct Group<'a> {
    /// The address that sent them.
    pub from: SocketAddr,
    /// The address of this machine to which they came, if the socket is bound to all addresses: answers leave from it.
    pub local: Option<IpAddr>,
    /// The ECN field of their IP headers.
    pub ecn: u8,
    /// When the kernel received them, in nanoseconds since 1970; `None` without a time stamp.
    pub stamp: Option<u64>,
    /// The datagrams, one behind the other.
    pub bytes: &'a mut [u8],
    /// The bytes of each but the last, which may be shorter.
    pub size: usize,
}

impl Default for Inbox {
    fn default() -> Inbox {
        // SAFETY: all zeros are an address storage of no family.
        let name = unsafe { mem::zeroed() };
        Inbox {
            bytes: vec![0; MESSAGES * GROUP],
            names: vec![name; MESSAGES],
            controls: vec![[0; CONTROL]; MESSAGES],
        }
    }
}

/// Binds a socket to an address; with `shared`, other sockets can be bound to it, too. The address `::` takes IPv4 as
/// well, whatever the system's default is.
fn bound(at: SocketAddr, shared: bool) -> nix::Result<UdpSocket> {
    let family = if at.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let made = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    if at.is_ipv6() && at.ip().is_unspecified() {
        setsockopt(&made, sockopt::Ipv6V6Only, &false)?;
    }
    if shared {
        setsockopt(&made, sockopt::ReusePort, &true)?;
    }
    bind(made.as_raw_fd(), &SockaddrStorage::from(at))?;
    Ok(UdpSocket::from(made))
}

/// Sets an option of a socket.
pub(super) fn set(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`, which outlives the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Socket {
    /// Binds a socket to an address; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is not ours or taken, or the system refuses a setting.
    pub fn bind(at: SocketAddr) -> Result<Socket, RealTimeError> {
        let socket = bound(at, false).map_err(io::Error::from);
        let socket = socket.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => RealTimeError::Message(format!(
                "{at}: another program has this address; name another port, or port 0 for a free one"
            )),
            _ => RealTimeError::system(format!("listening at {at}"))(error),
        })?;
        Socket::of(socket, at)
    }

    /// Opens a socket for a client at any port: of the family of these addresses, or of both if they are of both.
    ///
    /// # Errors
    /// The system refuses.
    pub fn for_any_of(addresses: &[SocketAddr]) -> Result<Socket, RealTimeError> {
        let four = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let six = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        match addresses.iter().all(|to| to.ip().to_canonical().is_ipv4()) {
            true => Socket::bind(four),
            // A system without IPv6 still reaches the addresses of IPv4.
            false => {
                Socket::bind(six).or_else(|error| match addresses.iter().any(|to| to.is_ipv4()) {
                    true => Socket::bind(four),
                    false => Err(error),
                })
            }
        }
    }

    /// Configures a socket that is bound to `at`.
    fn of(socket: UdpSocket, at: SocketAddr) -> Result<Socket, RealTimeError> {
        let any = at.ip().is_unspecified();
        let socket = Socket { socket, v6: at.is_ipv6(), any, groups: true };
        socket.prepare().map_err(RealTimeError::system(format!("preparing the socket at {at}")))?;
        Ok(socket)
    }

    fn prepare(&self) -> io::Result<()> {
        let socket = &self.socket;
        socket.set_nonblocking(true)?;
        if self.v6 {
            set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
        }
        // Of IPv6 sockets, too, for the IPv4 traffic that they may have.
        let v4 = set(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1).and_then(|()| {
            set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
        });
        if !self.v6 {
            v4?;
        }
        if self.any {
            let (level, name) = match self.v6 {
                true => (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
                false => (libc::IPPROTO_IP, libc::IP_PKTINFO),
            };
            set(socket, level, name, 1)?;
        }
        // What follows makes it faster or more exact; it works without.
        let _ = set(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
        let _ = set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        for (force, plain) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            let forced = set(socket, libc::SOL_SOCKET, force, BUFFER);
            let _ = forced.or_else(|_| set(socket, libc::SOL_SOCKET, plain, BUFFER));
        }
        Ok(())
    }

    /// Binds this socket to an interface: it sends and receives by no other one, whatever the routes are.
    ///
    /// # Errors
    /// There is no such interface, or it is not allowed.
    pub fn bind_to_device(&self, device: &str) -> Result<(), RealTimeError> {
        // SAFETY: the pointer and the length are those of `device`, which outlives the call.
        let done = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_BINDTODEVICE,
                device.as_ptr().cast(),
                device.len() as libc::socklen_t,
            )
        };
        match done {
            0 => Ok(()),
            _ => Err(RealTimeError::system(format!("sending by interface {device}"))(
                io::Error::last_os_error(),
            )),
        }
    }

    /// Gives all packets of this socket a mark, which policy rules and nf_tables can match.
    ///
    /// # Errors
    /// CAP_NET_ADMIN and CAP_NET_RAW are missing.
    pub fn set_mark(&self, mark: u32) -> Result<(), RealTimeError> {
        set(&self.socket, libc::SOL_SOCKET, libc::SO_MARK, mark.cast_signed())
            .map_err(RealTimeError::system("marking a socket's packets (SO_MARK)"))
    }

    /// Returns the address of this socket.
    ///
    /// # Errors
    /// The system does not say.
    pub fn local(&self) -> Result<SocketAddr, RealTimeError> {
        self.socket.local_addr().map_err(RealTimeError::system("asking for the socket's address"))
    }

    /// Returns the most datagrams of a group that is sent: 1 if groups are not possible.
    pub fn group(&self) -> usize {
        if self.groups { MOST_SEGMENTS } else { 1 }
    }

    /// Receives the waiting datagrams, and passes each group to a function. Returns the number of groups.
    ///
    /// # Errors
    /// The system refuses.
    pub fn receive(
        &self,
        inbox: &mut Inbox,
        mut see: impl FnMut(Group<'_>),
    ) -> Result<usize, RealTimeError> {
        // SAFETY: zeros are null pointers and empty lengths, which are filled in below.
        let mut headers: [libc::mmsghdr; MESSAGES] = unsafe { mem::zeroed() };
        // SAFETY: an empty piece of memory.
        let mut pieces: [libc::iovec; MESSAGES] = unsafe { mem::zeroed() };
        let places = inbox.bytes.chunks_exact_mut(GROUP).zip(&mut inbox.names);
        let places = places.zip(&mut inbox.controls).zip(headers.iter_mut().zip(&mut pieces));
        for (((bytes, name), control), (header, piece)) in places {
            *piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            let header = &mut header.msg_hdr;
            header.msg_name = (&raw mut *name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = piece;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = (size_of::<u64>() * CONTROL) as _;
        }
        // SAFETY: the headers point to memory of `inbox` and `pieces`, which outlive the call, with
        // the lengths that it has.
        let came = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                MESSAGES as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        if came < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                // These say that the socket itself, or this program's use of it, is broken.
                Some(libc::EBADF | libc::ENOTSOCK | libc::EFAULT | libc::EINVAL | libc::ENOSYS) => {
                    Err(RealTimeError::system("receiving datagrams")(error))
                }
                // What a path reports (ICMP), and shortages that pass, cost one datagram and not the server.
                _ => Ok(0),
            };
        }
        let came = (came as usize).min(MESSAGES);
        let places = inbox.bytes.chunks_exact_mut(GROUP).zip(&inbox.names);
        for (header, (bytes, name)) in headers.iter().take(came).zip(places) {
            let Some(from) = address(name) else { continue };
            let length = (header.msg_len as usize).min(GROUP);
            let Control { ecn, stamp, size, local } = control(&header.msg_hdr);
            let Some(bytes) = bytes.get_mut(..length) else { continue };
            let size = size.unwrap_or(length).max(1);
            see(Group { from, local, ecn, stamp, bytes, size });
        }
        Ok(came)
    }

    /// Sends a group of datagrams of `size` bytes each, of which the last may be shorter.
    pub fn send(&mut self, to: SocketAddr, ecn: u8, bytes: &[u8], size: usize) -> SendOutcome {
        self.send_from(None, to, ecn, bytes, size)
    }

    /// Sends a group as [`Socket::send`] does, from this address of the machine if one is given and it still has
    /// it.
    pub fn send_from(
        &mut self,
        source: Option<IpAddr>,
        to: SocketAddr,
        ecn: u8,
        bytes: &[u8],
        size: usize,
    ) -> SendOutcome {
        if bytes.len() > size && self.groups {
            match self.send_located(source, to, ecn, bytes, size) {
                // An interface on the way that cannot compute checksums.
                Err(libc::EIO) => self.groups = false,
                // The kernel refuses the whole group if its first datagram does not fit (older kernels with EINVAL).
                // The last one may be shorter and fit.
                Err(libc::EMSGSIZE | libc::EINVAL) => {}
                sent => return outcome(sent),
            }
        }
        let mut all = SendOutcome::All;
        for datagram in bytes.chunks(size.max(1)) {
            match outcome(self.send_located(source, to, ecn, datagram, size)) {
                SendOutcome::All => {}
                SendOutcome::TooLarge => all = SendOutcome::TooLarge,
                other => return other,
            }
        }
        all
    }

    /// Sends a group, or a single datagram, in one call. If the machine has lost the address `source`, sends without
    /// it.
    fn send_located(
        &self,
        source: Option<IpAddr>,
        to: SocketAddr,
        ecn: u8,
        bytes: &[u8],
        size: usize,
    ) -> Result<(), libc::c_int> {
        let sent = self.send_once(source, to, ecn, bytes, size);
        let lost = match sent {
            Err(libc::EADDRNOTAVAIL | libc::ENETUNREACH) => true,
            // Of a group, EINVAL can also mean that its datagrams are too large.
            Err(libc::EINVAL) => bytes.len() <= size,
            _ => false,
        };
        if source.is_some() && lost { self.send_once(None, to, ecn, bytes, size) } else { sent }
    }

    fn send_once(
        &self,
        source: Option<IpAddr>,
        to: SocketAddr,
        ecn: u8,
        bytes: &[u8],
        size: usize,
    ) -> Result<(), libc::c_int> {
        let (name, length) = storage(to, self.v6);
        let mut piece =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let mut control = [0u64; CONTROL];
        // SAFETY: zeros are null pointers and empty lengths.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_name = (&raw const name).cast_mut().cast();
        header.msg_namelen = length;
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        let v4 = to.ip().to_canonical().is_ipv4();
        let (level, kind) = match v4 {
            true => (libc::IPPROTO_IP, libc::IP_TOS),
            false => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        let mut used = put(&mut control, 0, level, kind, &i32::from(ecn).to_ne_bytes());
        match source.map(|source| source.to_canonical()) {
            Some(IpAddr::V4(ip)) if v4 => {
                // struct in_pktinfo: any interface, this address, no destination.
                let mut info = [0; 12];
                info[4..8].copy_from_slice(&ip.octets());
                used = put(&mut control, used, libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            Some(IpAddr::V6(ip)) if !v4 => {
                // struct in6_pktinfo: this address, any interface.
                let mut info = [0; 20];
                info[..16].copy_from_slice(&ip.octets());
                used = put(&mut control, used, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
            _ => {}
        }
        if bytes.len() > size {
            let size = (size as u16).to_ne_bytes();
            used = put(&mut control, used, libc::SOL_UDP, libc::UDP_SEGMENT, &size);
        }
        header.msg_controllen = used as _;
        // SAFETY: the header points to `name`, `piece`, `bytes` and `control`, which outlive the
        // call, with their lengths; the kernel only reads them.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const header, 0) };
        match sent {
            ..0 => Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)),
            _ => Ok(()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn outcome(sent: Result<(), libc::c_int>) -> SendOutcome {
    match sent {
        Ok(()) => SendOutcome::All,
        Err(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => SendOutcome::Full,
        Err(libc::EMSGSIZE) => SendOutcome::TooLarge,
        Err(error) => SendOutcome::Lost(error),
    }
}

/// Appends a control message at byte `at`; returns where the next one begins.
fn put(
    control: &mut [u64; CONTROL],
    at: usize,
    level: libc::c_int,
    kind: libc::c_int,
    data: &[u8],
) -> usize {
    // SAFETY: this computes lengths and looks at nothing.
    let (space, length) = unsafe {
        (libc::CMSG_SPACE(data.len() as u32) as usize, libc::CMSG_LEN(data.len() as u32) as usize)
    };
    let end = at + space;
    if end > size_of::<[u64; CONTROL]>() || !at.is_multiple_of(size_of::<u64>()) {
        return at;
    }
    // SAFETY: `at` is aligned for a header and `end` lies within `control`, so that the header and
    // the data behind it do.
    unsafe {
        let header = control.as_mut_ptr().cast::<u8>().add(at).cast::<libc::cmsghdr>();
        (*header).cmsg_len = length as _;
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        std::ptr::copy_nonoverlapping(data.as_ptr(), libc::CMSG_DATA(header), data.len());
    }
    end
}

/// The contents of the control messages of a group.
#[derive(Default)]
struct Control {
    ecn: u8,
    stamp: Option<u64>,
    /// Bytes of each of its datagrams.
    size: Option<usize>,
    /// The address of this machine that it came to.
    local: Option<IpAddr>,
}

fn control(header: &libc::msghdr) -> Control {
    let Control { mut ecn, mut stamp, mut size, mut local } = Control::default();
    // SAFETY: the kernel has written whole control messages into the memory that the header points
    // to, and their length into the header. Data is read as far as its kind goes, unaligned.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let data = libc::CMSG_DATA(message);
            match ((*message).cmsg_level, (*message).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => ecn = *data & 3,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    ecn = (data.cast::<libc::c_int>().read_unaligned() & 3) as u8;
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = data.cast::<libc::timespec>().read_unaligned();
                    let seconds = (time.tv_sec as u64).saturating_mul(1_000_000_000);
                    stamp = Some(seconds.saturating_add(time.tv_nsec as u64));
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    let ip = Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr));
                    local = Some(IpAddr::V4(ip));
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    local = Some(IpAddr::from(info.ipi6_addr.s6_addr).to_canonical());
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    size = usize::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    Control { ecn, stamp, size, local }
}

/// Converts an address of the kernel's form. IPv4 addresses that are mapped to IPv6 become IPv4 addresses.
fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which address stands in the storage, which has room for all.
            let name = unsafe { (&raw const *name).cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(name.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { (&raw const *name).cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            let port = u16::from_be(name.sin6_port);
            // IPv4 that came to an IPv6 socket.
            if let Some(ip) = ip.to_ipv4_mapped() {
                return Some(SocketAddr::V4(SocketAddrV4::new(ip, port)));
            }
            let address = SocketAddrV6::new(ip, port, 0, name.sin6_scope_id);
            Some(SocketAddr::V6(address))
        }
        _ => None,
    }
}

/// Converts an address to the kernel's form. On IPv6 sockets, IPv4 addresses are mapped to IPv6.
fn storage(to: SocketAddr, v6: bool) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeros are an address storage of no family.
    let mut name: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let to = match (to, v6) {
        (SocketAddr::V4(to), true) => {
            SocketAddr::new(IpAddr::V6(to.ip().to_ipv6_mapped()), to.port())
        }
        (to, false) => SocketAddr::new(to.ip().to_canonical(), to.port()),
        (to, true) => to,
    };
    match to {
        SocketAddr::V4(to) => {
            // SAFETY: the storage has room and alignment for every kind of address.
            let place = unsafe { &mut *(&raw mut name).cast::<libc::sockaddr_in>() };
            place.sin_family = libc::AF_INET as libc::sa_family_t;
            place.sin_port = to.port().to_be();
            place.sin_addr.s_addr = u32::from(*to.ip()).to_be();
            (name, size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(to) => {
            // SAFETY: as above.
            let place = unsafe { &mut *(&raw mut name).cast::<libc::sockaddr_in6>() };
            place.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            place.sin6_port = to.port().to_be();
            place.sin6_addr.s6_addr = to.ip().octets();
            place.sin6_scope_id = to.scope_id();
            (name, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}

#[cfg(test)]
mod tests;
