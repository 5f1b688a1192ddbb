//! Masks of lanes.

use offloom_ptx_arithmetic::{LANES, Lanes};

/// All lanes of a warp.
pub(crate) const ALL: u32 = u32::MAX;

/// The lanes of a mask, from the lowest.
#[inline]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

/// Does something for each lane of a mask. Quicker than [`lanes`] where mostly all lanes are there.
#[inline(always)]
pub(crate) fn each(mask: u32, mut body: impl FnMut(usize)) {
    if mask == ALL {
        for lane in 0..LANES {
            body(lane);
        }
    } else {
        for lane in lanes(mask) {
            // The bits of a mask are no more than there are lanes; this says so to the compiler.
            body(lane % LANES);
        }
    }
}

/// Puts the values of the mask's lanes into `to`.
#[inline]
pub(crate) fn blend(to: &mut Lanes, mask: u32, from: &Lanes) {
    if mask == ALL {
        *to = *from;
        return;
    }
    for lane in 0..LANES {
        let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
        to[lane] = (to[lane] & keep) | (from[lane] & !keep);
    }
}

/// The lanes whose value is not zero.
#[inline]
pub(crate) fn non_zero(values: &Lanes) -> u32 {
    let mut mask = 0;
    for (lane, &value) in values.iter().enumerate() {
        mask |= u32::from(value != 0) << lane;
    }
    mask
}
