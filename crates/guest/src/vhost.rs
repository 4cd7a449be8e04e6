//! The network device of a guest: the vhost-user requests of Linux' `virtio_uml`, and frames
//! through two rings. Notifications are messages on the sockets
//! (`VHOST_USER_PROTOCOL_F_INBAND_NOTIFICATIONS`), so that each has its place in virtual time.

use std::fs::File;
use std::os::fd::OwnedFd;

use crate::error::Error;
use crate::memory::{GuestMemory, Region};
use crate::ring::{Addresses, Chain, Ring};

/// Bytes of a message's header: request, flags, size.
pub(crate) const HEADER: usize = 12;
/// Longest accepted payload in bytes: a memory table of 8 regions has 264.
pub(crate) const LONGEST: usize = 512;
/// Bytes of `struct virtio_net_hdr_v1` before each frame.
const NET_HEADER: usize = 12;
/// Index of the ring with frames to the guest.
pub(crate) const RECEIVE: usize = 0;
/// Index of the ring with frames from the guest.
pub(crate) const TRANSMIT: usize = 1;

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

const VIRTIO_NET_F_MTU: u64 = 1 << 3;
const VIRTIO_NET_F_MAC: u64 = 1 << 5;
const VHOST_USER_F_PROTOCOL_FEATURES: u64 = 1 << 30;
const VIRTIO_F_VERSION_1: u64 = 1 << 32;
const FEATURES: u64 =
    VIRTIO_NET_F_MTU | VIRTIO_NET_F_MAC | VHOST_USER_F_PROTOCOL_FEATURES | VIRTIO_F_VERSION_1;

/// Protocol features: REPLY_ACK, BACKEND_REQ, CONFIG and INBAND_NOTIFICATIONS.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

// Requests of the guest (vhost-user: front end).
const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_OWNER: u32 = 3;
const RESET_OWNER: u32 = 4;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const SET_VRING_BASE: u32 = 10;
const GET_VRING_BASE: u32 = 11;
const GET_PROTOCOL_FEATURES: u32 = 15;
const SET_PROTOCOL_FEATURES: u32 = 16;
const SET_VRING_ENABLE: u32 = 18;
const SET_BACKEND_REQ_FD: u32 = 21;
const GET_CONFIG: u32 = 24;
const SET_CONFIG: u32 = 25;
const VRING_KICK: u32 = 35;
/// Request of the simulator (vhost-user: back end): buffers of a ring are used.
const VRING_CALL: u32 = 4;

/// A message's header.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Header {
    pub(crate) request: u32,
    flags: u32,
    /// Bytes of the payload.
    pub(crate) size: usize,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// The message has another protocol version, or its payload is longer than [`LONGEST`].
    pub(crate) fn read(bytes: [u8; HEADER]) -> Result<Header, Error> {
        let [r0, r1, r2, r3, f0, f1, f2, f3, s0, s1, s2, s3] = bytes;
        let size = u32::from_le_bytes([s0, s1, s2, s3]) as usize;
        let flags = u32::from_le_bytes([f0, f1, f2, f3]);
        if flags & 3 != VERSION || size > LONGEST {
            return Err(Error::lies(format!("a device request of {size} bytes, flags {flags:#x}")));
        }
        Ok(Header { request: u32::from_le_bytes([r0, r1, r2, r3]), flags, size })
    }

    fn reply(&self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = self.request.to_le_bytes().to_vec();
        bytes.extend((VERSION | REPLY).to_le_bytes());
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    }
}

/// Returns the message that tells the guest of used buffers; the guest answers it.
pub(crate) fn call(ring: usize) -> [u8; HEADER + 8] {
    let mut bytes = [0; HEADER + 8];
    let words = [VRING_CALL, VERSION | NEED_REPLY, 8, ring as u32, 0];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Result of a request.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Bytes to send back.
    pub(crate) reply: Option<Vec<u8>>,
    /// The socket for [`call`]s to the guest.
    pub(crate) calls: Option<OwnedFd>,
    /// Whether the guest has made frames available.
    pub(crate) has_frames: bool,
}

/// The network device of a guest.
#[derive(Debug)]
pub(crate) struct Device {
    memory: GuestMemory,
    rings: [Ring; 2],
    config: [u8; 12],
    /// Longest Ethernet frame, in bytes.
    longest_frame: usize,
    /// Whether the guest has accepted the features on which the frames' header depends.
    is_accepted: bool,
    chain: Chain,
    buffer: Vec<u8>,
}

