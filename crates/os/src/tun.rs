//! TUN devices: interfaces whose packets this process reads and writes.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::RealTimeError;

use super::route::Links;

/// The device file from which TUN devices are made.
const DEVICE: &str = "/dev/net/tun";

/// Bytes of the header that precedes each packet of a device with offloads: `virtio_net_hdr`.
pub const HEADER: usize = 10;

/// What a TUN device shall be like.
#[derive(Clone, Debug)]
pub struct TunOptions {
    /// The interface's name, 15 bytes at most.
    pub name: String,
    /// Whether packets carry a `virtio_net_hdr` of [`HEADER`] bytes, may exceed the MTU (to be
    /// segmented by the reader) and may lack their checksum.
    pub offload: bool,
    /// Whether it is a TAP device: what is read and written are Ethernet frames.
    pub ethernet: bool,
    /// The interface's MTU, in bytes.
    pub mtu: u32,
    /// Packets that the kernel keeps for the reader.
    pub queue_len: u32,
}

impl TunOptions {
    /// A device with an MTU of 1500 bytes, no offloads, and a long queue.
    pub fn new(name: impl Into<String>) -> TunOptions {
        TunOptions {
            name: name.into(),
            offload: false,
            ethernet: false,
            mtu: 1500,
            queue_len: 10_000,
        }
    }
}

/// An open TUN device, which vanishes when it is closed. Reads and writes do not block.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offload: bool,
    /// Whether UDP datagrams of a flow may be one piece, too.
    udp_segments: bool,
}

/// `struct ifreq` as far as TUNSETIFF reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

/// Checks that this user may open the file from which TUN devices are made.
///
/// # Errors
/// The file is missing or closed to this user, or the kernel has no driver; with the remedy.
pub fn check_device_file() -> Result<(), RealTimeError> {
    open_device_file().map(drop)
}

fn open_device_file() -> Result<File, RealTimeError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(DEVICE)
        .map_err(device_missing)
}

impl Tun {
    /// Makes a device in the network namespace of the calling thread, and brings it up with the
    /// MTU and queue asked for.
    ///
    /// # Errors
    /// What the kernel refused, and what would help; its number is `EBUSY` if another process has a device of this name.
    pub fn open(options: &TunOptions) -> Result<Tun, RealTimeError> {
        let mut tun = Tun::attach(options, 0)?;
        tun.start(options)?;
        Ok(tun)
    }

