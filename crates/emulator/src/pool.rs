//! The bytes of packets on the way, by handle. Buffers are used again: nothing is allocated unless the backlog is
//! larger than ever before.

use paceline_cc::{Body, Header, Time};
use paceline_ip::marks::body;
use paceline_ip::offload::Layout;

/// Sizes of buffers. A piece that is longer than the last but one stays in the buffer into which it was read.
const SIZES: [usize; 4] = [2048, 8192, 24_576, LARGEST];
/// The largest piece that a device hands over, its header included, with some reserve.
const LARGEST: usize = 65_536 + 64;
/// Bytes that are counted for a packet's record and its place in a queue.
const RECORD: usize = 192;

/// A piece read from a device.
#[derive(Debug)]
struct Buffer {
    class: usize,
    bytes: Box<[u8]>,
    length: usize,
    /// Bytes of the device's header in front.
    headers: usize,
    /// Packets of this piece that are still on the way.
    packets: u32,
    layout: Option<Layout>,
}

/// A packet: a piece or a part of one.
#[derive(Copy, Clone, Debug)]
struct Record {
    buffer: u32,
    segment: u16,
    /// Copies of the packet on the way.
    copies: u16,
    written: Time,
    /// The congestion header that it was written with, if a router may have changed it.
    header: Header,
}

/// The bytes of a packet.
#[derive(Copy, Clone, Debug)]
pub struct Bytes<'a> {
    /// The piece's number: packets of one piece can be written together.
    pub buffer: u32,
    /// The packet's number in the piece.
    pub segment: u16,
    /// All bytes of the piece, the device's header included.
    pub all: &'a [u8],
    /// Bytes of the device's header.
    pub headers: usize,
    /// The packets that the piece stands for.
    pub layout: &'a Layout,
}

impl<'a> Bytes<'a> {
    /// Returns the IP packet.
    pub fn packet(&self) -> &'a [u8] {
        self.all.get(self.headers..).unwrap_or_default()
    }
}

/// Keeps the bytes of packets.
#[derive(Debug)]
pub struct Pool {
    buffers: Vec<Buffer>,
    /// Unused buffers by class.
    free: [Vec<u32>; SIZES.len()],
    records: Vec<Record>,
    unused: Vec<u32>,
    /// The buffer of the largest class that is read into.
    staging: Option<u32>,
    memory: usize,
    limit: usize,
}

impl Pool {
    /// Creates an empty pool of at most `limit` bytes, beside one large buffer.
    pub fn new(limit: usize) -> Pool {
        Pool {
            buffers: Vec::new(),
            free: Default::default(),
            records: Vec::new(),
            unused: Vec::new(),
            staging: None,
            memory: 0,
            limit,
        }
    }

    /// Returns the bytes of memory that it has allocated.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Returns the number of packets on the way, without copies.
    pub fn packets(&self) -> usize {
        self.records.len() - self.unused.len()
    }

    fn take(&mut self, class: usize) -> Option<u32> {
        if let Some(index) = self.free.get_mut(class)?.pop() {
            return Some(index);
        }
        let size = *SIZES.get(class)?;
        if self.memory + size > self.limit && !self.buffers.is_empty() {
            return None;
        }
        self.memory += size;
        let bytes = vec![0; size].into();
        self.buffers.push(Buffer { class, bytes, length: 0, headers: 0, packets: 0, layout: None });
        Some(self.buffers.len() as u32 - 1)
    }

    /// Returns the buffer to read a piece into.
    pub fn staging(&mut self) -> &mut [u8] {
        if self.staging.is_none() {
            self.staging = self.take(SIZES.len() - 1);
        }
        let buffer = self.staging.and_then(|index| self.buffers.get_mut(index as usize));
        buffer.map(|buffer| &mut *buffer.bytes).unwrap_or_default()
    }

