// The library of a program whose kernel is marked by its section. Its `main` calls `run`.
#![crate_name = "program"]
#![crate_type = "lib"]

use std::ffi::c_void;

/// A variable with a copy on the device.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".offload.to")]
static FACTOR: i32 = 3;

/// y += a * x * FACTOR, with bounds checks: device code that can panic.
///
/// # Safety
/// `x` and `y` have `n` elements.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".offload.kernel")]
pub unsafe extern "C" fn saxpy(a: f32, n: usize, x: *const f32, y: *mut f32) {
    let x = unsafe { std::slice::from_raw_parts(x, n) };
    let y = unsafe { std::slice::from_raw_parts_mut(y, n) };
    for index in 0..n {
        y[index] += scaled(a, x[index]);
    }
}

#[inline(never)]
fn scaled(a: f32, x: f32) -> f32 {
    let factor = unsafe { std::ptr::read_volatile(&FACTOR) };
    a * x * factor as f32
}

/// `__tgt_kernel_arguments` of libomptarget.
#[repr(C)]
struct KernelArguments {
    version: u32,
    count: u32,
    base_pointers: *const *mut c_void,
    pointers: *const *mut c_void,
    sizes: *const i64,
    types: *const i64,
    names: *const *mut c_void,
    mappers: *const *mut c_void,
    trip_count: u64,
    flags: u64,
    teams: [u32; 3],
    threads: [u32; 3],
    dynamic_memory: u32,
}

unsafe extern "C" {
    #[link_name = ".__omp_offloading_0_0_saxpy_l0.region_id"]
    static REGION: u8;

    fn __tgt_target_kernel(
        location: *const c_void,
        device: i64,
        teams: i32,
        threads: i32,
        region: *const c_void,
        arguments: *mut KernelArguments,
    ) -> i32;
}

/// The program.
pub fn run() {
    let x = vec![1.0_f32, 2.0, 3.0, 4.0];
    let mut y = vec![10.0_f32, 20.0, 30.0, 40.0];
    let a = 2.0_f32;
    let bytes = size_of_val(&x[..]) as i64;
    let values: [*mut c_void; 4] = [
        a.to_bits() as usize as *mut c_void,
        x.len() as *mut c_void,
        x.as_ptr().cast_mut().cast(),
        y.as_mut_ptr().cast(),
    ];
    let sizes = [4_i64, 8, bytes, bytes];
    // By value, by value, to, tofrom.
    let types = [0x120_i64, 0x120, 0x21, 0x23];
    let mut arguments = KernelArguments {
        version: 3,
        count: 4,
        base_pointers: values.as_ptr(),
        pointers: values.as_ptr(),
        sizes: sizes.as_ptr(),
        types: types.as_ptr(),
        names: std::ptr::null(),
        mappers: std::ptr::null(),
        trip_count: 0,
        flags: 0,
        teams: [0; 3],
        threads: [0; 3],
        dynamic_memory: 0,
    };
    let status = unsafe {
        __tgt_target_kernel(std::ptr::null(), -1, -1, 0, (&raw const REGION).cast(), &raw mut arguments)
    };
    let place = if status == 0 { "device" } else { "host" };
    if status != 0 {
        unsafe { saxpy(a, x.len(), x.as_ptr(), y.as_mut_ptr()) };
    }
    println!("{y:?} on the {place}");
}
