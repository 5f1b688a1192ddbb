//! Reading and writing the fields that the JIT's byte formats are made of: little-endian numbers, and strings
//! and byte runs behind their length.

/// Why a field cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The field.
    pub(crate) what: &'static str,
    /// Its offset in bytes.
    pub(crate) offset: usize,
    /// The bytes are there and are no UTF-8.
    pub(crate) not_utf8: bool,
}

impl Damage {
    /// A field whose bytes are missing or make no sense.
    pub(crate) const fn at(what: &'static str, offset: usize) -> Self {
        Self {
            what,
            offset,
            not_utf8: false,
        }
    }
}

/// A position that only moves over bytes that are there.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Offset of the next field.
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    /// All that is left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    pub(crate) fn take(&mut self, length: usize, what: &'static str) -> Result<&'a [u8], Damage> {
        let end = self.offset.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.offset..end));
        let taken = taken.ok_or(Damage::at(what, self.offset))?;
        self.offset += length;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Damage> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A byte run behind its length.
    pub(crate) fn run(&mut self, what: &'static str) -> Result<&'a [u8], Damage> {
        let length = self.u32(what)? as usize;
        self.take(length, what)
    }

    pub(crate) fn string(&mut self, what: &'static str) -> Result<&'a str, Damage> {
        let bytes = self.run(what)?;
        let offset = self.offset - bytes.len();
        std::str::from_utf8(bytes).map_err(|_| Damage {
            what,
            offset,
            not_utf8: true,
        })
    }

    pub(crate) fn strings(&mut self, what: &'static str) -> Result<Vec<&'a str>, Damage> {
        self.table(what, |fields| fields.string(what))
    }

    /// A 32-bit count and as many elements.
    pub(crate) fn table<T>(
        &mut self,
        what: &'static str,
        mut element: impl FnMut(&mut Self) -> Result<T, Damage>,
    ) -> Result<Vec<T>, Damage> {
        let count = self.u32(what)?;
        // Not reserved ahead: a hostile count would reserve gigabytes, while each element that is there takes
        // some bytes.
        let mut elements = Vec::new();
        for _ in 0..count {
            elements.push(element(self)?);
        }
        Ok(elements)
    }
}

pub(crate) fn put_string(bytes: &mut Vec<u8>, string: &str) {
    put_run(bytes, string.as_bytes());
}

pub(crate) fn put_run(bytes: &mut Vec<u8>, run: &[u8]) {
    bytes.extend_from_slice(&(run.len() as u32).to_le_bytes());
    bytes.extend_from_slice(run);
}

pub(crate) fn put_strings(bytes: &mut Vec<u8>, strings: &[&str]) {
    bytes.extend_from_slice(&(strings.len() as u32).to_le_bytes());
    for string in strings {
        put_string(bytes, string);
    }
}
