//! The TUN device of a tunnel, its addresses and its routes. All of it vanishes with the process,
//! however that ends, because the kernel removes the device and what hangs on it.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use super::prefix::Prefix;
use crate::LiveError;
use crate::linux::route::Links;
use crate::linux::{Tun, TunOptions};

/// Packets that the kernel keeps for us while we do not read.
const QUEUE: u32 = 500;
/// The least MTU of a device with IPv6 (RFC 8200).
const LEAST_IPV6: u32 = 1280;
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
        let mtu = if ipv6 { mtu.max(LEAST_IPV6) } else { mtu };
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

    /// Sets the most bytes of a packet. True if IPv6 does not work with so few: then it is as small as
    /// IPv6 allows, and longer packets are lost.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(super) fn set_mtu(&mut self, mtu: u32) -> Result<bool, LiveError> {
        let wanted = if self.ipv6 { mtu.max(LEAST_IPV6) } else { mtu };
        if wanted != self.mtu {
            self.links.set_up(self.index, wanted, QUEUE)?;
            self.mtu = wanted;
        }
        Ok(wanted > mtu)
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

/// The source and the destination of an IP packet.
pub(super) fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let four = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let six = |at: usize| Some(IpAddr::from(*packet.get(at..)?.first_chunk::<16>()?));
    match packet.first()? >> 4 {
        4 => Some((four(12)?, four(16)?)),
        6 => Some((six(8)?, six(24)?)),
        _ => None,
    }
}
