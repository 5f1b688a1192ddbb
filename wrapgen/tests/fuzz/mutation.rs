//! Makes inputs that nobody would write out of ones that somebody did.

/// Numbers that parsers stumble over: next to the ends of integer types, and far outside any file.
const ODD_NUMBERS: [u64; 14] = [
    0,
    1,
    7,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// A source of mutations; the same seed gives the same ones.
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// An input made of one or two of `corpus`, of at most `limit` bytes.
    pub(crate) fn mutate(&mut self, corpus: &[Vec<u8>], limit: usize) -> Vec<u8> {
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(6) {
            match self.below(9) {
                0 if !input.is_empty() => {
                    let place = self.below(input.len());
                    input[place] ^= 1 << self.below(8);
                }
                1 if !input.is_empty() => {
                    let place = self.below(input.len());
                    input[place] = self.next() as u8;
                }
                2..=4 => self.put_number(&mut input),
                5 => {
                    let end = self.below(input.len() + 1);
                    input.truncate(end);
                }
                6 => {
                    let (start, end) = self.range(input.len());
                    input.drain(start..end);
                }
                7 => {
                    let (start, end) = self.range(input.len());
                    let place = self.below(input.len() + 1);
                    let copy = input[start..end].to_vec();
                    input.splice(place..place, copy);
                }
                _ => {
                    let other = &corpus[self.below(corpus.len())];
                    let (start, end) = self.range(other.len());
                    let place = self.below(input.len() + 1);
                    let rest = input.len().min(place + end - start);
                    input.splice(place..rest, other[start..end].iter().copied());
                }
            }
        }
        input.truncate(limit);
        input
    }

    /// Puts an odd number, or one near the input's size, somewhere, mostly where a field could be.
    fn put_number(&mut self, input: &mut [u8]) {
        let width = [1, 2, 4, 8][self.below(4)];
        if input.len() < width {
            return;
        }
        let mut place = self.below(input.len() - width + 1);
        if self.below(4) > 0 {
            place -= place % width;
        }
        let number = match self.below(4) {
            0 => (input.len() as u64)
                .wrapping_add(self.next() % 17)
                .wrapping_sub(8),
            _ => ODD_NUMBERS[self.below(ODD_NUMBERS.len())],
        };
        let mut bytes = number.to_le_bytes();
        if self.below(8) == 0 {
            bytes[..width].reverse();
        }
        input[place..place + width].copy_from_slice(&bytes[..width]);
    }

    fn range(&mut self, length: usize) -> (usize, usize) {
        let (first, second) = (self.below(length + 1), self.below(length + 1));
        (first.min(second), first.max(second))
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// xorshift64*.
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// A name for an input: FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
