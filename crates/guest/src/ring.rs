//! A split virtqueue (virtio 1.2 §2.7) from the device's side. The guest writes its content, so
//! every value is checked.

use crate::error::Error;
use crate::memory::Memory;

/// Largest number of descriptors of a ring (virtio 1.2 §2.7).
const LARGEST: u16 = 32_768;
/// The device wants no notification of available buffers (`VIRTQ_USED_F_NO_NOTIFY`).
const NO_NOTIFY: u16 = 1;
/// The guest wants no interrupt when buffers are used (`VIRTQ_AVAIL_F_NO_INTERRUPT`).
const NO_INTERRUPT: u16 = 1;
/// The descriptor continues in another one (`VIRTQ_DESC_F_NEXT`).
const NEXT: u16 = 1;
/// The device writes to the descriptor's buffer (`VIRTQ_DESC_F_WRITE`).
const WRITE: u16 = 2;
/// Bytes of a descriptor.
const DESCRIPTOR: u64 = 16;

/// A split virtqueue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    /// Number of descriptors; 0 until the guest has set it.
    size: u16,
    /// Physical addresses of the descriptors, the available ring and the used ring.
    addresses: Option<Addresses>,
    /// Index of the next available buffer.
    next_available: u16,
    /// Index of the next used element.
    next_used: u16,
    /// Flags of the available ring when it was last read.
    flags: u16,
}

/// Guest physical addresses of the parts of a ring.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Addresses {
    pub(crate) descriptors: u64,
    pub(crate) available: u64,
    pub(crate) used: u64,
}

/// A buffer that the guest has made available: a chain of descriptors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    head: u16,
    /// Address and length of each piece, and whether the device may write to it.
    pieces: Vec<(u64, u32, bool)>,
}

impl Ring {
    /// Sets the number of descriptors.
    ///
    /// # Errors
    /// The number is not a power of two, or too large.
    pub(crate) fn set_size(&mut self, size: u32) -> Result<(), Error> {
        match u16::try_from(size) {
            Ok(size) if size.is_power_of_two() && size <= LARGEST => self.size = size,
            _ => return Err(Error::lies(format!("a ring of {size} descriptors"))),
        }
        Ok(())
    }

    /// Sets the index of the first buffer.
    pub(crate) fn set_base(&mut self, index: u32) {
        // Indices have 16 bits and wrap around.
        self.next_available = index as u16;
    }

    /// Returns the index of the next buffer.
    pub(crate) fn base(&self) -> u16 {
        self.next_available
    }

    /// Sets the ring's addresses, and reads the used ring's index there. Asks the guest for no notifications: the
    /// simulator looks for buffers whenever the guest waits, and each notification would be two messages.
    ///
    /// # Errors
    /// The used ring is outside of the guest's memory.
    pub(crate) fn set_addresses(
        &mut self,
        memory: &mut impl Memory,
        addresses: Addresses,
    ) -> Result<(), Error> {
        self.next_used = read_u16(memory, place(addresses.used, 2)?)?;
        memory.write(addresses.used, &NO_NOTIFY.to_le_bytes())?;
        self.addresses = Some(addresses);
        Ok(())
    }

    /// Clears the ring's addresses: the guest has stopped it.
    pub(crate) fn stop(&mut self) {
        self.addresses = None;
    }

    /// True if the guest wants an interrupt for used buffers. It has wanted it when [`Ring::take`] was last called, and has
    /// not run since.
    pub(crate) fn wants_interrupt(&self) -> bool {
        self.addresses.is_some() && self.flags & NO_INTERRUPT == 0
    }

    /// Takes the next available buffer into `chain`; returns false if there is none.
    ///
    /// # Errors
    /// The ring or a descriptor is outside of the guest's memory, an index is out of range, or a
    /// chain has a loop.
    pub(crate) fn take(&mut self, memory: &impl Memory, chain: &mut Chain) -> Result<bool, Error> {
        let Some(addresses) = self.addresses.filter(|_| self.size > 0) else { return Ok(false) };
        let mut head = [0; 4];
        memory.read(addresses.available, &mut head)?;
        let [f0, f1, i0, i1] = head;
        self.flags = u16::from_le_bytes([f0, f1]);
        let waiting = u16::from_le_bytes([i0, i1]).wrapping_sub(self.next_available);
        if waiting == 0 {
            return Ok(false);
        }
        if waiting > self.size {
            let size = self.size;
            return Err(Error::lies(format!("{waiting} buffers in a ring of {size}")));
        }
        let slot = u64::from(self.next_available % self.size);
        let head = read_u16(memory, place(addresses.available, 4 + 2 * slot)?)?;
        chain.head = head;
        chain.pieces.clear();
        let mut number = head;
        loop {
            if number >= self.size {
                return Err(Error::lies(format!("descriptor {number} of {}", self.size)));
            }
            // virtio 1.2 §2.7.5.3.1: a chain is no longer than the ring, so it has no loop.
            if chain.pieces.len() >= usize::from(self.size) {
                return Err(Error::lies("a chain of descriptors that goes round"));
            }
            let mut bytes = [0; DESCRIPTOR as usize];
            memory
                .read(place(addresses.descriptors, DESCRIPTOR * u64::from(number))?, &mut bytes)?;
            let [a0, a1, a2, a3, a4, a5, a6, a7, l0, l1, l2, l3, f0, f1, n0, n1] = bytes;
            let address = u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
            let flags = u16::from_le_bytes([f0, f1]);
            let length = u32::from_le_bytes([l0, l1, l2, l3]);
            chain.pieces.push((address, length, flags & WRITE != 0));
            if flags & NEXT == 0 {
                break;
            }
            number = u16::from_le_bytes([n0, n1]);
        }
        self.next_available = self.next_available.wrapping_add(1);
        Ok(true)
    }

