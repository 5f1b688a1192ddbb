//! Memory: allocations of pools, memory of the program that was locked, loaded code; and which agents may
//! reach it. All of it is memory of the process, at the same address for everyone; what is a device's, the
//! program may touch once the host's agent is allowed to.

mod pages;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::abi::Handle;
pub(crate) use pages::{PAGE, Pages};

/// What an area of memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An allocation of a pool of agent `owner`.
    Pool {
        pool: Handle,
        owner: Handle,
        /// Whether packets may name it for arguments.
        takes_arguments: bool,
    },
    /// Memory of the program, locked this often.
    Locked { times: u32 },
    /// A loaded image for this agent.
    Code { agent: Handle },
}

/// An area of memory that agents know.
#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) start: usize,
    /// Bytes.
    pub(crate) size: usize,
    pub(crate) kind: Kind,
    /// The agents that may reach it. `None`: all.
    pub(crate) agents: Option<Vec<Handle>>,
    /// What it lies in. `None`: memory of the program.
    pages: Option<Pages>,
}

impl Area {
    /// Where the runtime itself reads and writes what lies at an address of this area.
    pub(crate) fn inside(&self, address: usize) -> usize {
        self.pages.as_ref().map_or(address, |pages| pages.inside(address))
    }

    /// Whether an agent may reach it.
    pub(crate) fn is_open_to(&self, agent: Handle) -> bool {
        self.agents.as_ref().is_none_or(|agents| agents.contains(&agent))
    }
}

/// All memory that agents know, by address.
#[derive(Debug, Default)]
pub(crate) struct Areas(BTreeMap<usize, Area>);

impl Areas {
    /// The area that an address lies in.
    pub(crate) fn find(&self, address: usize) -> Option<&Area> {
        let (_, area) = self.0.range(..=address).next_back()?;
        (address - area.start < area.size).then_some(area)
    }

    fn find_mut(&mut self, address: usize) -> Option<&mut Area> {
        let (_, area) = self.0.range_mut(..=address).next_back()?;
        (address - area.start < area.size).then_some(area)
    }

    /// Adds an area that owns its pages.
    pub(crate) fn add_pages(&mut self, pages: Pages, kind: Kind, agents: Option<Vec<Handle>>) -> usize {
        let start = pages.address;
        let area = Area {
            start,
            size: pages.size,
            kind,
            agents,
            pages: Some(pages),
        };
        self.0.insert(start, area);
        start
    }

    /// Adds or counts a lock of memory of the program. `false`: a part of it is known already, but not as
    /// this.
    pub(crate) fn lock(&mut self, start: usize, size: usize, agents: Option<Vec<Handle>>) -> bool {
        if let Some(area) = self.find_mut(start) {
            let same = area.start == start && area.size == size;
            return match &mut area.kind {
                Kind::Locked { times } if same => {
                    *times += 1;
                    true
                }
                _ => false,
            };
        }
        if self.0.range(start..start.saturating_add(size)).next().is_some() {
            return false;
        }
        let area = Area {
            start,
            size,
            kind: Kind::Locked { times: 1 },
            agents,
            pages: None,
        };
        self.0.insert(start, area);
        true
    }

    /// Takes one lock back. `false`: no lock begins there.
    pub(crate) fn unlock(&mut self, start: usize) -> bool {
        let Some(Kind::Locked { times }) = self.0.get_mut(&start).map(|area| &mut area.kind) else {
            return false;
        };
        *times -= 1;
        if *times == 0 {
            self.0.remove(&start);
        }
        true
    }

    /// Takes away the allocation of a pool that begins at an address.
    pub(crate) fn free(&mut self, start: usize) -> bool {
        let is_pool = self
            .0
            .get(&start)
            .is_some_and(|area| matches!(area.kind, Kind::Pool { .. }));
        is_pool && self.0.remove(&start).is_some()
    }

    /// Takes away the loaded image that begins at an address.
    pub(crate) fn unload(&mut self, start: usize) {
        self.0.remove(&start);
    }

