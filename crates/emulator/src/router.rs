//! A router in front of a device: packets that are to leave the device pass a chain of links first.
//!
//! Packets that are to leave the device are led to a TAP device by an eBPF program, read there, and
//! written there again when they have passed; a second program lets them leave the device. TAP device and programs go
//! with this process, also if it is killed, and the device sends as before.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::uio::readv;
use paceline_os::route::{Interface, Links};
use paceline_os::tcx::{self, Hook};
use paceline_os::{Interrupts, RealTimeError};
use paceline_os::{Tun, TunOptions};

use crate::{Chain, Control, Emulator, EmulatorOptions, Observer, Port, SocketPort, Summary};

/// Bytes of an Ethernet header, and where the type of what follows is in it.
const ETHERNET: usize = 14;
const TYPE: usize = 12;
/// The length of device names, without a final zero.
const MOST_NAME: usize = 15;

/// A device, and the TAP device through which its packets will go. Until [`RoutedDevice::attach`], they do not.
#[derive(Debug)]
pub struct RoutedDevice {
    tap: Tun,
    device: String,
    index: u32,
    tap_index: u32,
}

impl RoutedDevice {
    /// Makes the TAP device, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// There is no such device or it has no Ethernet frames, it is routed already, or rights are missing.
    pub fn open(device: &str) -> Result<RoutedDevice, RealTimeError> {
        let mut links = Links::open()?;
        let index = links.index(device)?;
        let is_ethernet = |it: &Interface| it.index == index && it.has_ethernet_frames;
        if !links.interfaces()?.iter().any(is_ethernet) {
            return Err(RealTimeError::Message(format!(
                "{device} is no Ethernet device; name the one that leads to the network, such as \
                 eth1 or wlan0 (`ip link` lists them)"
            )));
        }
        let name: String = format!("pl-{device}").chars().take(MOST_NAME).collect();
        let tap = Tun::open(&TunOptions { ethernet: true, ..TunOptions::new(name) })?;
        let tap_index = links.index(tap.name())?;
        Ok(RoutedDevice { tap, device: device.into(), index, tap_index })
    }

    /// Returns the number of the device, and that of the TAP device.
    pub fn indices(&self) -> [u32; 2] {
        [self.index, self.tap_index]
    }

    /// Returns the TAP device's name.
    pub fn tap_name(&self) -> &str {
        self.tap.name()
    }

    /// Leads packets through the router from now on. `to_router` is the program for the exit of the
    /// device, `from_router` that for the entry of the TAP device.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach(
        self,
        to_router: BorrowedFd<'_>,
        from_router: BorrowedFd<'_>,
    ) -> Result<Router, RealTimeError> {
        let link = |program, index, hook, name: &str| {
            tcx::attach(program, index, hook).map_err(RealTimeError::system(format!(
                "a program at device {name} (tcx, which Linux has since 6.6)"
            )))
        };
        let outer = TapOutput::new(&self.tap)?;
        let back = link(from_router, self.tap_index, Hook::Ingress, self.tap.name())?;
        let there = link(to_router, self.index, Hook::Egress, &self.device)?;
        Ok(Router { inner: TapInput(self.tap), outer, _links: [there, back] })
    }
}

/// A router that a device's packets pass.
#[derive(Debug)]
pub struct Router {
    inner: TapInput,
    outer: TapOutput,
    /// First the one that leads packets here.
    _links: [OwnedFd; 2],
}

impl Router {
    /// Carries packets through `chain` until a signal comes or the time of `options` is over.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn run(
        self,
        chain: Chain,
        options: EmulatorOptions,
        observers: Vec<Box<dyn Observer>>,
        interrupts: &Interrupts,
    ) -> Result<Summary, RealTimeError> {
        let back = Chain::new(Vec::new());
        let mut emulator = Emulator::new(self.inner, self.outer, chain, back, options);
        observers.into_iter().for_each(|observer| emulator.watch(observer));
        emulator.run(&[interrupts.as_fd()], &mut |_| Control::Stop)
    }
}

/// The port that packets come from: frames without their Ethernet headers.
#[derive(Debug)]
struct TapInput(Tun);

impl AsFd for TapInput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Port for TapInput {
    fn has_header(&self) -> bool {
        false
    }
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut header = [0; ETHERNET];
        let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
        let length = readv(&self.0, &mut parts)?;
        // A frame without a packet counts as malformed, and not as the end.
        Ok(if length == 0 { 0 } else { length.saturating_sub(ETHERNET).max(1) })
    }
    /// Takes packets and discards them: the emulator writes none here.
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(parts.iter().map(|part| part.len()).sum())
    }
}

/// The port that packets go to: the same device, written only.
#[derive(Debug)]
struct TapOutput {
    tap: Tun,
    /// A file that never has input, and its other end, which keeps it open.
    silent: SocketPort,
    _other: SocketPort,
}

impl TapOutput {
    fn new(tap: &Tun) -> Result<TapOutput, RealTimeError> {
        let fail = |what: &str| RealTimeError::system(format!("{}: {what}", tap.name()));
        let file = tap.as_fd().try_clone_to_owned().map_err(fail("a second file"))?;
        let options = TunOptions { ethernet: true, ..TunOptions::new(tap.name()) };
        let (silent, other) = SocketPort::pair(false).map_err(fail("a pair of sockets"))?;
        Ok(TapOutput { tap: Tun::from_fd(file, &options), silent, _other: other })
    }
}

impl AsFd for TapOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.silent.as_fd()
    }
}

impl Port for TapOutput {
    fn has_header(&self) -> bool {
        false
    }
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
    fn write(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let [packet] = parts else { return Err(io::ErrorKind::InvalidInput.into()) };
        // The program at the TAP device's entry has the addresses written anew.
        let mut header = [2; ETHERNET];
        let six = packet.first().is_some_and(|byte| byte >> 4 == 6);
        header[TYPE..].copy_from_slice(&if six { [0x86, 0xdd] } else { [0x08, 0x00] });
        self.tap.write(&[IoSlice::new(&header), IoSlice::new(packet)])
    }
}