impl Device {
    /// Returns a device with this address, for IP packets of up to `mtu` bytes.
    pub(crate) fn new(mac: [u8; 6], mtu: u16) -> Device {
        // `struct virtio_net_config`: mac, status, max_virtqueue_pairs, mtu.
        let mut config = [0; 12];
        config[..6].copy_from_slice(&mac);
        config[10..].copy_from_slice(&mtu.to_le_bytes());
        Device {
            memory: GuestMemory::default(),
            rings: Default::default(),
            config,
            longest_frame: usize::from(mtu) + crate::frame::ETHERNET,
            is_accepted: false,
            chain: Chain::default(),
            buffer: Vec::new(),
        }
    }

    /// Processes a request of the guest.
    ///
    /// # Errors
    /// The device does not have this request, or the request is invalid.
    pub(crate) fn request(
        &mut self,
        header: Header,
        payload: &[u8],
        files: Vec<OwnedFd>,
    ) -> Result<Done, Error> {
        let mut done = Done::default();
        match header.request {
            GET_FEATURES => done.reply = Some(header.reply(&FEATURES.to_le_bytes())),
            GET_PROTOCOL_FEATURES => {
                done.reply = Some(header.reply(&PROTOCOL_FEATURES.to_le_bytes()));
            }
            SET_FEATURES => {
                let features = u64_at(payload, 0)?;
                if features & !FEATURES != 0 {
                    return Err(Error::lies(format!("device features {features:#x}")));
                }
                self.is_accepted = features & VIRTIO_F_VERSION_1 != 0;
            }
            SET_PROTOCOL_FEATURES => {
                let features = u64_at(payload, 0)?;
                if features & PROTOCOL_FEATURES != PROTOCOL_FEATURES {
                    return Err(Error::Unusable(format!(
                        "the guest's kernel lacks in-band notifications of virtio_uml (it has \
                         {features:#x}); take Linux 5.15 or later"
                    )));
                }
            }
            SET_OWNER | RESET_OWNER | SET_CONFIG | SET_VRING_ENABLE => {}
            SET_BACKEND_REQ_FD => done.calls = files.into_iter().next(),
            SET_MEM_TABLE => self.memory = memory_table(payload, files)?,
            SET_VRING_NUM => {
                let size = u32_at(payload, 4)?;
                self.ring(payload)?.set_size(size)?;
            }
            SET_VRING_BASE => {
                let base = u32_at(payload, 4)?;
                self.ring(payload)?.set_base(base);
            }
            GET_VRING_BASE => {
                let ring = self.ring(payload)?;
                ring.stop();
                let mut answer = payload[..4].to_vec();
                answer.extend(u32::from(ring.base()).to_le_bytes());
                done.reply = Some(header.reply(&answer));
            }
            SET_VRING_ADDR => {
                let physical = |at| self.memory.physical(u64_at(payload, at)?);
                let addresses = Addresses {
                    descriptors: physical(8)?,
                    used: physical(16)?,
                    available: physical(24)?,
                };
                let mut memory = std::mem::take(&mut self.memory);
                let set =
                    self.ring(payload).and_then(|it| it.set_addresses(&mut memory, addresses));
                self.memory = memory;
                set?;
            }
            GET_CONFIG => {
                let (offset, size) = (u32_at(payload, 0)? as usize, u32_at(payload, 4)? as usize);
                let mut answer = payload.to_vec();
                let room = answer.get_mut(12..).filter(|room| room.len() == size);
                let room = room.ok_or_else(|| Error::lies("a broken request for GET_CONFIG"))?;
                for (at, byte) in room.iter_mut().enumerate() {
                    let place = offset.checked_add(at);
                    *byte = place.and_then(|at| self.config.get(at)).copied().unwrap_or(0);
                }
                done.reply = Some(header.reply(&answer));
            }
            VRING_KICK => done.has_frames = u32_at(payload, 0)? == TRANSMIT as u32,
            other => return Err(Error::lies(format!("device request {other}"))),
        }
        if header.flags & NEED_REPLY != 0 && done.reply.is_none() {
            done.reply = Some(header.reply(&0u64.to_le_bytes()));
        }
        Ok(done)
    }

    fn ring(&mut self, payload: &[u8]) -> Result<&mut Ring, Error> {
        let number = u32_at(payload, 0)?;
        let ring = self.rings.get_mut(number as usize);
        ring.ok_or_else(|| Error::lies(format!("ring {number} of a device with two")))
    }