    /// Opens the allocation that an address lies in to `agents` and its owner alone. The program touches it
    /// as agent `host`. `false`: there is none.
    pub(crate) fn allow(&mut self, address: usize, agents: &[Handle], host: Handle) -> bool {
        let Some(area) = self.find_mut(address) else {
            return false;
        };
        let Kind::Pool { owner, .. } = area.kind else {
            return false;
        };
        area.agents = Some(agents.iter().copied().chain([owner]).collect());
        if let Some(pages) = &area.pages {
            pages.set_open(agents.contains(&host));
        }
        true
    }

    /// Checks that an agent reaches `size` bytes at an address.
    ///
    /// # Errors
    ///
    /// What is wrong with that.
    pub(crate) fn check(&self, address: usize, size: usize, agent: Handle) -> Result<&Area, String> {
        let area = self
            .find(address)
            .ok_or_else(|| format!("{address:#x} is no memory that agents know"))?;
        let left = area.start + area.size - address;
        if size > left {
            return Err(format!(
                "{size} bytes from {address:#x} on go {} bytes beyond the memory there",
                size - left
            ));
        }
        if !area.is_open_to(agent) {
            return Err(format!("agent {agent:#x} is not allowed to access {address:#x}"));
        }
        Ok(area)
    }

    /// Bytes of each allocation of a pool.
    pub(crate) fn allocations(&self) -> Vec<usize> {
        let allocations = self
            .0
            .values()
            .filter(|area| matches!(area.kind, Kind::Pool { .. }));
        allocations.map(|area| area.size).collect()
    }

    /// How many areas of the program are locked.
    pub(crate) fn locks(&self) -> usize {
        self.0
            .values()
            .filter(|area| matches!(area.kind, Kind::Locked { .. }))
            .count()
    }
}

/// The areas of the process.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Areas>);

impl Memory {
    /// The areas, for one step.
    pub(crate) fn areas(&self) -> MutexGuard<'_, Areas> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: Kind = Kind::Pool {
        pool: 1,
        owner: 7,
        takes_arguments: false,
    };

    #[test]
    fn what_agents_may_not_reach_is_told() {
        let mut areas = Areas::default();
        let start = areas.add_pages(Pages::of_device(100).unwrap(), POOL, Some(vec![7]));
        let told = |areas: &Areas, address, size, agent| areas.check(address, size, agent).map(|_| ());
        assert_eq!(told(&areas, start + 40, 60, 7), Ok(()));
        let beyond = format!(
            "61 bytes from {:#x} on go 1 bytes beyond the memory there",
            start + 40
        );
        assert_eq!(told(&areas, start + 40, 61, 7), Err(beyond));
        let unknown = format!("{:#x} is no memory that agents know", start + 100);
        assert_eq!(told(&areas, start + 100, 1, 7), Err(unknown));
        let refused = format!("agent 0x8 is not allowed to access {start:#x}");
        assert_eq!(told(&areas, start, 1, 8), Err(refused));
        assert!(areas.allow(start + 1, &[8], 1));
        assert_eq!(told(&areas, start, 1, 8), Ok(()));
        assert_eq!(told(&areas, start, 1, 7), Ok(()), "the owner always may");
        assert_eq!(areas.allocations(), [100]);
        assert!(!areas.free(start + 1) && areas.free(start) && !areas.free(start));
        assert!(areas.find(start).is_none());
    }

    #[test]
    fn locks_are_counted_and_do_not_overlap() {
        let mut areas = Areas::default();
        assert!(areas.lock(0x1000, 64, None) && areas.lock(0x1000, 64, None));
        assert!(
            !areas.lock(0x1000, 32, None) && !areas.lock(0x1020, 64, None) && !areas.lock(0xff0, 32, None)
        );
        assert_eq!(areas.locks(), 1);
        assert!(areas.unlock(0x1000) && areas.find(0x1010).is_some());
        assert!(areas.unlock(0x1000) && !areas.unlock(0x1000));
        assert_eq!(areas.locks(), 0);
    }
}
