//! One launch: its arguments, how it is spread, and its outcome.
#![expect(unsafe_code, reason = "runs code of which nothing but an address is known")]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};
use std::ptr;

use offloom_abi::kernel_arguments::{KernelArguments, MapType, VERSION_WITH_LAUNCH_ENVIRONMENT};

use crate::device::Device;
use crate::error::LaunchError;
use crate::mappable::Mappable;
use crate::mapped::{Mapped, MappedMut};
use crate::region::Region;
use crate::runtime;

/// Most arguments a launch can have. They live in the [`Launch`] itself: launching allocates nothing.
pub const MAX_ARGUMENTS: usize = 64;

/// A launch that is being put together, in the style of [`std::process::Command`]. Borrows what it maps, and
/// may run any number of times.
///
/// Each method that adds an argument adds the next one, in the order of the kernel's parameters.
///
/// What is mapped stays borrowed: nothing can be written and read by the same launch, or go away before it.
/// ```compile_fail,E0502
/// # use offloom_launch::{Launch, Region};
/// # fn aliased(region: &Region, data: &mut [f32]) {
/// let mut launch = unsafe { Launch::new(region) };
/// launch.map_to(data).map_tofrom(data).run();
/// # }
/// ```
/// ```compile_fail,E0597
/// # use offloom_launch::{Launch, Region};
/// # fn too_short(region: &Region) {
/// let mut launch = unsafe { Launch::new(region) };
/// {
///     let data = [1.0_f32; 4];
///     launch.map_to(&data);
/// }
/// launch.run();
/// # }
/// ```
#[derive(Debug)]
pub struct Launch<'a> {
    region: &'a Region,
    device: Device,
    number_of_teams: i32,
    thread_limit: i32,
    count: usize,
    /// One more than there may be: the launch environment's, which libomptarget 23 wants behind the others.
    values: [*mut c_void; MAX_ARGUMENTS + 1],
    sizes: [i64; MAX_ARGUMENTS + 1],
    map_types: [i64; MAX_ARGUMENTS + 1],
    too_many: bool,
    /// The device of the first argument that was mapped already, and of one that is on another device.
    mapped_on: [Option<Device>; 2],
    borrows: PhantomData<&'a mut [u8]>,
}

/// Whether the kernel ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "where the kernel did not run, the host version has to"]
pub enum Outcome {
    /// The kernel has run on the device, and what is mapped `from` is back.
    Ran,
    /// Offloading is disabled, or the device is the host. Nothing ran, nothing was copied.
    NotOffloaded,
}

impl Outcome {
    /// Runs the host version where the kernel did not run.
    pub fn or_on_host(self, host: impl FnOnce()) {
        if self == Self::NotOffloaded {
            host();
        }
    }
}

impl<'a> Launch<'a> {
    /// A launch without arguments on the default device, with one team: `#pragma omp target` without clauses.
    ///
    /// # Safety
    /// The caller promises, for every [`Launch::run`] of it:
    /// - an offload entry of this program holds the id of `region`;
    /// - the arguments added by then match the kernel's parameters in number, order and type;
    /// - the kernel, given them, reads only memory that is mapped, writes only what is mapped mutably, and
    ///   keeps no address beyond its end;
    /// - what a device pointer points to is there.
    pub unsafe fn new(region: &'a Region) -> Self {
        Self {
            region,
            device: Device::Default,
            number_of_teams: -1,
            thread_limit: 0,
            count: 0,
            values: [ptr::null_mut(); MAX_ARGUMENTS + 1],
            sizes: [0; MAX_ARGUMENTS + 1],
            map_types: [0; MAX_ARGUMENTS + 1],
            too_many: false,
            mapped_on: [None; 2],
            borrows: PhantomData,
        }
    }

    /// Where to run, as in `device(n)`.
    pub fn device(&mut self, device: Device) -> &mut Self {
        self.device = device;
        self
    }

    /// How many teams, as in `num_teams(n)`; 0 lets the runtime choose. Numbers above `i32::MAX` count as
    /// that.
    pub fn teams(&mut self, number: u32) -> &mut Self {
        self.number_of_teams = i32::try_from(number).unwrap_or(i32::MAX);
        self
    }

    /// Most threads of a team, as in `thread_limit(n)`; 0 lets the runtime choose. Numbers above `i32::MAX`
    /// count as that.
    pub fn threads(&mut self, limit: u32) -> &mut Self {
        self.thread_limit = i32::try_from(limit).unwrap_or(i32::MAX);
        self
    }

    /// Passes a value of at most 8 bytes; larger ones do not compile. The rest of the 8-byte argument is
    /// zero.
    pub fn value<T: Mappable>(&mut self, value: T) -> &mut Self {
        const {
            assert!(
                size_of::<T>() <= size_of::<u64>(),
                "larger than an argument: map it instead"
            );
        };
        let mut argument = MaybeUninit::<u64>::zeroed();
        // SAFETY: `T` is no larger than the slot, and an unaligned write needs no alignment.
        unsafe { argument.as_mut_ptr().cast::<T>().write_unaligned(value) };
        // SAFETY: zeroed before, and a mappable type has no padding that would have undone that.
        let argument = unsafe { argument.assume_init() };
        self.add(
            ptr::without_provenance_mut(argument as usize),
            size_of::<T>(),
            MapType::LITERAL,
        )
    }

