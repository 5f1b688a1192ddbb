//! Reads LLVM's bitstream container: blocks of records, the shape of whose bits the stream itself defines.
//!
//! Format: "LLVM Bitcode File Format" in LLVM's documentation. Only what finding a record needs is here; what
//! the records of a block mean is for the caller to know.

use std::collections::BTreeMap;
use std::rc::Rc;

/// What is wrong with a bitstream, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed {
    pub(super) offset: u64,
    pub(super) problem: &'static str,
}

type Result<T> = std::result::Result<T, Malformed>;

/// Block that defines abbreviations for blocks of other kinds.
const BLOCKINFO: u64 = 0;
/// Record of [`BLOCKINFO`] that says which kind of block the following abbreviations are for.
const SET_BLOCK_ID: u64 = 1;

const END_BLOCK: u64 = 0;
const ENTER_SUBBLOCK: u64 = 1;
const DEFINE_ABBREVIATION: u64 = 2;
const UNABBREVIATED_RECORD: u64 = 3;
const FIRST_ABBREVIATION: u64 = 4;

/// Abbreviations of LLVM have a tenth of this. One record of some bits may stand for as many values, so more
/// would make small files take long.
const MOST_OPERANDS: u64 = 256;

/// How many abbreviations a kind of block may have, and a block for itself. LLVM defines some ten; what is
/// defined inside a block of the kind makes a copy of the list.
const MOST_ABBREVIATIONS: usize = 1024;

/// Width of abbreviation numbers outside of any block.
const TOP_LEVEL_WIDTH: u32 = 2;

/// How one value of a record is stored.
#[derive(Debug, Clone, Copy)]
enum Operand {
    /// Not stored: always this value.
    Literal(u64),
    /// So many bits.
    Fixed(u32),
    /// Groups of so many bits, the highest of which says that another follows.
    Variable(u32),
    /// Six bits: a letter, digit, `.` or `_`.
    Char6,
    /// A length, then elements stored as the next operand says.
    Array,
    /// A length, then bytes that start and end at a multiple of 32 bits.
    Blob,
}

type Abbreviation = Rc<[Operand]>;

/// A place in a bitstream. Blocks of a kind share the abbreviations that the stream defined for that kind.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    bit: u64,
    shared: BTreeMap<u64, Rc<Vec<Abbreviation>>>,
}

/// What stands next in a block.
pub(super) enum Item {
    /// A block inside this one; the cursor stands behind its header. Its end is known, so that it can be
    /// skipped.
    Block { id: u64, width: u32, end: u64 },
    /// A record, still to be read by [`Cursor::record`].
    Record(u64),
}

/// The state of being inside a block.
pub(super) struct Block {
    width: u32,
    end: u64,
    top_level: bool,
    /// Whether it is a [`BLOCKINFO`], in which another is not read.
    defines: bool,
    /// What the stream had defined for its kind when it began; the block's own come behind those.
    shared: Rc<Vec<Abbreviation>>,
    abbreviations: Vec<Abbreviation>,
}

impl Block {
    fn new(width: u32, end: u64) -> Self {
        Self {
            width,
            end,
            top_level: false,
            defines: false,
            shared: Rc::default(),
            abbreviations: Vec::new(),
        }
    }

    fn abbreviation(&self, index: usize) -> Option<&Abbreviation> {
        match index.checked_sub(self.shared.len()) {
            None => self.shared.get(index),
            Some(own) => self.abbreviations.get(own),
        }
    }
}

impl<'a> Cursor<'a> {
    /// Starts at the first block of `bytes`, behind the magic number of `magic_length` bytes.
    pub(super) fn new(bytes: &'a [u8], magic_length: usize) -> (Self, Block) {
        let cursor = Self {
            bytes,
            bit: 8 * magic_length as u64,
            shared: BTreeMap::new(),
        };
        let end = 8 * bytes.len() as u64;
        (
            cursor,
            Block {
                top_level: true,
                ..Block::new(TOP_LEVEL_WIDTH, end)
            },
        )
    }

