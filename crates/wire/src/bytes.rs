//! Reading and writing fields, most significant byte first.

use thiserror::Error;

/// Reason why bytes are not a packet or frame of this format.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// The bytes end before the field does.
    #[error("the bytes end within {0}")]
    Truncated(&'static str),
    /// A field has an invalid value.
    #[error("{field} cannot be {value}")]
    Value {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Bytes follow the last field.
    #[error("{value} surplus bytes after {field}")]
    Rest {
        /// The last field.
        field: &'static str,
        /// Number of bytes that follow it.
        value: u64,
    },
    /// The packet has another version of the format.
    #[error("found version {0} of the wire format; both ends must run the same version")]
    Version(u8),
    /// The caller's buffer is too short for the field.
    #[error("no room for {0}")]
    Room(&'static str),
}

/// Reads fields one after the other.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }
    /// Returns the bytes that have not been read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
    /// Returns an error if bytes are left.
    pub(crate) fn end(&self, field: &'static str) -> Result<(), FormatError> {
        let value = self.rest.len() as u64;
        if self.is_empty() { Ok(()) } else { Err(FormatError::Rest { field, value }) }
    }
    pub(crate) fn take(
        &mut self,
        length: usize,
        field: &'static str,
    ) -> Result<&'a [u8], FormatError> {
        let split = self.rest.split_at_checked(length).ok_or(FormatError::Truncated(field))?;
        self.rest = split.1;
        Ok(split.0)
    }
    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], FormatError> {
        let split = self.rest.split_first_chunk::<N>().ok_or(FormatError::Truncated(field))?;
        self.rest = split.1;
        Ok(*split.0)
    }
    /// Reads an unsigned number of `N` bytes, at most 8.
    pub(crate) fn number<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<u64, FormatError> {
        let bytes = self.array::<N>(field)?;
        Ok(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }
    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, FormatError> {
        Ok(self.array::<1>(field)?[0])
    }
    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, FormatError> {
        Ok(u16::from_be_bytes(self.array(field)?))
    }
    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, FormatError> {
        Ok(u32::from_be_bytes(self.array(field)?))
    }
    /// Reads an unsigned number of 1, 2, 4 or 8 bytes, whose highest two bits state the length (RFC
    /// 9000 §16).
    pub(crate) fn varint(&mut self, field: &'static str) -> Result<u64, FormatError> {
        let first = *self.rest.first().ok_or(FormatError::Truncated(field))?;
        let length = 1 << (first >> 6);
        let bytes = self.take(length, field)?;
        let high = u64::from(first & 0x3F);
        Ok(bytes.iter().skip(1).fold(high, |value, &byte| value << 8 | u64::from(byte)))
    }
    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, FormatError> {
        Ok(u64::from_be_bytes(self.array(field)?))
    }
    /// Reads text with its length in the two bytes before it.
    pub(crate) fn text(
        &mut self,
        most: usize,
        field: &'static str,
    ) -> Result<&'a str, FormatError> {
        let length = self.u16(field)?;
        if usize::from(length) > most {
            return Err(FormatError::Value { field, value: u64::from(length) });
        }
        let bytes = self.take(usize::from(length), field)?;
        std::str::from_utf8(bytes)
            .map_err(|error| FormatError::Value { field, value: error.valid_up_to() as u64 })
    }
}

/// Writes fields one after the other into a buffer of the caller's.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Writer<'a> {
        Writer { bytes, at: 0 }
    }
    /// Returns the number of bytes written.
    pub(crate) fn len(&self) -> usize {
        self.at
    }
    pub(crate) fn put(&mut self, field: &[u8]) -> Result<(), FormatError> {
        let end = self.at.saturating_add(field.len());
        let place = self.bytes.get_mut(self.at..end).ok_or(FormatError::Room("a field"))?;
        place.copy_from_slice(field);
        self.at = end;
        Ok(())
    }
    pub(crate) fn u8(&mut self, value: u8) -> Result<(), FormatError> {
        self.put(&[value])
    }
    pub(crate) fn u16(&mut self, value: u16) -> Result<(), FormatError> {
        self.put(&value.to_be_bytes())
    }
    pub(crate) fn u32(&mut self, value: u32) -> Result<(), FormatError> {
        self.put(&value.to_be_bytes())
    }
    /// Writes a number below 2⁶² in the fewest bytes of RFC 9000 §16's form.
    pub(crate) fn varint(&mut self, value: u64) -> Result<(), FormatError> {
        match value {
            0..0x40 => self.u8(value as u8),
            0x40..0x4000 => self.u16(1 << 14 | value as u16),
            0x4000..0x4000_0000 => self.u32(2 << 30 | value as u32),
            0x4000_0000..0x4000_0000_0000_0000 => self.u64(3 << 62 | value),
            _ => Err(FormatError::Room("a number")),
        }
    }
    pub(crate) fn u64(&mut self, value: u64) -> Result<(), FormatError> {
        self.put(&value.to_be_bytes())
    }
    /// Writes the lowest `N` bytes of a number, at most 8.
    pub(crate) fn number<const N: usize>(&mut self, value: u64) -> Result<(), FormatError> {
        let all = value.to_be_bytes();
        self.put(all.get(8 - N.min(8)..).unwrap_or(&all))
    }
    /// Writes text with its length in two bytes before it.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), FormatError> {
        let length = u16::try_from(text.len()).map_err(|_| FormatError::Room("a text"))?;
        self.u16(length)?;
        self.put(text.as_bytes())
    }
}

/// Returns text from the other end in a form that is safe to show to people, on one line: control
/// characters, which could control a terminal, become replacement characters.
pub fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}