    /// Returns a buffer to the guest, with `written` bytes in it.
    ///
    /// # Errors
    /// The ring is outside of the guest's memory.
    pub(crate) fn give_back(
        &mut self,
        memory: &mut impl Memory,
        chain: &Chain,
        written: u32,
    ) -> Result<(), Error> {
        let Some(addresses) = self.addresses.filter(|_| self.size > 0) else { return Ok(()) };
        let slot = u64::from(self.next_used % self.size);
        let mut element = [0; 8];
        element[..4].copy_from_slice(&u32::from(chain.head).to_le_bytes());
        element[4..].copy_from_slice(&written.to_le_bytes());
        memory.write(place(addresses.used, 4 + 8 * slot)?, &element)?;
        self.next_used = self.next_used.wrapping_add(1);
        memory.write(place(addresses.used, 2)?, &self.next_used.to_le_bytes())
    }
}

impl Chain {
    /// Reads all bytes of a buffer that the guest has filled, up to `most`.
    ///
    /// # Errors
    /// The buffer is longer, is one for writing, or is outside of the guest's memory.
    pub(crate) fn read(
        &self,
        memory: &impl Memory,
        most: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        bytes.clear();
        for &(address, length, is_for_device) in &self.pieces {
            let from = bytes.len();
            if is_for_device {
                return Err(Error::lies("a frame in a buffer that is for the device to fill"));
            }
            // Check the length before allocating memory for it.
            if length as usize > most - from {
                return Err(Error::lies(format!("a frame of more than {most} bytes")));
            }
            bytes.resize(from + length as usize, 0);
            memory.read(address, &mut bytes[from..])?;
        }
        Ok(())
    }

    /// Writes bytes into a buffer that the guest has provided. Returns false, and writes nothing,
    /// if they do not fit.
    ///
    /// # Errors
    /// The buffer is not for writing, or is outside of the guest's memory.
    pub(crate) fn write(&self, memory: &mut impl Memory, bytes: &[u8]) -> Result<bool, Error> {
        let room: u64 = self.pieces.iter().map(|(_, length, _)| u64::from(*length)).sum();
        if room < bytes.len() as u64 {
            return Ok(false);
        }
        let mut rest = bytes;
        for &(address, length, is_for_device) in &self.pieces {
            if !is_for_device {
                return Err(Error::lies("a receive buffer that the device may not fill"));
            }
            let (now, later) = rest.split_at(rest.len().min(length as usize));
            if !now.is_empty() {
                memory.write(address, now)?;
            }
            rest = later;
        }
        Ok(true)
    }
}

fn place(address: u64, offset: u64) -> Result<u64, Error> {
    address.checked_add(offset).ok_or_else(|| Error::lies("a ring that wraps around"))
}