    /// What stands next in `block`; `None` at its end. Definitions of abbreviations are taken in on the way.
    pub(super) fn next(&mut self, block: &mut Block) -> Result<Option<Item>> {
        loop {
            // The stream as a whole has no end mark, and is padded to 32 bits.
            if block.top_level && self.bit + 32 > block.end {
                return Ok(None);
            }
            match self.fixed(block.width)? {
                END_BLOCK => {
                    // Else its end would be read again, and again by what is around it.
                    if self.bit > block.end {
                        return Err(self.malformed("a block ends behind its end"));
                    }
                    self.bit = block.end;
                    return Ok(None);
                }
                ENTER_SUBBLOCK => {
                    let id = self.variable(8)?;
                    let width = self.width(4)?;
                    self.align()?;
                    let end = self.fixed(32)?.saturating_mul(32).saturating_add(self.bit);
                    if end > block.end {
                        return Err(self.malformed("a block reaches past the one that it is in"));
                    }
                    if block.top_level {
                        // Each module has its own.
                        self.shared.clear();
                    }
                    if id == BLOCKINFO && !block.defines {
                        self.read_block_info(Block {
                            defines: true,
                            ..Block::new(width, end)
                        })?;
                        continue;
                    }
                    return Ok(Some(Item::Block { id, width, end }));
                }
                DEFINE_ABBREVIATION => {
                    let abbreviation = self.abbreviation()?;
                    block.abbreviations.push(abbreviation);
                    self.check_count(block.abbreviations.len())?;
                }
                abbreviation => return Ok(Some(Item::Record(abbreviation))),
            }
        }
    }

    /// Goes into a block that [`Cursor::next`] has found.
    pub(super) fn enter(&self, id: u64, width: u32, end: u64) -> Block {
        Block {
            shared: self.shared.get(&id).cloned().unwrap_or_default(),
            ..Block::new(width, end)
        }
    }

    /// Goes behind a block that [`Cursor::next`] has found.
    pub(super) fn skip_to(&mut self, end: u64) {
        self.bit = end;
    }

    /// Reads the record whose abbreviation number [`Cursor::next`] has found, and hands each of its values to
    /// `value` together with the record's code.
    pub(super) fn record(
        &mut self,
        block: &Block,
        abbreviation: u64,
        mut value: impl FnMut(u64, u64),
    ) -> Result<()> {
        if abbreviation == UNABBREVIATED_RECORD {
            let code = self.variable(6)?;
            for _ in 0..self.variable(6)? {
                value(code, self.variable(6)?);
            }
            return Ok(());
        }
        let index = usize::try_from(abbreviation - FIRST_ABBREVIATION).unwrap_or(usize::MAX);
        let Some(abbreviation) = block.abbreviation(index) else {
            return Err(self.malformed("a record uses an abbreviation that is not defined"));
        };
        // The first value of a record is its code.
        let mut code = None;
        let mut take = |found: u64| match code {
            Some(code) => value(code, found),
            None => code = Some(found),
        };
        let mut operands = abbreviation.iter();
        while let Some(&operand) = operands.next() {
            match operand {
                Operand::Array => {
                    let element = operands.next().copied();
                    let stored = matches!(
                        element,
                        Some(Operand::Fixed(1..) | Operand::Variable(1..) | Operand::Char6)
                    );
                    let Some(element) = element.filter(|_| stored) else {
                        return Err(self.malformed("an array has elements of no size"));
                    };
                    for _ in 0..self.variable(6)? {
                        take(self.scalar(element)?);
                    }
                }
                Operand::Blob => {
                    let length = self.variable(6)?;
                    self.align()?;
                    for _ in 0..length {
                        take(self.fixed(8)?);
                    }
                    self.align()?;
                }
                scalar => take(self.scalar(scalar)?),
            }
        }
        Ok(())
    }

    fn read_block_info(&mut self, mut block: Block) -> Result<()> {
        let mut current = None;
        loop {
            // `next` collects definitions in the block; here they belong to the kind named last.
            let item = self.next(&mut block)?;
            if let Some(id) = current {
                let shared = self.shared.entry(id).or_default();
                Rc::make_mut(shared).append(&mut block.abbreviations);
                let count = shared.len();
                self.check_count(count)?;
            } else if !block.abbreviations.is_empty() {
                return Err(self.malformed("an abbreviation is defined for no kind of block"));
            }
            match item {
                None => return Ok(()),
                Some(Item::Block { .. }) => return Err(self.malformed("a block stands among definitions")),
                Some(Item::Record(abbreviation)) => {
                    self.record(&block, abbreviation, |code, id| {
                        if code == SET_BLOCK_ID {
                            current = Some(id);
                        }
                    })?;
                }
            }
        }
    }