    /// As [`Tun::open`], with `count` queues, at least one: each is read and written on its own, and has a queue of the
    /// kernel's of its own. The kernel gives each flow to the queue by which a packet of the flow was written last, in either
    /// direction; flows that were not written for 3 s are divided by a hash.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_queues(options: &TunOptions, count: usize) -> Result<Vec<Tun>, RealTimeError> {
        if count <= 1 {
            return Ok(vec![Tun::open(options)?]);
        }
        // Without IFF_TUN_EXCL, the first queue would become one of another process' device of this name.
        let mut first = Tun::attach(options, libc::IFF_MULTI_QUEUE | libc::IFF_TUN_EXCL)?;
        first.start(options)?;
        let udp_segments = first.udp_segments;
        let mut queues = vec![first];
        for _ in 1..count {
            let further = Tun::attach(options, libc::IFF_MULTI_QUEUE)?;
            queues.push(Tun { udp_segments, ..further });
        }
        Ok(queues)
    }

    /// As [`Tun::open`]; if another process has a device of this name, such as one with the same number in another
    /// process namespace, the name is followed by `-2`, `-3` and so on, within its 15 bytes.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_beside(options: &TunOptions) -> Result<Tun, RealTimeError> {
        let mut opened = Tun::open(options);
        for number in 2.. {
            let name = format!("{}-{number}", options.name);
            let is_taken = opened.as_ref().is_err_and(|error| error.errno() == Some(libc::EBUSY));
            if !is_taken || name.len() >= libc::IFNAMSIZ {
                break;
            }
            opened = Tun::open(&TunOptions { name, ..options.clone() });
        }
        opened
    }

    /// Opens a queue of a device, which is made if it is not there, with further flags.
    fn attach(options: &TunOptions, further: libc::c_int) -> Result<Tun, RealTimeError> {
        let file = open_device_file()?;
        let kind = if options.ethernet { libc::IFF_TAP } else { libc::IFF_TUN };
        let mut flags = kind | libc::IFF_NO_PI | further;
        if options.offload {
            flags |= libc::IFF_VNET_HDR;
        }
        let mut request =
            Request { name: [0; libc::IFNAMSIZ], flags: flags as libc::c_short, rest: [0; 22] };
        let name = options.name.as_bytes();
        match request.name.get_mut(..name.len()) {
            Some(place) if name.len() < libc::IFNAMSIZ => place.copy_from_slice(name),
            _ => {
                return Err(RealTimeError::Message(format!(
                    "{}: a device's name has 15 bytes at most",
                    options.name
                )));
            }
        }
        let fd = file.as_raw_fd();
        // SAFETY: TUNSETIFF reads and writes one `ifreq`, whose size `Request` has.
        check(unsafe { libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) })
            .map_err(|error| not_made(&options.name, error))?;
        let name = options.name.clone();
        Ok(Tun { file, name, offload: options.offload, udp_segments: false })
    }

    /// Sets the offloads of a device that was just made, and brings it up.
    fn start(&mut self, options: &TunOptions) -> Result<(), RealTimeError> {
        if options.offload {
            self.udp_segments = self.offload()?;
        }
        let mut links = Links::open()?;
        let index = links.index(&self.name)?;
        links.set_up(index, options.mtu, options.queue_len)
    }

    /// A device that another process has opened with the same options.
    pub fn from_fd(fd: OwnedFd, options: &TunOptions) -> Tun {
        let name = options.name.clone();
        Tun { file: File::from(fd), name, offload: options.offload, udp_segments: false }
    }

    /// Lets the kernel hand over large segments and packets without checksums. UDP segments only
    /// where the kernel knows them (6.2 and later); true if it does.
    fn offload(&self) -> Result<bool, RealTimeError> {
        let fd = self.file.as_raw_fd();
        let size: libc::c_int = HEADER as libc::c_int;
        // SAFETY: TUNSETVNETHDRSZ reads one int.
        check(unsafe { libc::ioctl(fd, libc::TUNSETVNETHDRSZ, &raw const size) })
            .map_err(RealTimeError::system(format!("{}: size of the offload header", self.name)))?;
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
        // SAFETY: TUNSETOFFLOAD takes its flags by value.
        let set = |flags: libc::c_uint| {
            check(unsafe { libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
        };
        set(tcp | udp)
            .map(|()| true)
            .or_else(|_| set(tcp).map(|()| false))
            .map_err(RealTimeError::system(format!("{}: segmentation offload", self.name)))
    }

    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether packets are preceded by a header of [`HEADER`] bytes.
    pub fn has_header(&self) -> bool {
        self.offload
    }

    /// Whether this process may write UDP datagrams of a flow as one piece. Not known of devices that another process
    /// has opened.
    pub fn has_udp_segments(&self) -> bool {
        self.udp_segments
    }

    /// Reads one packet, its header included; its length.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is none.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Writes one packet given in parts, its header included; its length.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for what is no packet; `EIO` when the interface is down.
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.file).write_vectored(parts)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn device_missing(error: io::Error) -> RealTimeError {
    let help = match error.raw_os_error() {
        Some(libc::ENOENT) => {
            "load the module (sudo modprobe tun), or make the file in a container \
             (mkdir -p /dev/net && mknod /dev/net/tun c 10 200, or docker run --device /dev/net/tun)"
        }
        Some(libc::ENODEV | libc::ENXIO) => "the kernel has no TUN driver: sudo modprobe tun",
        Some(libc::EACCES | libc::EPERM) => {
            "let everybody use it: sudo chmod 0666 /dev/net/tun (it grants nothing by itself)"
        }
        _ => "emulation needs TUN devices",
    };
    RealTimeError::Message(format!("{DEVICE}: {error}; {help}"))
}

fn not_made(name: &str, error: io::Error) -> RealTimeError {
    let help = match error.raw_os_error() {
        Some(libc::EPERM) => "the capability CAP_NET_ADMIN is missing in this network namespace",
        Some(libc::EBUSY) => {
            let taken = format!("TUN device {name}: an interface of this name exists");
            return RealTimeError::system(taken)(error);
        }
        _ => "the kernel refused to make the device",
    };
    RealTimeError::Message(format!("TUN device {name}: {error}; {help}"))
}
