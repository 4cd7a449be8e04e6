//! The TUN device of a tunnel, its addresses and its routes. All of it vanishes with the process,
//! however that ends, because the kernel removes the device and what hangs on it.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use paceline_ip::coalesce::Coalescer;
use paceline_ip::icmp::LEAST_IPV6;
use paceline_ip::marks::Marks;
use paceline_ip::offload::{HEADER, Layout};
use paceline_ip::{mss, packet};
use paceline_os::LiveError;
use paceline_os::route::Links;
use paceline_os::{Tun, TunOptions};

use super::Prefix;

/// Packets that the kernel keeps for us while we do not read.
const QUEUE: u32 = 500;
/// Packets that are read in one go; a piece is read whole.
const BURST: usize = 256;
/// Most bytes that one read returns: a piece and the device's header.
const LONGEST_READ: usize = HEADER + 65_535;
/// The device's header of a packet that stands for itself and has its checksum.
const PLAIN: [u8; HEADER] = [0; HEADER];

/// What a tunnel's device shall be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// Its name, 15 bytes at most.
    pub name: String,
    /// Its addresses, with the networks that are reached through it.
    pub addresses: Vec<Prefix>,
    /// Further networks that are reached through it.
    pub routes: Vec<Prefix>,
    /// Whether the kernel may hand over and take several segments of a flow as one piece (TSO, USO, GRO), which costs
    /// less. What the tunnel carries are packets in any case.
    pub offload: bool,
}

/// The device of a tunnel.
#[derive(Debug)]
pub(super) struct Device {
    tun: Tun,
    links: Links,
    index: u32,
    ipv6: bool,
    mtu: u32,
    buffer: Vec<u8>,
    /// A segment of the piece that was read.
    segment: Vec<u8>,
    /// Joins what is written, if the device has offloads.
    coalescer: Option<Coalescer>,
}

impl Device {
    /// Makes the device with its addresses and routes; its packets have at most `mtu` bytes.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub(super) fn open(options: &DeviceOptions, mtu: u32) -> Result<Device, LiveError> {
        let ipv6 = options.addresses.iter().chain(&options.routes).any(|at| at.address.is_ipv6());
        let mtu = if ipv6 { mtu.max(LEAST_IPV6 as u32) } else { mtu };
        let tun = open_tun(options, mtu)?;
        let mut links = Links::open()?;
        let index = links.index(tun.name())?;
        for Prefix { address, bits } in &options.addresses {
            links.add_network(index, *address, *bits)?;
        }
        for route in &options.routes {
            links.add_route(index, route.base(), route.bits)?;
        }
        Ok(Device {
            coalescer: tun.has_header().then(|| Coalescer::new(tun.has_udp_segments())),
            tun,
            links,
            index,
            ipv6,
            mtu,
            buffer: vec![0; LONGEST_READ],
            segment: Vec::new(),
        })
    }

    /// The most bytes of a packet.
    pub(super) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// True if IPv6 is used here, and needs longer packets than these.
    pub(super) fn is_too_small(&self, longest: usize) -> bool {
        self.ipv6 && longest < LEAST_IPV6
    }

    /// Sets the most bytes of a packet; with IPv6 it is never less than that needs.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn set_mtu(&mut self, longest: usize) -> Result<(), LiveError> {
        let wanted = if self.ipv6 { longest.max(LEAST_IPV6) } else { longest } as u32;
        if wanted != self.mtu {
            self.links.set_up(self.index, wanted, QUEUE)?;
            self.mtu = wanted;
        }
        Ok(())
    }

    /// Reads packets that the kernel sends through the device, at most some hundred. `see` gets each as it would be on
    /// a wire: pieces are cut into their segments, and missing checksums are computed.
    ///
    /// # Errors
    /// The device has gone.
    pub(super) fn read(&mut self, mut see: impl FnMut(&[u8])) -> Result<(), LiveError> {
        let mut count = 0;
        while count < BURST {
            match self.tun.read(&mut self.buffer) {
                Ok(length) => {
                    let read = self.buffer.get(..length).unwrap_or(&[]);
                    count += match self.coalescer {
                        Some(_) => see_segments(read, &mut self.segment, &mut see),
                        None => {
                            see(read);
                            1
                        }
                    };
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => return Ok(()),
                    _ => {
                        let what = format!("reading from device {}", self.tun.name());
                        return Err(LiveError::system(what)(error));
                    }
                },
            }
        }
        Ok(())
    }

    /// Hands a packet that came through the tunnel to the kernel, at the latest with [`Device::flush`]. One that opens a
    /// TCP connection then asks for no larger segments than fit into packets of `longest` bytes, which is what this end
    /// can send. What the kernel does not take is lost, as in a network.
    #[inline]
    pub(super) fn deliver(&mut self, packet: &[u8], longest: usize) {
        if let Some(at) = mss::opening(packet) {
            let mut copy = packet.to_vec();
            mss::clamp(&mut copy, at, longest);
            self.push(&copy);
        } else {
            self.push(packet);
        }
    }

    fn push(&mut self, packet: &[u8]) {
        let Device { tun, coalescer, .. } = self;
        match coalescer {
            Some(coalescer) => coalescer.push(packet, &mut |header, packet| {
                let _ = tun.write(&[IoSlice::new(header), IoSlice::new(packet)]);
            }),
            None => {
                let _ = tun.write(&[IoSlice::new(packet)]);
            }
        }
    }

    /// Hands over what [`Device::deliver`] has joined and still holds. To be called after each batch of arrivals.
    pub(super) fn flush(&mut self) {
        let Device { tun, coalescer, .. } = self;
        if let Some(coalescer) = coalescer {
            coalescer.flush(&mut |header, packet| {
                let _ = tun.write(&[IoSlice::new(header), IoSlice::new(packet)]);
            });
        }
    }

    /// Hands a packet of the tunnel's own to the kernel at once. What the kernel does not take is lost, as in a network.
    pub(super) fn write(&mut self, packet: &[u8]) {
        let header: &[u8] = if self.coalescer.is_some() { &PLAIN } else { &[] };
        let _ = self.tun.write(&[IoSlice::new(header), IoSlice::new(packet)]);
    }
}

/// Makes the device, without offloads if these are not wanted or the kernel refuses them.
fn open_tun(options: &DeviceOptions, mtu: u32) -> Result<Tun, LiveError> {
    let plain = TunOptions { mtu, queue_len: QUEUE, ..TunOptions::new(options.name.clone()) };
    if options.offload
        && let Ok(tun) = Tun::open(&TunOptions { offload: true, ..plain.clone() })
    {
        return Ok(tun);
    }
    Tun::open(&plain)
}

/// Shows each packet that something read from a device with offloads stands for. Returns how many there are, at least
/// one. What contradicts itself is dropped.
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
        self.tun.as_fd()
    }
}
