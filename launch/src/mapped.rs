//! Data that stays mapped on a device over several launches: OpenMP's `target data`, ended by `Drop`.
#![expect(unsafe_code, reason = "has a device read and write host memory")]

use offloom_abi::kernel_arguments::MapType;

use crate::device::Device;
use crate::error::LaunchError;
use crate::launch::TOFROM;
use crate::link::Link;
use crate::mappable::Mappable;
use crate::runtime::DataMap;

/// Host data that kernels read, mapped on a device while this lives.
///
/// Where offloading is disabled or the device is the host, nothing is copied, and the host versions of
/// kernels read the host data.
#[derive(Debug)]
pub struct Mapped<'a, T: Mappable> {
    host: &'a [T],
    map: DataMap,
}

impl<'a, T: Mappable> Mapped<'a, T> {
    /// `target data map(to: data)`: copies `data` to `device` now, unless it is there.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn to(device: Device, data: &'a [T]) -> Result<Self, LaunchError> {
        Self::begin(device, None, data)
    }

    /// The same for a variable that is marked `link`, which kernels can then use by its name: `link` is
    /// `link!(TABLE)` and `data` the variable itself.
    ///
    /// # Errors
    /// When there is no such device, and when `data` does not start where the variable does.
    pub fn link_to(device: Device, link: &'static Link, data: &'a [T]) -> Result<Self, LaunchError> {
        Self::begin(device, Some(link), data)
    }

    fn begin(device: Device, link: Option<&'static Link>, data: &'a [T]) -> Result<Self, LaunchError> {
        // SAFETY: `data` is borrowed as long as it is mapped, and only read.
        let map = unsafe {
            DataMap::begin(
                device,
                link,
                data.as_ptr().cast_mut().cast(),
                size_of_val(data),
                MapType::TO,
            )?
        };
        Ok(Self { host: data, map })
    }

    /// The data on the host.
    pub fn host(&self) -> &[T] {
        self.host
    }

    /// Where it is mapped.
    pub fn device(&self) -> Device {
        self.map.device()
    }
}

impl<T: Mappable> Drop for Mapped<'_, T> {
    fn drop(&mut self) {
        // SAFETY: still borrowed, and nothing is copied back.
        unsafe { self.map.end(self.host.as_ptr().cast_mut().cast()) }
    }
}

/// Host data that kernels read and write, mapped on a device while this lives.
///
/// Host and device have a copy each, which [`MappedMut::update_to`] and [`MappedMut::update_from`] bring
/// together. Where offloading is disabled or the device is the host, there is only the host's, and both do
/// nothing.
///
/// As long as it is mapped, the data is reached through this alone:
/// ```compile_fail,E0506
/// # use offloom_launch::{Device, LaunchError, MappedMut};
/// # fn written_behind_its_back() -> Result<(), LaunchError> {
/// let mut data = [1.0_f32; 4];
/// let mut mapped = MappedMut::tofrom(Device::Default, &mut data)?;
/// data[0] = 2.0;
/// mapped.update_from();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MappedMut<'a, T: Mappable> {
    host: &'a mut [T],
    map: DataMap,
}

impl<'a, T: Mappable> MappedMut<'a, T> {
    /// `target data map(tofrom: data)`: copied to `device` now and back when this is dropped.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn tofrom(device: Device, data: &'a mut [T]) -> Result<Self, LaunchError> {
        Self::begin(device, None, data, TOFROM)
    }

    /// `target data map(to: data)`: copied to `device` now. What kernels write reaches the host by
    /// [`MappedMut::update_from`] alone.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn to(device: Device, data: &'a mut [T]) -> Result<Self, LaunchError> {
        Self::begin(device, None, data, MapType::TO)
    }

    /// `target data map(from: data)`: unspecified on `device` at first, copied back when this is dropped.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn from(device: Device, data: &'a mut [T]) -> Result<Self, LaunchError> {
        Self::begin(device, None, data, MapType::FROM)
    }

    /// `target data map(alloc: data)`: unspecified on `device` at first, never copied by itself.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn alloc(device: Device, data: &'a mut [T]) -> Result<Self, LaunchError> {
        Self::begin(device, None, data, MapType(0))
    }

    /// As [`MappedMut::tofrom`] for a variable that is marked `link`, which kernels can then use by its name:
    /// `link` is `link!(TABLE)` and `data` the variable itself.
    ///
    /// # Errors
    /// When there is no such device, and when `data` does not start where the variable does.
    pub fn link_tofrom(device: Device, link: &'static Link, data: &'a mut [T]) -> Result<Self, LaunchError> {
        Self::begin(device, Some(link), data, TOFROM)
    }

    /// The data on the host.
    pub fn host(&self) -> &[T] {
        self.host
    }

    /// The data on the host, to be changed there.
    pub fn host_mut(&mut self) -> &mut [T] {
        self.host
    }

    /// `target update to(data)`: copies the host's data to the device now.
    pub fn update_to(&mut self) {
        // SAFETY: still borrowed, and no launch is using it.
        unsafe { self.map.update(self.host.as_mut_ptr().cast(), MapType::TO) }
    }

    /// `target update from(data)`: copies the device's data to the host now.
    pub fn update_from(&mut self) {
        // SAFETY: still borrowed mutably, and every bit pattern is a value.
        unsafe { self.map.update(self.host.as_mut_ptr().cast(), MapType::FROM) }
    }

    /// Where it is mapped.
    pub fn device(&self) -> Device {
        self.map.device()
    }

    fn begin(
        device: Device,
        link: Option<&'static Link>,
        host: &'a mut [T],
        map_type: MapType,
    ) -> Result<Self, LaunchError> {
        let bytes = size_of_val(host);
        // SAFETY: `host` is borrowed mutably as long as it is mapped.
        let map = unsafe { DataMap::begin(device, link, host.as_mut_ptr().cast(), bytes, map_type)? };
        Ok(Self { host, map })
    }
}

impl<T: Mappable> Drop for MappedMut<'_, T> {
    fn drop(&mut self) {
        // SAFETY: still borrowed mutably, and every bit pattern is a value.
        unsafe { self.map.end(self.host.as_mut_ptr().cast()) }
    }
}