fn read_u16(memory: &impl Memory, address: u64) -> Result<u16, Error> {
    let mut bytes = [0; 2];
    memory.read(address, &mut bytes)?;
    Ok(u16::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory from address 0 on.
    struct Bytes(Vec<u8>);

    impl Memory for Bytes {
        fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
            let from = usize::try_from(address).unwrap_or(usize::MAX);
            let end = from.checked_add(bytes.len()).ok_or_else(|| Error::lies("wraps"))?;
            let found = self.0.get(from..end).ok_or_else(|| Error::lies("outside"))?;
            bytes.copy_from_slice(found);
            Ok(())
        }
        fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
            let from = usize::try_from(address).unwrap_or(usize::MAX);
            let end = from.checked_add(bytes.len()).ok_or_else(|| Error::lies("wraps"))?;
            let found = self.0.get_mut(from..end).ok_or_else(|| Error::lies("outside"))?;
            found.copy_from_slice(bytes);
            Ok(())
        }
    }

    const AVAILABLE: u64 = 0x100;
    const USED: u64 = 0x200;

    /// Returns a ring of 4 descriptors, of which `heads` are available.
    fn ring(descriptors: &[(u64, u32, u16, u16)], heads: &[u16]) -> (Ring, Bytes) {
        let mut memory = Bytes(vec![0; 0x1000]);
        for (at, (address, length, flags, next)) in descriptors.iter().enumerate() {
            let mut bytes = address.to_le_bytes().to_vec();
            bytes.extend(length.to_le_bytes());
            bytes.extend(flags.to_le_bytes());
            bytes.extend(next.to_le_bytes());
            memory.write(16 * at as u64, &bytes).expect("room");
        }
        for (at, head) in heads.iter().enumerate() {
            memory.write(AVAILABLE + 4 + 2 * at as u64, &head.to_le_bytes()).expect("room");
        }
        memory.write(AVAILABLE + 2, &(heads.len() as u16).to_le_bytes()).expect("room");
        let mut ring = Ring::default();
        ring.set_size(4).expect("a size");
        let addresses = Addresses { descriptors: 0, available: AVAILABLE, used: USED };
        ring.set_addresses(&mut memory, addresses).expect("addresses");
        (ring, memory)
    }

    #[test]
    fn frames_are_read_and_written() {
        let descriptors = [(0x400, 3, NEXT, 2), (0x500, 8, WRITE, 0), (0x410, 2, 0, 0)];
        let (mut ring, mut memory) = ring(&descriptors, &[0, 1]);
        memory.write(0x400, b"abc").expect("room");
        memory.write(0x410, b"de").expect("room");
        let (mut chain, mut bytes) = (Chain::default(), Vec::new());
        assert!(ring.take(&memory, &mut chain).expect("a chain"));
        chain.read(&memory, 5, &mut bytes).expect("a frame");
        assert_eq!(bytes, b"abcde");
        assert!(chain.read(&memory, 4, &mut bytes).is_err());
        assert!(chain.write(&mut memory, b"x").is_err());
        ring.give_back(&mut memory, &chain, 0).expect("room");
        assert!(ring.take(&memory, &mut chain).expect("a chain"));
        assert!(chain.read(&memory, 9, &mut bytes).is_err());
        assert!(!chain.write(&mut memory, b"123456789").expect("too long"));
        assert!(chain.write(&mut memory, b"12345678").expect("fits"));
        ring.give_back(&mut memory, &chain, 8).expect("room");
        assert!(!ring.take(&memory, &mut chain).expect("none is left"));
        // Two used elements: head 0 with 0 bytes, head 1 with 8.
        let mut used = [0; 20];
        memory.read(USED, &mut used).expect("the used ring");
        assert_eq!(used[..2], NO_NOTIFY.to_le_bytes());
        assert_eq!(used[2..], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0]);
        assert!(ring.wants_interrupt());
        memory.write(AVAILABLE, &[1, 0]).expect("room");
        assert!(!ring.take(&memory, &mut chain).expect("none is left"));
        assert!(!ring.wants_interrupt());
    }

    #[test]
    fn what_a_guest_cannot_mean_is_refused() {
        let mut chain = Chain::default();
        // A loop, a descriptor out of range, a head out of range.
        let round = [(0, 1, NEXT, 1), (0, 1, NEXT, 0)];
        for (descriptors, head) in [(&round[..], 0), (&[(0, 1, NEXT, 4)][..], 0), (&[], 4)] {
            let (mut ring, memory) = ring(descriptors, &[head]);
            assert!(ring.take(&memory, &mut chain).is_err());
        }
        // More buffers than descriptors.
        let (mut full, mut memory) = ring(&[], &[]);
        memory.write(AVAILABLE + 2, &5u16.to_le_bytes()).expect("room");
        assert!(full.take(&memory, &mut chain).is_err());
        // A buffer outside of the memory, and a length beyond all memory.
        for piece in [(0x1000, 1, 0, 0), (u64::MAX, 2, 0, 0), (0, u32::MAX, 0, 0)] {
            let (mut ring, memory) = ring(&[piece], &[0]);
            assert!(ring.take(&memory, &mut chain).expect("a chain"));
            assert!(chain.read(&memory, 70_000, &mut Vec::new()).is_err());
        }
        let mut other = Ring::default();
        for size in [0, 3, 65_536, u32::MAX] {
            assert!(other.set_size(size).is_err(), "{size}");
        }
        // Rings outside of the memory.
        let outside = Addresses { descriptors: 0, available: u64::MAX, used: u64::MAX - 1 };
        assert!(other.set_addresses(&mut memory, outside).is_err());
        let outside = Addresses { used: USED, ..outside };
        other.set_size(4).expect("a size");
        other.set_addresses(&mut memory, outside).expect("the used ring is inside");
        assert!(other.take(&memory, &mut chain).is_err());
        // A ring without addresses has no buffers.
        assert!(!Ring::default().take(&memory, &mut chain).expect("nothing"));
    }
}
