//! The wire format of Protocol Buffers, as far as tables use it: a sequence of fields, each with
//! its number and one of four types of value.

use thiserror::Error;

/// Why bytes are not valid fields.
#[derive(Copy, Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum WireError {
    #[error("it ends within a field")]
    Truncated,
    #[error("a whole number is longer than ten bytes")]
    LongNumber,
    #[error("field {0} is of kind {1}, which no table has")]
    Kind(u64, u8),
    #[error("a field has number 0")]
    FieldZero,
}

/// The value of a field.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// An integer.
    Varint(u64),
    /// Eight bytes: a floating-point number.
    Fixed64(u64),
    /// A nested message, or a text.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

/// A field, with its encoded bytes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) number: u64,
    pub(crate) value: Value<'a>,
    pub(crate) raw: &'a [u8],
}

/// Iterates over fields.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { rest: bytes }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| WireError::Truncated)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut number = 0u64;
        for place in 0..10 {
            let (&byte, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
            self.rest = rest;
            // Drop the bits of a tenth byte beyond 64, as other readers do.
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(WireError::LongNumber)
    }

    fn field(&mut self) -> Result<Field<'a>, WireError> {
        let before = self.rest;
        let key = self.varint()?;
        let (number, kind) = (key >> 3, (key & 7) as u8);
        if number == 0 {
            return Err(WireError::FieldZero);
        }
        let value = match kind {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(array(self.take(8)?)?)),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(array(self.take(4)?)?)),
            _ => return Err(WireError::Kind(number, kind)),
        };
        let raw = &before[..before.len() - self.rest.len()];
        Ok(Field { number, value, raw })
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], WireError> {
    bytes.try_into().map_err(|_| WireError::Truncated)
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Encodes a signed number so that numbers near zero are short.
pub(crate) fn zigzag(number: i32) -> u64 {
    u64::from((number.wrapping_shl(1) ^ (number >> 31)) as u32)
}

/// Decodes a number encoded by [`zigzag`].
pub(crate) fn unzigzag(number: u64) -> i32 {
    let number = number as u32;
    (number >> 1) as i32 ^ -((number & 1) as i32)
}

/// Writes fields.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(crate) fn varint(&mut self, field: u64, number: u64) {
        self.number(field << 3);
        self.number(number);
    }

    pub(crate) fn double(&mut self, field: u64, number: f64) {
        self.number(field << 3 | 1);
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.number(field << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_written() {
        let mut writer = Writer::default();
        writer.varint(31, zigzag(-10));
        writer.double(32, 0.25);
        writer.bytes(34, b"within");
        let fields: Vec<Field<'_>> =
            Fields::new(&writer.0).collect::<Result<_, _>>().expect("legal");
        let values: Vec<_> = fields.iter().map(|field| (field.number, field.value)).collect();
        assert_eq!(values[0], (31, Value::Varint(19)));
        assert_eq!(values[1], (32, Value::Fixed64(0.25f64.to_bits())));
        assert_eq!(values[2], (34, Value::Bytes(b"within")));
        let raw: Vec<u8> = fields.iter().flat_map(|field| field.raw).copied().collect();
        assert_eq!(raw, writer.0);
        for number in [0, 1, -1, 300, i32::MIN, i32::MAX] {
            assert_eq!(unzigzag(zigzag(number)), number);
        }
    }

    #[test]
    fn what_is_broken_is_told() {
        let error = |bytes: &[u8]| Fields::new(bytes).find_map(Result::err);
        assert_eq!(error(&[0x08]), Some(WireError::Truncated));
        assert_eq!(error(&[0x12, 5, 0]), Some(WireError::Truncated));
        assert_eq!(error(&[0x09, 0, 0]), Some(WireError::Truncated));
        assert_eq!(error(&[0xff; 11]), Some(WireError::LongNumber));
        assert_eq!(error(&[0x0b]), Some(WireError::Kind(1, 3)));
        assert_eq!(error(&[0x00, 0]), Some(WireError::FieldZero));
        assert_eq!(
            error(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            Some(WireError::Truncated)
        );
    }
}
