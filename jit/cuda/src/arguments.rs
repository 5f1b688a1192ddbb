//! A launch's argument words: read from what a launch passes, in either of the driver's two ways.

use std::ffi::c_void;
use std::mem::MaybeUninit;

/// The most parameters of a kernel whose launches are asked about. OpenMP kernels have one for each captured
/// variable.
pub const MOST_PARAMETERS: usize = 64;
/// Bytes of an argument word.
const WORD: usize = 8;

/// `CU_LAUNCH_PARAM_END`, `_BUFFER_POINTER` and `_BUFFER_SIZE`: the names in a list of names and values.
const END: usize = 0;
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Where the parameters of a kernel lie in the buffer that it sees, in bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Layout {
    places: Box<[Place]>,
    /// Bytes up to the end of the last parameter.
    bytes: usize,
    /// Whether each parameter is a word and they follow one another: a buffer holds the words as they are.
    are_words: bool,
}

/// One parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place {
    /// Where it begins.
    pub offset: usize,
    /// How many bytes it has.
    pub size: usize,
}

impl Layout {
    /// Parameters at these places. None if a word cannot hold one of them, or if there are too many.
    pub fn new(places: &[Place]) -> Option<Self> {
        let fits =
            |place: &Place| (1..=WORD).contains(&place.size) && place.offset <= isize::MAX as usize - WORD;
        let fit = places.len() <= MOST_PARAMETERS && places.iter().all(fits);
        let is_word = |(index, place): (usize, &Place)| place.offset == WORD * index && place.size == WORD;
        let ends = places.iter().map(|place| place.offset.saturating_add(place.size));
        fit.then(|| Self {
            places: places.into(),
            bytes: ends.max().unwrap_or(0),
            are_words: places.iter().enumerate().all(is_word),
        })
    }

    /// So many parameters of one word each, as Clang's OpenMP kernels have. None if there are too many.
    pub fn words(count: usize) -> Option<Self> {
        let places = (0..count).map(|index| Place {
            offset: WORD * index,
            size: WORD,
        });
        Self::new(&places.collect::<Vec<_>>())
    }

    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// Room for the words of a launch.
#[derive(Debug)]
pub struct Room([MaybeUninit<u64>; MOST_PARAMETERS]);

impl Room {
    /// Nothing yet.
    #[inline]
    pub const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; MOST_PARAMETERS])
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads a launch's arguments: one word for each parameter, with zeros above its bytes. None if the launch
/// does not pass what the kernel takes; the driver will say so. A buffer that holds just these words, as
/// libomptarget's does, is not copied.
///
/// # Safety
/// `parameters` and `extra` are what `cuLaunchKernel` takes for a kernel with these parameters: null, or as
/// its documentation says, as long as the words are in use.
#[inline]
pub unsafe fn read<'a>(
    layout: &Layout,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
    room: &'a mut Room,
) -> Option<&'a [u64]> {
    if extra.is_null() {
        let words = &mut room.0[..layout.len()];
        if parameters.is_null() && !layout.is_empty() {
            return None;
        }
        for (index, (place, word)) in layout.places.iter().zip(&mut *words).enumerate() {
            // SAFETY: as the caller promises, there is a pointer to each parameter.
            unsafe { word.write(read_word((*parameters.add(index)).cast(), place.size)) };
        }
        return Some(written(words));
    }
    if !parameters.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let (buffer, size) = unsafe { buffer(extra)? };
    if buffer.is_null() || size < layout.bytes {
        return None;
    }
    if layout.are_words && buffer.cast::<u64>().is_aligned() {
        // SAFETY: the buffer has so many words, and the caller leaves them alone.
        return Some(unsafe { std::slice::from_raw_parts(buffer.cast(), layout.len()) });
    }
    let words = &mut room.0[..layout.len()];
    for (place, word) in layout.places.iter().zip(&mut *words) {
        // SAFETY: the buffer has so many bytes, and the parameter ends within.
        unsafe { word.write(read_word(buffer.add(place.offset), place.size)) };
    }
    Some(written(words))
}

/// Words of which each has been written.
#[inline]
const fn written(words: &[MaybeUninit<u64>]) -> &[u64] {
    // SAFETY: the callers have written each, and a `MaybeUninit` has the layout of what it holds.
    unsafe { &*(&raw const *words as *const [u64]) }
}

