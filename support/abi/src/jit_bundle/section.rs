//! Where executables and shared libraries have their bundles.

use super::{BundleError, ID_END, MAGIC};
use crate::wire::{Damage, Fields};

/// The section of executables and shared libraries that holds their bundles.
pub const SECTION: &str = ".offloom.jit_bundle";
/// What bundles start at a multiple of, in [`SECTION`].
pub const SECTION_ALIGNMENT: usize = 16;

/// The bundles in [`SECTION`] of an executable or shared library, in order; after an error there is nothing
/// more. Only their sizes are looked at.
pub fn bundles_in(section: &[u8]) -> impl Iterator<Item = Result<&[u8], BundleError>> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let rest = section.get(offset..).filter(|rest| !rest.is_empty())?;
        let size = size_of_first(rest);
        let next = size.map_or(section.len(), |size| {
            (offset + size).next_multiple_of(SECTION_ALIGNMENT)
        });
        offset = next;
        Some(size.map(|size| &rest[..size]))
    })
}

/// How many bytes of these are a bundle.
fn size_of_first(bytes: &[u8]) -> Result<usize, BundleError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(BundleError::BadMagic);
    }
    let mut fields = Fields::new(bytes);
    fields.take(ID_END, "the header")?;
    let size = fields.u64("the size")?;
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size <= bytes.len() && *size > 0);
    size.ok_or(Damage::at("the size", ID_END).into())
}
