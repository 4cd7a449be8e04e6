//! The TUN device of a tunnel, its addresses and its routes. All of it vanishes with the process,
//! however that ends, because the kernel removes the device and what hangs on it.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};

use super::Prefix;
use crate::LiveError;
use crate::emulator::icmp::LEAST_IPV6;
use crate::emulator::mss;
use crate::linux::route::Links;
use crate::linux::{Tun, TunOptions};

/// Packets that the kernel keeps for us while we do not read.
const QUEUE: u32 = 500;
/// How many packets are read in one go.
const BURST: usize = 256;

/// What a tunnel's device shall be like.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// Its name, 15 bytes at most.
    pub name: String,
    /// Its addresses, with the networks that are reached through it.
    pub addresses: Vec<Prefix>,
    /// Further networks that are reached through it.
    pub routes: Vec<Prefix>,
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
}

impl Device {
    /// Makes the device with its addresses and routes; its packets have at most `mtu` bytes.
    ///
    /// # Errors
    /// The kernel refuses something.
    pub(super) fn open(options: &DeviceOptions, mtu: u32) -> Result<Device, LiveError> {
        let ipv6 = options.addresses.iter().chain(&options.routes).any(|at| at.address.is_ipv6());
        let mtu = if ipv6 { mtu.max(LEAST_IPV6 as u32) } else { mtu };
        let tun = Tun::open(&TunOptions {
            mtu,
            queue_len: QUEUE,
            ..TunOptions::new(options.name.clone())
        })?;
        let mut links = Links::open()?;
        let index = links.index(tun.name())?;
        for Prefix { address, bits } in &options.addresses {
            links.add_network(index, *address, *bits)?;
        }
        for route in &options.routes {
            links.add_route(index, route.base(), route.bits)?;
        }
        Ok(Device { tun, links, index, ipv6, mtu, buffer: vec![0; 65_536] })
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

    /// Reads packets that the kernel sends through the device, at most some hundred.
    ///
    /// # Errors
    /// The device has gone.
    pub(super) fn read(&mut self, mut see: impl FnMut(&[u8])) -> Result<(), LiveError> {
        for _ in 0..BURST {
            match self.tun.read(&mut self.buffer) {
                Ok(length) => see(self.buffer.get(..length).unwrap_or(&[])),
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

    /// Hands a packet that came through the tunnel to the kernel. One that opens a TCP connection then
    /// asks for no larger segments than fit into packets of `longest` bytes, which is what this end can
    /// send.
    #[inline]
    pub(super) fn deliver(&mut self, packet: &[u8], longest: usize) -> bool {
        let Some(at) = mss::opening(packet) else { return self.write(packet) };
        let mut copy = packet.to_vec();
        mss::clamp(&mut copy, at, longest);
        self.write(&copy)
    }

    /// Hands a packet to the kernel. What the kernel does not take is lost, as in a network.
    pub(super) fn write(&mut self, packet: &[u8]) -> bool {
        self.tun.write(&[IoSlice::new(packet)]).is_ok()
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