    fn abbreviation(&mut self) -> Result<Abbreviation> {
        let count = self.variable(5)?;
        if count > MOST_OPERANDS {
            return Err(self.malformed("an abbreviation has too many operands"));
        }
        let mut operands = Vec::new();
        for _ in 0..count {
            if self.fixed(1)? == 1 {
                operands.push(Operand::Literal(self.variable(8)?));
                continue;
            }
            operands.push(match self.fixed(3)? {
                1 => match self.width(5)? {
                    0 => Operand::Literal(0),
                    width => Operand::Fixed(width),
                },
                2 => match self.width(5)? {
                    0 => Operand::Literal(0),
                    width => Operand::Variable(width),
                },
                3 => Operand::Array,
                4 => Operand::Char6,
                5 => Operand::Blob,
                _ => return Err(self.malformed("an abbreviation has an operand of unknown encoding")),
            });
        }
        Ok(operands.into())
    }

    fn check_count(&self, abbreviations: usize) -> Result<()> {
        match abbreviations {
            0..=MOST_ABBREVIATIONS => Ok(()),
            _ => Err(self.malformed("a kind of block has too many abbreviations")),
        }
    }

    fn scalar(&mut self, operand: Operand) -> Result<u64> {
        match operand {
            Operand::Literal(value) => Ok(value),
            Operand::Fixed(width) => self.fixed(width),
            Operand::Variable(width) => self.variable(width),
            Operand::Char6 => {
                const CHARACTERS: &[u8; 64] =
                    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
                Ok(CHARACTERS[self.fixed(6)? as usize % 64].into())
            }
            Operand::Array | Operand::Blob => Err(self.malformed("an array holds an array")),
        }
    }

    /// A width in bits, itself stored in groups of `group` bits.
    fn width(&mut self, group: u32) -> Result<u32> {
        match self.variable(group)? {
            width @ 0..=64 => Ok(width as u32),
            _ => Err(self.malformed("a value is wider than 64 bits")),
        }
    }

    fn variable(&mut self, group: u32) -> Result<u64> {
        // One bit would hold nothing but the mark that another group follows.
        let payload = match group {
            2..=32 => group - 1,
            _ => return Err(self.malformed("a group of bits has an impossible size")),
        };
        let mut value = 0_u64;
        let mut shift = 0;
        loop {
            let bits = self.fixed(group)?;
            let low = bits & ((1 << payload) - 1);
            if shift < 64 {
                value |= low << shift;
            }
            if bits >> payload == 0 {
                return Ok(value);
            }
            shift += payload;
            if shift > 70 {
                return Err(self.malformed("a number is longer than 64 bits"));
            }
        }
    }

    fn fixed(&mut self, width: u32) -> Result<u64> {
        let end = self.bit + u64::from(width);
        if width > 64 || end > 8 * self.bytes.len() as u64 {
            return Err(self.malformed("it ends in the middle of a value"));
        }
        // 64 bits may stretch over nine bytes.
        let mut window = [0; 16];
        let first = (self.bit / 8) as usize;
        let available = &self.bytes[first..self.bytes.len().min(first + 9)];
        window[..available.len()].copy_from_slice(available);
        let shifted = u128::from_le_bytes(window) >> (self.bit % 8);
        self.bit = end;
        Ok((shifted & ((1 << width) - 1)) as u64)
    }

    fn align(&mut self) -> Result<()> {
        let aligned = self.bit.next_multiple_of(32);
        if aligned > 8 * self.bytes.len() as u64 {
            return Err(self.malformed("it ends in the middle of a block"));
        }
        self.bit = aligned;
        Ok(())
    }

    /// What is wrong at this place.
    pub(super) fn malformed(&self, problem: &'static str) -> Malformed {
        Malformed {
            offset: self.bit / 8,
            problem,
        }
    }
}
