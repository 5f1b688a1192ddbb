//! Loads, stores and atomic operations.

use offloom_ptx_arithmetic::LANES;

use super::simple::put_lane;
use super::{At, Block, Machine, Raised};
use crate::code::{Access, Atomic, Change, From, Load, Store};
use crate::fault::{FaultKind, ReportKind};
use crate::lanes::lanes;
use crate::local::mask;
use crate::space::{LOCAL_START, SHARED_START, Space, is_code};
use crate::warp::Warp;

/// Why an access fails.
pub(super) type Problem = (FaultKind, String);

impl Machine<'_> {
    pub(super) fn load(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        load: &Load,
    ) -> Result<(), Raised> {
        let access = &load.access;
        let addresses = self.addresses(block, warp, at, access)?;
        let bits = access.size * 8;
        for (index, &result) in load.results.iter().enumerate() {
            let offset = index as u64 * u64::from(access.size);
            for lane in lanes(at.exec) {
                let address = addresses[lane];
                if index == 0 {
                    check_alignment(access, address).map_err(|problem| problem.at(at, lane))?;
                }
                let address = address.wrapping_add(offset);
                let (mut value, mut shadow) = self
                    .load_element(block, warp, lane, access.space, address, access.size)
                    .map_err(|problem| Found(problem).at(at, lane))?;
                if load.extension.is_signed {
                    value = sign_extend(value, bits) & load.extension.mask;
                    shadow = sign_extend(shadow, bits) & load.extension.mask;
                }
                put_lane(warp, at, result, lane, value, shadow);
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        store: &Store,
    ) -> Result<(), Raised> {
        let access = &store.access;
        let addresses = self.addresses(block, warp, at, access)?;
        for (index, &source) in store.values.iter().enumerate() {
            let values = *warp.read(&self.code.constants, at.base, source);
            let shadow =
                (warp.poisoned(at.base, source) & at.exec != 0).then(|| warp.shadow(at.base, source));
            let offset = index as u64 * u64::from(access.size);
            for lane in lanes(at.exec) {
                let address = addresses[lane];
                if index == 0 {
                    check_alignment(access, address).map_err(|problem| problem.at(at, lane))?;
                }
                let address = address.wrapping_add(offset);
                let shadow = shadow.map_or(0, |shadow| shadow[lane]);
                let is_global = self
                    .store_element(
                        block,
                        warp,
                        lane,
                        access.space,
                        address,
                        access.size,
                        values[lane],
                        shadow,
                    )
                    .map_err(|problem| Found(problem).at(at, lane))?;
                if is_global && shadow & mask(access.size) == mask(access.size) {
                    self.poison_used(block, warp, at.pc, 1 << lane, ReportKind::PoisonStore)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        at: At,
        atomic: &Atomic,
    ) -> Result<(), Raised> {
        let access = &atomic.access;
        let addresses = self.addresses(block, warp, at, access)?;
        let constants = &self.code.constants;
        let operand = *warp.read(constants, at.base, atomic.operand);
        let second = *warp.read(constants, at.base, atomic.second);
        let mut shadow = [0; LANES];
        for source in [atomic.operand, atomic.second] {
            if warp.poisoned(at.base, source) & at.exec != 0 {
                let more = warp.shadow(at.base, source);
                shadow = std::array::from_fn(|lane| shadow[lane] | more[lane]);
            }
        }
        let size = access.size;
        for lane in lanes(at.exec) {
            let address = addresses[lane];
            check_alignment(access, address).map_err(|problem| problem.at(at, lane))?;
            let (a, b) = (operand[lane] & mask(size), second[lane] & mask(size));
            let change = |old: u64| {
                let new = match atomic.change {
                    Change::One(change) => change(old, a),
                    Change::Two(change) => change(old, a, b),
                };
                new & mask(size)
            };
            let (space, place) = resolve(access.space, address);
            let (old, old_shadow) = if space == Space::Global {
                if shadow[lane] & mask(size) == mask(size) {
                    self.poison_used(block, warp, at.pc, 1 << lane, ReportKind::PoisonStore)?;
                }
                let (allocation, offset) = self
                    .views
                    .find(place, size.into())
                    .ok_or_else(|| Found(outside(space, place, size)).at(at, lane))?;
                (allocation.region().update(offset, size as usize, change), 0)
            } else {
                let (old, old_shadow) = self
                    .load_element(block, warp, lane, space, place, size)
                    .map_err(|problem| Found(problem).at(at, lane))?;
                let new_shadow = old_shadow | shadow[lane];
                self.store_element(block, warp, lane, space, place, size, change(old), new_shadow)
                    .map_err(|problem| Found(problem).at(at, lane))?;
                (old, old_shadow)
            };
            put_lane(warp, at, atomic.result, lane, old, old_shadow);
        }
        Ok(())
    }

    /// The lanes' addresses. Unwritten bits in them are reported.
    fn addresses(
        &mut self,
        block: &Block,
        warp: &Warp,
        at: At,
        access: &Access,
    ) -> Result<[u64; LANES], Raised> {
        self.views.refresh();
        Ok(match access.from {
            From::Source(source) => {
                let poison = warp.poisoned(at.base, source) & at.exec;
                if poison != 0 {
                    self.poison_used(block, warp, at.pc, poison, ReportKind::PoisonAddress)?;
                }
                let base = warp.read(&self.code.constants, at.base, source);
                base.map(|address| address.wrapping_add_signed(access.offset))
            }
            From::Frame => {
                let start = access.offset.wrapping_add(LOCAL_START.into());
                warp.local_base
                    .map(|base| u64::from(base).wrapping_add_signed(start))
            }
        })
    }

    /// One element, and which bits of it were not written.
    #[inline]
    pub(super) fn load_element(
        &mut self,
        block: &Block,
        warp: &Warp,
        lane: usize,
        space: Space,
        address: u64,
        size: u32,
    ) -> Result<(u64, u64), Problem> {
        let (space, place) = resolve(space, address);
        match space {
            Space::Global | Space::Generic => match self.views.find(place, size.into()) {
                Some((allocation, offset)) => Ok((allocation.region().load(offset, size as usize), 0)),
                None => Err(outside(space, place, size)),
            },
            Space::Shared => match shared_offset(block, place, size) {
                Some(offset) => Ok(block.shared.load(offset, size as usize)),
                None => Err(outside(space, place, size)),
            },
            Space::Local => match local_offset(warp, lane, place, size) {
                Some(offset) => Ok(warp.local.load(lane, offset, size)),
                None => Err(outside(space, place, size)),
            },
            Space::Parameter => {
                let bytes = usize::try_from(place).ok().and_then(|start| {
                    let end = start.checked_add(size as usize)?;
                    self.grid.parameters.get(start..end)
                });
                let Some(bytes) = bytes else {
                    return Err(outside(space, place, size));
                };
                let mut word = [0; 8];
                word[..bytes.len()].copy_from_slice(bytes);
                Ok((u64::from_le_bytes(word), 0))
            }
        }
    }

    /// Writes one element; whether it was to global memory.
    #[expect(
        clippy::too_many_arguments,
        reason = "an element has a place and a value, each of several parts"
    )]
    #[inline]
    pub(super) fn store_element(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        lane: usize,
        space: Space,
        address: u64,
        size: u32,
        value: u64,
        shadow: u64,
    ) -> Result<bool, Problem> {
        let (space, place) = resolve(space, address);
        match space {
            Space::Global | Space::Generic => match self.views.find(place, size.into()) {
                Some((allocation, offset)) => {
                    allocation.region().store(offset, size as usize, value);
                    return Ok(true);
                }
                None => return Err(outside(space, place, size)),
            },
            Space::Shared => match shared_offset(block, place, size) {
                Some(offset) => block.shared.store(offset, size as usize, value, shadow),
                None => return Err(outside(space, place, size)),
            },
            Space::Local => match local_offset(warp, lane, place, size) {
                Some(offset) => warp.local.store(lane, offset, size, value, shadow),
                None => return Err(outside(space, place, size)),
            },
            Space::Parameter => {
                let text = format!("store to the kernel's parameters, at {place:#x}");
                return Err((FaultKind::IllegalAddress, text));
            }
        }
        Ok(false)
    }
}

/// The space that an address is in, and the address there.
#[inline]
fn resolve(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic => Space::of(address),
        // The other spaces have addresses of 32 bits.
        Space::Shared | Space::Local => (space, address & 0xFFFF_FFFF),
        Space::Global | Space::Parameter => (space, address),
    }
}

#[inline]
fn shared_offset(block: &Block, address: u64, size: u32) -> Option<usize> {
    let end = address + u64::from(size);
    (address >= SHARED_START.into() && end <= block.shared.len() as u64).then_some(address as usize)
}

#[inline]
fn local_offset(warp: &Warp, lane: usize, address: u64, size: u32) -> Option<u32> {
    let offset = address.checked_sub(LOCAL_START.into())?;
    (offset + u64::from(size) <= warp.local_top[lane].into()).then_some(offset as u32)
}

fn outside(space: Space, address: u64, size: u32) -> Problem {
    let text = match space {
        Space::Global | Space::Generic if is_code(address) => {
            format!("{size} bytes at {address:#x}, which is code")
        }
        Space::Global | Space::Generic => {
            format!("{size} bytes at {address:#x}, where no live allocation is")
        }
        _ => format!(
            "{size} bytes at {address:#x} of {} memory, outside of it",
            space.name()
        ),
    };
    (FaultKind::IllegalAddress, text)
}

#[inline]
fn check_alignment(access: &Access, address: u64) -> Result<(), Found> {
    if address & u64::from(access.alignment - 1) == 0 {
        Ok(())
    } else {
        let text = format!("{address:#x} is no multiple of {}", access.alignment);
        Err(Found((FaultKind::MisalignedAddress, text)))
    }
}

/// A problem of one lane.
struct Found(Problem);

impl Found {
    #[cold]
    fn at(self, at: At, lane: usize) -> Raised {
        Raised {
            kind: self.0.0,
            text: self.0.1,
            lane,
            pc: at.pc,
        }
    }
}

fn sign_extend(value: u64, bits: u32) -> u64 {
    let shift = 64 - bits;
    (((value << shift) as i64) >> shift) as u64
}