    /// Takes the next frame that the guest sends; `None` if there is none.
    ///
    /// # Errors
    /// The guest has written an invalid frame.
    pub(crate) fn take_frame(&mut self) -> Result<Option<&[u8]>, Error> {
        let ring = &mut self.rings[TRANSMIT];
        if !self.is_accepted || !ring.take(&self.memory, &mut self.chain)? {
            return Ok(None);
        }
        self.chain.read(&self.memory, NET_HEADER + self.longest_frame, &mut self.buffer)?;
        ring.give_back(&mut self.memory, &self.chain, 0)?;
        match self.buffer.split_at_checked(NET_HEADER) {
            // Without negotiated offloads, flags and segmentation type are zero.
            Some(([0, 0, ..], frame)) if frame.len() >= crate::frame::ETHERNET => Ok(Some(frame)),
            _ => Err(Error::lies("a frame without an Ethernet header, or with offloads")),
        }
    }

    /// Delivers a frame to the guest; returns false if the guest has no buffer for it.
    ///
    /// # Errors
    /// The guest's ring is invalid.
    pub(crate) fn give_frame(&mut self, frame: &[u8]) -> Result<bool, Error> {
        let ring = &mut self.rings[RECEIVE];
        if !self.is_accepted || !ring.take(&self.memory, &mut self.chain)? {
            return Ok(false);
        }
        self.buffer.clear();
        self.buffer.resize(NET_HEADER, 0);
        // `num_buffers` is 1 without merged buffers (virtio 1.2 §5.1.6.4).
        self.buffer[NET_HEADER - 2] = 1;
        self.buffer.extend_from_slice(frame);
        let fits = self.chain.write(&mut self.memory, &self.buffer)?;
        let written = if fits { self.buffer.len() as u32 } else { 0 };
        ring.give_back(&mut self.memory, &self.chain, written)?;
        Ok(fits)
    }

    /// True if the guest wants a call for used buffers of a ring. It has wanted it when a frame was last taken from the
    /// ring, or given.
    pub(crate) fn wants_call(&self, ring: usize) -> bool {
        self.rings[ring].wants_interrupt()
    }
}

fn memory_table(payload: &[u8], files: Vec<OwnedFd>) -> Result<GuestMemory, Error> {
    let count = u32_at(payload, 0)? as usize;
    if count != files.len() || count > crate::system::MOST_FILES {
        return Err(Error::lies(format!("{count} memory regions with {} files", files.len())));
    }
    let mut regions = Vec::new();
    for (at, file) in files.into_iter().enumerate() {
        let at = 8 + 32 * at;
        regions.push(Region {
            start: u64_at(payload, at)?,
            size: u64_at(payload, at + 8)?,
            user_address: u64_at(payload, at + 16)?,
            offset: u64_at(payload, at + 24)?,
            file: File::from(file),
        });
    }
    GuestMemory::new(regions)
}

fn short() -> Error {
    Error::lies("a device request that is too short")
}
fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Error> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map(|word| u32::from_le_bytes(*word)).ok_or_else(short)
}
fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Error> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map(|word| u64::from_le_bytes(*word)).ok_or_else(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        Device::new([2, 0, 0, 0, 0, 1], 1500)
    }

    fn header(request: u32, size: usize) -> Header {
        Header { request, flags: VERSION | NEED_REPLY, size }
    }

    #[test]
    fn requests_are_answered() {
        let mut device = device();
        let done = device.request(header(GET_FEATURES, 0), &[], Vec::new()).expect("features");
        assert_eq!(done.reply.expect("a reply")[HEADER..], FEATURES.to_le_bytes());
        let done = device.request(header(SET_OWNER, 0), &[], Vec::new()).expect("an owner");
        let reply = done.reply.expect("an acknowledgement");
        assert_eq!(reply, [3, 0, 0, 0, 5, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        // GET_CONFIG from 0: 14 bytes, of which 12 exist.
        let mut ask = vec![0, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0];
        ask.resize(12 + 14, 0);
        let done = device.request(header(GET_CONFIG, ask.len()), &ask, Vec::new());
        let reply = done.expect("a configuration").reply.expect("a reply");
        assert_eq!(reply[HEADER + 12..], [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 220, 5, 0, 0]);
    }

    #[test]
    fn no_request_panics() {
        for request in 0..64 {
            for size in [0, 1, 4, 7, 8, 12, 40, 200, LONGEST] {
                for byte in [0, 1, 0x7f, 0xff] {
                    let payload = vec![byte; size];
                    let _ = device().request(header(request, size), &payload, Vec::new());
                }
            }
        }
        assert!(device().request(header(200, 0), &[], Vec::new()).is_err());
        assert!(Header::read([0xff; HEADER]).is_err());
    }

    #[test]
    fn a_device_that_is_not_set_up_has_no_frames() {
        let mut device = device();
        assert!(device.take_frame().expect("nothing").is_none());
        assert!(!device.give_frame(&[0; 60]).expect("no buffer"));
        assert!(!device.wants_call(RECEIVE));
    }
}