    /// Keeps the first `length` bytes of the piece that was read last, of which `headers` are the device's. Appends the
    /// handles of its packets to `handles`, in order. Returns false if there is no memory left.
    pub fn keep(
        &mut self,
        length: usize,
        headers: usize,
        layout: &Layout,
        handles: &mut Vec<u32>,
    ) -> bool {
        handles.clear();
        let count = usize::from(layout.segments());
        let more = count.saturating_sub(self.unused.len());
        if self.memory + more * RECORD > self.limit {
            return false;
        }
        let Some(index) = self.place(length) else { return false };
        self.memory += more * RECORD;
        if let Some(buffer) = self.buffers.get_mut(index as usize) {
            buffer.length = length;
            buffer.headers = headers;
            buffer.packets = count as u32;
            buffer.layout = Some(*layout);
        }
        for segment in 0..layout.segments() {
            let (written, header) = (Time::NEVER, Header::None);
            let record = Record { buffer: index, segment, copies: 1, written, header };
            let handle = match self.unused.pop() {
                Some(handle) => handle,
                None => {
                    self.records.push(record);
                    self.records.len() as u32 - 1
                }
            };
            if let Some(place) = self.records.get_mut(handle as usize) {
                *place = record;
            }
            handles.push(handle);
        }
        true
    }

    /// Returns a buffer that holds what was read: the staging one itself if it is large.
    fn place(&mut self, length: usize) -> Option<u32> {
        let staging = self.staging?;
        let class = SIZES.iter().position(|&size| length <= size)?;
        if class == SIZES.len() - 1 {
            // Only if there is another to read the next piece into.
            let next = self.take(class)?;
            return self.staging.replace(next);
        }
        let index = self.take(class)?;
        // A new buffer has the highest index, a used one may lie below the staging buffer.
        if let Ok([from, to]) = self.buffers.get_disjoint_mut([staging as usize, index as usize])
            && let Some((to, from)) = to.bytes.get_mut(..length).zip(from.bytes.get(..length))
        {
            to.copy_from_slice(from);
        }
        Some(index)
    }

    /// Returns the bytes of a packet; `None` for a handle that is not in use.
    #[inline]
    pub fn bytes(&self, handle: u32) -> Option<Bytes<'_>> {
        let record = self.records.get(handle as usize).filter(|record| record.copies > 0)?;
        let buffer = self.buffers.get(record.buffer as usize)?;
        let all = buffer.bytes.get(..buffer.length)?;
        let layout = buffer.layout.as_ref()?;
        let headers = buffer.headers;
        Some(Bytes { buffer: record.buffer, segment: record.segment, all, headers, layout })
    }

    /// Returns a packet's body as routers see it.
    #[inline]
    pub(super) fn body(&self, handle: u32) -> Body {
        let bytes = self.bytes(handle);
        let datagram = bytes.map(|bytes| bytes.layout.datagram(bytes.packet(), bytes.segment));
        body(handle, datagram.unwrap_or_default())
    }

    /// Notes when a packet was written, and with what congestion header.
    #[inline]
    pub fn set_written(&mut self, handle: u32, at: Time, header: Header) {
        if let Some(record) = self.records.get_mut(handle as usize) {
            (record.written, record.header) = (at, header);
        }
    }

    /// Returns when a packet was written, [`Time::NEVER`] before, and with what congestion header.
    pub fn written(&self, handle: u32) -> (Time, Header) {
        let record = self.records.get(handle as usize);
        record.map_or((Time::NEVER, Header::None), |record| (record.written, record.header))
    }

    /// Counts one more copy of a packet.
    pub fn duplicate(&mut self, handle: u32) {
        if let Some(record) = self.records.get_mut(handle as usize) {
            record.copies = record.copies.saturating_add(1);
        }
    }

    /// Notes that a packet, or a copy of it, has gone.
    #[inline]
    pub fn release(&mut self, handle: u32) {
        let Some(record) = self.records.get_mut(handle as usize) else { return };
        if record.copies == 0 {
            return;
        }
        record.copies -= 1;
        if record.copies > 0 {
            return;
        }
        let index = record.buffer;
        self.unused.push(handle);
        let Some(buffer) = self.buffers.get_mut(index as usize) else { return };
        buffer.packets -= 1;
        if buffer.packets == 0
            && let Some(free) = self.free.get_mut(buffer.class)
        {
            free.push(index);
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
