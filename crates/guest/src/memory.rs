//! The guest's memory as the simulator sees it: files that the guest has sent, read and written by
//! system calls.
//!
//! Memory is not mapped. A guest could truncate its file under a mapping, and the next access would
//! kill the simulator; reading a truncated file returns an error instead. The guest waits for an
//! answer during every access, so accesses need no memory barriers.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::Error;

/// Memory that has a ring in it.
pub(crate) trait Memory {
    /// Fills `bytes` from the guest's physical address.
    ///
    /// # Errors
    /// The range is not in the guest's memory.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error>;
    /// Writes `bytes` at the guest's physical address.
    ///
    /// # Errors
    /// The range is not in the guest's memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error>;
}

/// A range of the guest's physical addresses.
#[derive(Debug)]
pub(crate) struct Region {
    /// First guest physical address.
    pub(crate) start: u64,
    /// Length in bytes.
    pub(crate) size: u64,
    /// Address by which the guest's requests name it (for rings).
    pub(crate) user_address: u64,
    /// Offset in the file.
    pub(crate) offset: u64,
    /// The file.
    pub(crate) file: File,
}

/// The guest's memory table (vhost-user: `SET_MEM_TABLE`).
#[derive(Debug, Default)]
pub(crate) struct GuestMemory {
    regions: Vec<Region>,
}

impl GuestMemory {
    /// Returns a table of these regions.
    ///
    /// # Errors
    /// A region wraps around the end of the address space.
    pub(crate) fn new(regions: Vec<Region>) -> Result<GuestMemory, Error> {
        for region in &regions {
            let ends = [region.start, region.user_address, region.offset]
                .map(|from| from.checked_add(region.size));
            if ends.contains(&None) {
                let Region { start, size, .. } = region;
                return Err(Error::lies(format!(
                    "memory region at {start:#x} of {size:#x} bytes wraps around"
                )));
            }
        }
        Ok(GuestMemory { regions })
    }

    /// Converts an address in a request to a physical address.
    ///
    /// # Errors
    /// The address is in no region.
    pub(crate) fn physical(&self, user_address: u64) -> Result<u64, Error> {
        let within = |region: &&Region| {
            user_address.wrapping_sub(region.user_address) < region.size
                && user_address >= region.user_address
        };
        let region = self.regions.iter().find(within).ok_or_else(|| outside(user_address, 0))?;
        Ok(region.start + (user_address - region.user_address))
    }

    /// Returns the file of a range, and its offset there.
    fn place(&self, address: u64, length: usize) -> Result<(&File, u64), Error> {
        let length_bytes = length as u64;
        for region in &self.regions {
            let Some(from) = address.checked_sub(region.start) else { continue };
            if from < region.size && length_bytes <= region.size - from {
                return Ok((&region.file, region.offset + from));
            }
        }
        Err(outside(address, length))
    }
}

fn outside(address: u64, length: usize) -> Error {
    Error::lies(format!("{length} bytes at address {address:#x} are outside of its memory"))
}

impl Memory for GuestMemory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let (file, offset) = self.place(address, bytes.len())?;
        file.read_exact_at(bytes, offset).map_err(|_| outside(address, bytes.len()))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let (file, offset) = self.place(address, bytes.len())?;
        file.write_all_at(bytes, offset).map_err(|_| outside(address, bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> GuestMemory {
        let file = crate::system::memory_file("test", 8192).expect("a memfd");
        let region = Region { start: 0x1000, size: 4096, user_address: 0x9000, offset: 4096, file };
        GuestMemory::new(vec![region]).expect("a table")
    }

    #[test]
    fn ranges_are_checked() {
        let mut memory = memory();
        memory.write(0x1ffe, &[1, 2]).expect("the last bytes");
        let mut bytes = [0; 2];
        memory.read(0x1ffe, &mut bytes).expect("the last bytes");
        assert_eq!(bytes, [1, 2]);
        for (address, length) in
            [(0x1fff, 2), (0x2000, 1), (0xfff, 1), (u64::MAX, 2), (0, 5000), (0x1000, 4097)]
        {
            let mut bytes = vec![0; length];
            assert!(memory.read(address, &mut bytes).is_err(), "{address:#x}");
            assert!(memory.write(address, &bytes).is_err(), "{address:#x}");
        }
        assert_eq!(memory.physical(0x9010).ok(), Some(0x1010));
        assert!(memory.physical(0x8fff).is_err() && memory.physical(0xa000).is_err());
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let memory = memory();
        memory.regions[0].file.set_len(4100).expect("a shorter file");
        assert!(memory.read(0x1000, &mut [0; 4]).is_ok());
        assert!(memory.read(0x1004, &mut [0; 1]).is_err());
    }

    #[test]
    fn regions_that_wrap_are_refused() {
        let file = crate::system::memory_file("test", 0).expect("a memfd");
        let region = Region { start: u64::MAX, size: 2, user_address: 0, offset: 0, file };
        assert!(GuestMemory::new(vec![region]).is_err());
    }
}
