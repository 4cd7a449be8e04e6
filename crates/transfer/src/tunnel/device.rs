//! The TUN device of a tunnel, its addresses and its routes. The kernel removes all of them when
//! the process ends for any reason.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use paceline_ip::coalesce::Coalescer;
use paceline_ip::icmp::LEAST_IPV6;
use paceline_ip::marks::Marks;
use paceline_ip::offload::{HEADER, Layout};
use paceline_ip::{mss, packet};
use paceline_os::RealTimeError;
use paceline_os::route::Links;
use paceline_os::{Tun, TunOptions};

use super::Prefix;

/// Number of packets that the kernel queues until they are read.
const QUEUE: u32 = 500;
/// Maximum number of packets read per turn. A piece of several segments is read whole.
const BURST: usize = 256;
/// Maximum number of bytes per read: a piece and the device's header.
const LONGEST_READ: usize = HEADER + 65_535;
/// The device's header for a single packet with a complete checksum.
const PLAIN: [u8; HEADER] = [0; HEADER];

/// Options of a tunnel's device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Its addresses, with the networks that are reached through it.
    pub addresses: Vec<Prefix>,
    /// Further networks that are reached through it.
    pub routes: Vec<Prefix>,
    /// True if the kernel may pass several segments of a flow as one piece (TSO, USO, GRO),
    /// which costs less processor time. The tunnel carries single packets in any case.
    pub offload: bool,
}

/// A tunnel's device as one loop uses it.
#[derive(Debug)]
pub(super) struct Device {
    /// The queues of all loops. Only its own loop reads a queue.
    queues: Arc<[Tun]>,
    /// Index of this loop's queue.
    own: usize,
    settings: Arc<Settings>,
    buffer: Vec<u8>,
    /// Buffer for one segment of the piece that was read.
    segment: Vec<u8>,
    /// Joins written packets, if the device has offloads.
    coalescer: Option<Coalescer>,
}

/// Settings of the device, shared by all loops.
#[derive(Debug)]
struct Settings {
    index: u32,
    ipv6: bool,
    mtu: AtomicU32,
    changing: Mutex<Changing>,
}

#[derive(Debug)]
struct Changing {
    links: Links,
    /// Maximum packet length that each loop's connections carry, in bytes; `None` while it has no
    /// connection.
    longest: Vec<Option<usize>>,
}