/// Buffer and size of a list of names and values.
///
/// # Safety
/// The list ends with [`END`]; the values are those that its names say.
#[inline]
unsafe fn buffer(extra: *mut *mut c_void) -> Option<(*const u8, usize)> {
    let (mut buffer, mut size) = (None, None);
    let mut entry = extra;
    // SAFETY: as the caller promises; a name that is not known ends the search.
    unsafe {
        loop {
            match (*entry).addr() {
                END => break,
                BUFFER_POINTER => buffer = Some((*entry.add(1)).cast_const().cast::<u8>()),
                BUFFER_SIZE => {
                    let place = (*entry.add(1)).cast::<usize>();
                    size = Some(if place.is_null() { return None } else { *place });
                }
                _ => return None,
            }
            entry = entry.add(2);
        }
    }
    Some((buffer?, size?))
}

/// A little-endian number of `size` bytes, at most 8.
///
/// # Safety
/// So many bytes may be read.
#[inline]
unsafe fn read_word(bytes: *const u8, size: usize) -> u64 {
    // SAFETY: as the caller promises.
    unsafe {
        if size == WORD {
            return bytes.cast::<u64>().read_unaligned();
        }
        let mut word = [0; WORD];
        bytes.copy_to_nonoverlapping(word.as_mut_ptr(), size);
        u64::from_le_bytes(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn layout() -> Layout {
        Layout::new(&[
            Place { offset: 0, size: 8 },
            Place { offset: 8, size: 4 },
            Place { offset: 12, size: 1 },
            Place { offset: 16, size: 8 },
        ])
        .unwrap()
    }

    const EXPECTED: [u64; 4] = [0x0807_0605_0403_0201, 0x0c0b_0a09, 0x0d, 0x1817_1615_1413_1211];

    #[test]
    fn a_buffer_is_read_as_the_kernel_sees_it() {
        let bytes: Vec<u8> = (1..=24).collect();
        let read_sized = |size: usize, name: usize| {
            let mut size = size;
            let mut extra = [
                ptr::without_provenance_mut(BUFFER_SIZE),
                (&raw mut size).cast(),
                ptr::without_provenance_mut(name),
                bytes.as_ptr().cast_mut().cast(),
                ptr::without_provenance_mut(END),
            ];
            let mut room = Room::new();
            // SAFETY: a list as the driver takes it.
            let words = unsafe { read(&layout(), ptr::null_mut(), extra.as_mut_ptr(), &mut room) };
            words.map(<[u64]>::to_vec)
        };
        assert_eq!(read_sized(24, BUFFER_POINTER).as_deref(), Some(&EXPECTED[..]));
        assert_eq!(read_sized(30, BUFFER_POINTER).as_deref(), Some(&EXPECTED[..]));
        assert_eq!(read_sized(23, BUFFER_POINTER), None);
        assert_eq!(read_sized(24, 17), None);
    }

    #[test]
    fn pointers_to_parameters_are_followed_for_their_bytes_alone() {
        let bytes: Vec<u8> = (1..=24).collect();
        let at = |offset: usize| bytes[offset..].as_ptr().cast_mut().cast::<c_void>();
        let mut pointers = [at(0), at(8), at(12), at(16)];
        let mut room = Room::new();
        // SAFETY: a pointer for each parameter.
        let words = unsafe { read(&layout(), pointers.as_mut_ptr(), ptr::null_mut(), &mut room) };
        assert_eq!(words, Some(&EXPECTED[..]));
    }

    #[test]
    fn what_the_driver_refuses_is_not_read() {
        let mut room = Room::new();
        let mut lists = [ptr::without_provenance_mut(END)];
        // SAFETY: neither is read before the other was looked at.
        unsafe {
            assert_eq!(read(&layout(), ptr::null_mut(), ptr::null_mut(), &mut room), None);
            let both = read(&layout(), ptr::dangling_mut(), lists.as_mut_ptr(), &mut room);
            assert_eq!(both, None);
            assert_eq!(
                read(&layout(), ptr::null_mut(), lists.as_mut_ptr(), &mut room),
                None
            );
            let none = Layout::words(0).unwrap();
            assert_eq!(
                read(&none, ptr::null_mut(), ptr::null_mut(), &mut room),
                Some(&[][..])
            );
        }
        assert!(Layout::words(MOST_PARAMETERS + 1).is_none());
        assert!(Layout::new(&[Place { offset: 0, size: 16 }]).is_none());
        assert!(
            Layout::new(&[Place {
                offset: usize::MAX,
                size: 8
            }])
            .is_none()
        );
    }
}