    /// Passes an address that is valid on the device already (`omp_target_alloc`), as `is_device_ptr` does.
    pub fn device_pointer<T>(&mut self, pointer: *mut T) -> &mut Self {
        self.add(pointer.cast(), size_of::<*mut T>(), MapType::LITERAL)
    }

    /// `map(to: data)`: copied to the device before the kernel runs. For one object use
    /// [`std::slice::from_ref`].
    pub fn map_to<T: Mappable>(&mut self, data: &'a [T]) -> &mut Self {
        self.add(data.as_ptr().cast_mut().cast(), size_of_val(data), MapType::TO)
    }

    /// `map(from: data)`: copied back after the kernel has run. What the kernel does not write is unspecified
    /// afterwards.
    pub fn map_from<T: Mappable>(&mut self, data: &'a mut [T]) -> &mut Self {
        self.add(data.as_mut_ptr().cast(), size_of_val(data), MapType::FROM)
    }

    /// `map(tofrom: data)`: copied both ways. For one object use [`std::slice::from_mut`].
    pub fn map_tofrom<T: Mappable>(&mut self, data: &'a mut [T]) -> &mut Self {
        self.add(data.as_mut_ptr().cast(), size_of_val(data), TOFROM)
    }

    /// `map(alloc: data)`: scratch memory on the device, nothing is copied.
    pub fn map_alloc<T: Mappable>(&mut self, data: &'a mut [T]) -> &mut Self {
        self.add(data.as_mut_ptr().cast(), size_of_val(data), MapType(0))
    }

    /// Passes data that is mapped already; nothing is copied. The kernel must only read it.
    pub fn mapped<T: Mappable>(&mut self, data: &'a Mapped<'_, T>) -> &mut Self {
        self.remember_device(data.device());
        self.map_to(data.host())
    }

    /// Passes data that is mapped already; nothing is copied.
    pub fn mapped_mut<T: Mappable>(&mut self, data: &'a mut MappedMut<'_, T>) -> &mut Self {
        self.remember_device(data.device());
        self.map_tofrom(data.host_mut())
    }

    /// Runs the kernel and waits for it.
    ///
    /// # Errors
    /// When libomptarget would abort over the device number, when there are too many arguments, or when an
    /// argument is mapped on another device. Offloading being disabled is no error: see
    /// [`Outcome::NotOffloaded`].
    pub fn run(&mut self) -> Result<Outcome, LaunchError> {
        if self.too_many {
            return Err(LaunchError::TooManyArguments);
        }
        if let Some(mapped) = self
            .mapped_on
            .into_iter()
            .flatten()
            .find(|&mapped| mapped != self.device)
        {
            return Err(LaunchError::OtherDevice {
                mapped,
                launch: self.device,
            });
        }
        let Some(device) = self.device.number()? else {
            return Ok(Outcome::NotOffloaded);
        };
        let version = runtime::arguments_version();
        let mut count = self.count;
        if version >= VERSION_WITH_LAUNCH_ENVIRONMENT {
            self.values[count] = ptr::null_mut();
            self.sizes[count] = 0;
            self.map_types[count] = (MapType::LITERAL.0 | MapType::TARGET_PARAM.0) as i64;
            count += 1;
        }
        let values = self.values.as_mut_ptr();
        // A fresh record each time: the runtime writes into it.
        let mut arguments = KernelArguments {
            version,
            number_of_arguments: count as u32,
            // Nothing here starts behind its base pointer, so one array serves for both.
            base_pointers: values,
            pointers: values,
            sizes: self.sizes.as_mut_ptr(),
            map_types: self.map_types.as_mut_ptr(),
            map_names: ptr::null_mut(),
            mappers: ptr::null_mut(),
            trip_count: 0,
            flags: 0,
            number_of_teams: [self.number_of_teams.cast_unsigned(), 0, 0],
            thread_limit: [self.thread_limit.cast_unsigned(), 0, 0],
            dynamic_memory: 0,
        };
        // SAFETY: the record and its arrays are complete and live through the call, mapped memory is borrowed
        // for `'a`, and that the kernel fits its arguments was promised to `Launch::new`.
        let result = unsafe {
            runtime::__tgt_target_kernel(
                &raw const self.region.location,
                device,
                self.number_of_teams,
                self.thread_limit,
                self.region.id,
                &raw mut arguments,
            )
        };
        Ok(if result == 0 {
            Outcome::Ran
        } else {
            Outcome::NotOffloaded
        })
    }

    fn remember_device(&mut self, device: Device) {
        match self.mapped_on[0] {
            None => self.mapped_on[0] = Some(device),
            Some(first) if first != device => self.mapped_on[1] = Some(device),
            Some(_) => {}
        }
    }

    fn add(&mut self, value: *mut c_void, size: usize, map_type: MapType) -> &mut Self {
        if self.count == MAX_ARGUMENTS {
            self.too_many = true;
            return self;
        }
        self.values[self.count] = value;
        self.sizes[self.count] = size as i64;
        self.map_types[self.count] = (map_type.0 | MapType::TARGET_PARAM.0) as i64;
        self.count += 1;
        self
    }
}

/// Both directions.
pub(crate) const TOFROM: MapType = MapType(MapType::TO.0 | MapType::FROM.0);