impl Device {
    /// Creates the device with its addresses and routes, and with this MTU in bytes.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub(super) fn open(options: &DeviceOptions, mtu: u32) -> Result<Device, RealTimeError> {
        let mut loops = Device::open_for(options, mtu, 1)?;
        loops.pop().ok_or_else(|| RealTimeError::Message("there is no device".into()))
    }

    /// Creates the device for `count` loops, each of which has its own queue.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub(super) fn open_for(
        options: &DeviceOptions,
        mtu: u32,
        count: usize,
    ) -> Result<Vec<Device>, RealTimeError> {
        let ipv6 = options.addresses.iter().chain(&options.routes).any(|at| at.address.is_ipv6());
        let mtu = if ipv6 { mtu.max(LEAST_IPV6 as u32) } else { mtu };
        let queues: Arc<[Tun]> = open_queues(options, mtu, count)?.into();
        let mut links = Links::open()?;
        let index = links.index(&options.name)?;
        for Prefix { address, bits } in &options.addresses {
            links.add_network(index, *address, *bits)?;
        }
        for route in &options.routes {
            links.add_route(index, route.base(), route.bits)?;
        }
        let changing = Mutex::new(Changing { links, longest: vec![None; queues.len()] });
        let settings = Arc::new(Settings { index, ipv6, mtu: AtomicU32::new(mtu), changing });
        let of_loop = |(own, tun): (usize, &Tun)| Device {
            coalescer: tun.has_header().then(|| Coalescer::new(tun.has_udp_segments())),
            queues: Arc::clone(&queues),
            own,
            settings: Arc::clone(&settings),
            buffer: vec![0; LONGEST_READ],
            segment: Vec::new(),
        };
        Ok(queues.iter().enumerate().map(of_loop).collect())
    }

    /// Returns the device's MTU in bytes.
    pub(super) fn mtu(&self) -> u32 {
        self.settings.mtu.load(Ordering::Relaxed)
    }

    /// Returns true if the device has IPv6 addresses and IPv6 needs a larger MTU than `longest`.
    pub(super) fn is_too_small(&self, longest: usize) -> bool {
        self.settings.ipv6 && longest < LEAST_IPV6
    }

    /// Sets the maximum packet length that this loop's connections carry. The device's MTU is the
    /// maximum over all loops, and with IPv6 at least what IPv6 requires. While no loop has a
    /// connection, the MTU stays unchanged.
    ///
    /// # Errors
    /// The kernel refuses the MTU.
    pub(super) fn set_longest(&mut self, longest: Option<usize>) -> Result<(), RealTimeError> {
        let Settings { index, ipv6, mtu, changing } = &*self.settings;
        let mut changing = changing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = changing.longest.get_mut(self.own) {
            *place = longest;
        }
        let Some(most) = changing.longest.iter().copied().flatten().max() else { return Ok(()) };
        let wanted = if *ipv6 { most.max(LEAST_IPV6) } else { most } as u32;
        if wanted != mtu.load(Ordering::Relaxed) {
            changing.links.set_up(*index, wanted, QUEUE)?;
            mtu.store(wanted, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads packets that the kernel sends through the device, at most some hundred. `see` gets
    /// each packet as it would be on a wire: pieces are split into their segments, and
    /// missing checksums are computed.
    ///
    /// # Errors
    /// The device has been removed.
    pub(super) fn read(&mut self, mut see: impl FnMut(&[u8])) -> Result<(), RealTimeError> {
        self.read_pieces(|mut piece| piece.each(&mut see))
    }

    /// Reads from this loop's queue until `take` has counted some hundred packets. `take` gets each
    /// packet or piece whole, and returns the number of packets in it.
    ///
    /// # Errors
    /// The device has been removed.
    pub(super) fn read_pieces(
        &mut self,
        mut take: impl FnMut(Piece<'_>) -> usize,
    ) -> Result<(), RealTimeError> {
        let Device { queues, own, buffer, segment, coalescer, .. } = self;
        let Some(tun) = queues.get(*own) else { return Ok(()) };
        let mut count = 0;
        while count < BURST {
            match tun.read(buffer) {
                Ok(length) => {
                    let raw = buffer.get(..length).unwrap_or(&[]);
                    count += take(Piece { raw, has_header: coalescer.is_some(), segment });
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => return Ok(()),
                    _ => {
                        let what = format!("reading from device {}", tun.name());
                        return Err(RealTimeError::system(what)(error));
                    }
                },
            }
        }
        Ok(())
    }

    /// Parses a packet or piece that another loop has read from its queue of this device.
    pub(super) fn piece<'a>(&'a mut self, raw: &'a [u8]) -> Piece<'a> {
        Piece { raw, has_header: self.coalescer.is_some(), segment: &mut self.segment }
    }

    /// Passes a packet from the tunnel to the kernel, at the latest at the next [`Device::flush`].
    /// In a packet that opens a TCP connection, lowers the MSS to what fits into packets of
    /// `longest` bytes, the most that this end can send. If the kernel does not accept the packet,
    /// it is lost, as in a network.
    #[inline]
    pub(super) fn deliver(&mut self, packet: &[u8], longest: usize) {
        let own = self.own;
        self.deliver_by(packet, longest, |_| own);
    }

    /// Delivers a packet like [`Device::deliver`]. `queue_for` returns the loop whose queue the
    /// packet is written to.
    #[inline]
    pub(super) fn deliver_by(
        &mut self,
        packet: &[u8],
        longest: usize,
        queue_for: impl Fn(&[u8]) -> usize,
    ) {
        if let Some(at) = mss::opening(packet) {
            let mut copy = packet.to_vec();
            mss::clamp(&mut copy, at, longest);
            self.push(&copy, queue_for);
        } else {
            self.push(packet, queue_for);
        }
    }

    fn push(&mut self, packet: &[u8], queue_for: impl Fn(&[u8]) -> usize) {
        let Device { queues, coalescer, .. } = self;
        match coalescer {
            Some(coalescer) => coalescer.push(packet, &mut |header, packet| {
                write(queues, queue_for(packet), &[IoSlice::new(header), IoSlice::new(packet)]);
            }),
            None => write(queues, queue_for(packet), &[IoSlice::new(packet)]),
        }
    }

    /// Writes the packets that [`Device::deliver`] still holds. Call it after each batch of
    /// arrivals.
    pub(super) fn flush(&mut self) {
        let own = self.own;
        self.flush_by(|_| own);
    }

    /// Flushes like [`Device::flush`]. `queue_for` returns the loop whose queue a packet is written
    /// to.
    pub(super) fn flush_by(&mut self, queue_for: impl Fn(&[u8]) -> usize) {
        let Device { queues, coalescer, .. } = self;
        if let Some(coalescer) = coalescer {
            coalescer.flush(&mut |header, packet| {
                write(queues, queue_for(packet), &[IoSlice::new(header), IoSlice::new(packet)]);
            });
        }
    }

    /// Passes one of the tunnel's own packets to the kernel at once. If the kernel does not accept
    /// it, it is lost, as in a network.
    pub(super) fn write(&mut self, packet: &[u8]) {
        let header: &[u8] = if self.coalescer.is_some() { &PLAIN } else { &[] };
        write(&self.queues, self.own, &[IoSlice::new(header), IoSlice::new(packet)]);
    }
}

/// Writes a packet to one of the device's queues.
#[inline]
fn write(queues: &[Tun], queue: usize, parts: &[IoSlice<'_>]) {
    if let Some(tun) = queues.get(queue) {
        let _ = tun.write(parts);
    }
}

/// A packet, or a piece of several segments of a flow, as read from the device.
pub(super) struct Piece<'a> {
    raw: &'a [u8],
    has_header: bool,
    segment: &'a mut Vec<u8>,
}

impl Piece<'_> {
    /// Returns the bytes that were read, with the device's header if there is one.
    pub(super) fn raw(&self) -> &[u8] {
        self.raw
    }
    /// Returns the packet. For a piece, that is one packet with the headers of all segments.
    pub(super) fn packet(&self) -> &[u8] {
        if self.has_header { self.raw.get(HEADER..).unwrap_or(&[]) } else { self.raw }
    }
    /// Passes each packet of it to `see`. Returns their number, at least one.
    pub(super) fn each(&mut self, see: &mut impl FnMut(&[u8])) -> usize {
        if self.has_header {
            return see_segments(self.raw, self.segment, see);
        }
        see(self.raw);
        1
    }
}

/// Creates the device, without offloads if the user does not want them or the kernel refuses them.
fn open_queues(options: &DeviceOptions, mtu: u32, count: usize) -> Result<Vec<Tun>, RealTimeError> {
    let plain = TunOptions { mtu, queue_len: QUEUE, ..TunOptions::new(options.name.clone()) };
    if options.offload
        && let Ok(queues) = Tun::open_queues(&TunOptions { offload: true, ..plain.clone() }, count)
    {
        return Ok(queues);
    }
    Tun::open_queues(&plain, count)
}

/// Passes each packet of a read from a device with offloads to `see`. Returns their number, at
/// least one. Drops an inconsistent piece.
fn see_segments(read: &[u8], segment: &mut Vec<u8>, see: &mut impl FnMut(&[u8])) -> usize {
    let Some((header, packet)) = read.split_at_checked(HEADER) else { return 1 };
    if header.iter().take(2).all(|&byte| byte == 0) {
        see(packet);
        return 1;
    }
    let parsed = packet::parse(packet).and_then(|parsed| Layout::new(header, packet, &parsed));
    let Ok(layout) = parsed else { return 1 };
    for index in 0..layout.segments() {
        segment.clear();
        layout.complete(packet, index, &Marks::ecn(layout.ecn()), segment);
        see(segment);
    }
    usize::from(layout.segments())
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queues[self.own].as_fd()
    }
}
