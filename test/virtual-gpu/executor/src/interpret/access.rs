//! Loads, stores and atomic operations.

use offloom_ptx_arithmetic::{LANES, Lanes};

use super::simple::put_lane;
use super::{At, Block, Machine, Raised};
use crate::code::{Access, Atomic, Change, From, Load, SINK, Source, Store};
use crate::fault::{FaultKind, ReportKind};
use crate::lanes::{lanes, non_zero};
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
        check_alignments(access, at, &addresses)?;
        for (index, &result) in load.results.iter().enumerate() {
            let offset = index as u64 * u64::from(access.size);
            let addresses = if index == 0 {
                addresses
            } else {
                addresses.map(|address| address.wrapping_add(offset))
            };
            let (mut value, mut shadow) = match self.gather(block, warp, at.exec, access, &addresses) {
                Some(elements) => elements,
                None => self.gather_slowly(block, warp, at, access, &addresses)?,
            };
            if result == SINK {
                continue;
            }
            if load.extension.is_signed {
                let extend = |value| sign_extend(value, access.size * 8) & load.extension.mask;
                value = value.map(extend);
                shadow = shadow.map(extend);
            }
            let result = at.base + result as usize;
            if self.track && non_zero(&shadow) & at.exec != 0 {
                warp.write_shadowed(result, at.exec, &value, &shadow);
            } else {
                warp.write(result, at.exec, &value);
            }
        }
        Ok(())
    }

    /// Elements of all lanes at once, and which bits of them were not written, where all are in one place.
    /// Otherwise, and where something is wrong, nothing.
    #[inline]
    fn gather(
        &mut self,
        block: &Block,
        warp: &Warp,
        exec: u32,
        access: &Access,
        addresses: &Lanes,
    ) -> Option<(Lanes, Lanes)> {
        let first = addresses[exec.trailing_zeros() as usize % LANES];
        let size = access.size;
        match self.common_space(access.space, exec, addresses)? {
            Space::Global => {
                let (allocation, _) = self.views.find(first, size.into())?;
                let offsets = allocation.offsets(addresses, exec, size.into())?;
                Some((
                    allocation.region().gather(&offsets, exec, size as usize),
                    [0; LANES],
                ))
            }
            Space::Shared => {
                let offsets = shared_offsets(block, exec, addresses, size)?;
                Some(block.shared.gather(&offsets, exec, size as usize))
            }
            Space::Local => {
                lanes(exec).all(|lane| addresses[lane] == first).then_some(())?;
                let place = first & 0xFFFF_FFFF;
                lanes(exec)
                    .all(|lane| local_offset(warp, lane, place, size).is_some())
                    .then_some(())?;
                warp.local.load_all(place as u32 - LOCAL_START, size)
            }
            Space::Parameter => {
                lanes(exec).all(|lane| addresses[lane] == first).then_some(())?;
                let lane = exec.trailing_zeros() as usize;
                let (value, shadow) = self
                    .load_element(block, warp, lane, access.space, first, size)
                    .ok()?;
                Some(([value; LANES], [shadow; LANES]))
            }
            Space::Generic => None,
        }
    }

    #[cold]
    fn gather_slowly(
        &mut self,
        block: &Block,
        warp: &Warp,
        at: At,
        access: &Access,
        addresses: &Lanes,
    ) -> Result<(Lanes, Lanes), Raised> {
        let (mut value, mut shadow) = ([0; LANES], [0; LANES]);
        for lane in lanes(at.exec) {
            let element = self.load_element(block, warp, lane, access.space, addresses[lane], access.size);
            (value[lane], shadow[lane]) = element.map_err(|problem| Found(problem).at(at, lane))?;
        }
        Ok((value, shadow))
    }

    /// The space in which all lanes' addresses are, if it is one.
    #[inline]
    fn common_space(&self, space: Space, exec: u32, addresses: &Lanes) -> Option<Space> {
        if space != Space::Generic {
            return Some(space);
        }
        let first = Space::of(addresses[exec.trailing_zeros() as usize % LANES]).0;
        lanes(exec)
            .all(|lane| Space::of(addresses[lane]).0 == first)
            .then_some(first)
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
        check_alignments(access, at, &addresses)?;
        for (index, &source) in store.values.iter().enumerate() {
            let offset = index as u64 * u64::from(access.size);
            let addresses = if index == 0 {
                addresses
            } else {
                addresses.map(|address| address.wrapping_add(offset))
            };
            let poison = warp.poisoned(at.base, source) & at.exec;
            if poison == 0 && self.scatter(block, warp, at, access, &addresses, source) {
                continue;
            }
            let values = *warp.read(&self.code.constants, at.base, source);
            let shadow = if poison == 0 {
                [0; LANES]
            } else {
                warp.shadow(at.base, source)
            };
            for lane in lanes(at.exec) {
                let (value, shadow) = (values[lane], shadow[lane]);
                let is_global = self
                    .store_element(
                        block,
                        warp,
                        lane,
                        access.space,
                        addresses[lane],
                        access.size,
                        value,
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

    /// Writes written elements of all lanes at once, where all are in one allocation or in shared memory:
    /// whether they are.
    #[inline]
    fn scatter(
        &mut self,
        block: &mut Block,
        warp: &Warp,
        at: At,
        access: &Access,
        addresses: &Lanes,
        source: Source,
    ) -> bool {
        let (first, size) = (addresses[at.exec.trailing_zeros() as usize % LANES], access.size);
        let values = warp.read(&self.code.constants, at.base, source);
        match self.common_space(access.space, at.exec, addresses) {
            Some(Space::Global) => {
                let Some((allocation, _)) = self.views.find(first, size.into()) else {
                    return false;
                };
                let Some(offsets) = allocation.offsets(addresses, at.exec, size.into()) else {
                    return false;
                };
                allocation
                    .region()
                    .scatter(&offsets, at.exec, size as usize, values);
                true
            }
            Some(Space::Shared) => {
                let Some(offsets) = shared_offsets(block, at.exec, addresses, size) else {
                    return false;
                };
                block.shared.scatter(&offsets, at.exec, size as usize, values);
                true
            }
            _ => false,
        }
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
        check_alignments(access, at, &addresses)?;
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

/// The offsets of elements of these lanes, where all of them are inside.
#[inline]
fn shared_offsets(block: &Block, mask: u32, addresses: &Lanes, size: u32) -> Option<Lanes> {
    let offsets = addresses.map(|address| address & 0xFFFF_FFFF);
    let end = block.shared.len() as u64;
    let outside =
        offsets.map(|offset| u64::from(offset < SHARED_START.into() || offset + u64::from(size) > end));
    (non_zero(&outside) & mask == 0).then_some(offsets)
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

/// All lanes' addresses are multiples of what they access.
#[inline]
fn check_alignments(access: &Access, at: At, addresses: &Lanes) -> Result<(), Raised> {
    let low = u64::from(access.alignment - 1);
    let wrong = non_zero(&addresses.map(|address| address & low)) & at.exec;
    if wrong == 0 {
        return Ok(());
    }
    let lane = wrong.trailing_zeros() as usize;
    let text = format!("{:#x} is no multiple of {}", addresses[lane], access.alignment);
    Err(Found((FaultKind::MisalignedAddress, text)).at(at, lane))
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
