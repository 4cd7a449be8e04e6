//! The blocks of pcapng files: of a section, an interface and a packet.
//!
//! They are written here rather than by a library, whose options are lists on the heap, made for
//! each packet. Source: draft-ietf-opsawg-pcapng.

/// Type of a block that begins a section.
pub(super) const SECTION: u32 = 0x0a0d_0d0a;
/// Type of a block that describes an interface.
pub(super) const INTERFACE: u32 = 1;
/// Type of a block with a packet.
pub(super) const PACKET: u32 = 6;
/// Link type of Ethernet frames.
pub(super) const LINKTYPE_ETHERNET: u16 = 1;
/// Link type of packets that begin with four bytes that say which IP they are. The type for bare IP
/// packets would save these, but libpcap does not read it from files with several interfaces.
pub(super) const LINKTYPE_NULL: u16 = 0;
pub(super) const COMMENT: u16 = 1;
pub(super) const IF_NAME: u16 = 2;
pub(super) const IF_DESCRIPTION: u16 = 3;
pub(super) const IF_TSRESOL: u16 = 9;
pub(super) const EPB_FLAGS: u16 = 2;
const SHB_USERAPPL: u16 = 4;
/// Largest packet.
pub(super) const WHOLE: u32 = 65_535;

/// Flags of a packet: received by the interface.
pub(super) const INBOUND: u32 = 1;
/// Flags of a packet: sent by the interface.
pub(super) const OUTBOUND: u32 = 2;

/// Appends the block that begins a file.
pub(super) fn section(out: &mut Vec<u8>) {
    block(out, SECTION, |out| {
        out.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        out.extend_from_slice(&[1, 0, 0, 0]);
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, SHB_USERAPPL, b"paceline");
        option(out, 0, b"");
    });
}

/// Appends the description of an interface with times in nanoseconds. `snaplen` is the maximum number
/// of bytes that are captured of a packet.
pub(super) fn interface(
    out: &mut Vec<u8>,
    linktype: u16,
    snaplen: u32,
    name: &str,
    description: &str,
) {
    block(out, INTERFACE, |out| {
        out.extend_from_slice(&linktype.to_le_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&snaplen.to_le_bytes());
        option(out, IF_NAME, name.as_bytes());
        option(out, IF_DESCRIPTION, description.as_bytes());
        option(out, IF_TSRESOL, &[9]);
        option(out, 0, b"");
    });
}

/// A packet's block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketBlock<'a> {
    /// Number of its interface, in the order of the interfaces' blocks.
    pub(super) interface: u32,
    /// Nanoseconds since 1970.
    pub(super) time: u64,
    /// Bytes of the link's header, which `captured` does not have.
    pub(super) header: &'a [u8],
    /// Captured bytes.
    pub(super) captured: &'a [u8],
    /// Length of the packet on the wire without `header`, in bytes.
    pub(super) original: u32,
    /// Empty for none.
    pub(super) comment: &'a str,
    /// [`INBOUND`], [`OUTBOUND`], or 0 for neither.
    pub(super) flags: u32,
}

impl PacketBlock<'_> {
    /// Appends the block.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let header = self.header.len() as u32;
        let captured = self.captured.len() as u32 + header;
        block(out, PACKET, |out| {
            out.extend_from_slice(&self.interface.to_le_bytes());
            out.extend_from_slice(&((self.time >> 32) as u32).to_le_bytes());
            out.extend_from_slice(&(self.time as u32).to_le_bytes());
            out.extend_from_slice(&captured.to_le_bytes());
            out.extend_from_slice(&(self.original + header).to_le_bytes());
            out.extend_from_slice(self.header);
            out.extend_from_slice(self.captured);
            pad(out, captured as usize);
            if !self.comment.is_empty() {
                option(out, COMMENT, self.comment.as_bytes());
            }
            if self.flags != 0 {
                option(out, EPB_FLAGS, &self.flags.to_le_bytes());
            }
            option(out, 0, b"");
        });
    }
}

/// Appends a block with the contents that `body` writes.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out.extend_from_slice(&length);
    if let Some(place) = out.get_mut(start + 4..start + 8) {
        place.copy_from_slice(&length);
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = value.len().min(u16::MAX as usize);
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(length as u16).to_le_bytes());
    out.extend_from_slice(&value[..length]);
    pad(out, length);
}

/// Fills up `length` appended bytes to a multiple of four.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}
