//! Launches from Rust on the x86_64 device. Device code and entries are made by hand: see the library of this
//! package.
#![expect(unsafe_code, reason = "promises that arguments fit their kernels")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::Command;
use std::sync::Once;

use offloom_launch::{Device, Launch, LaunchError, MAX_ARGUMENTS, Mapped, MappedMut, Outcome, link, region};
use offloom_launch_test::{compile_image, kernels, link_variable, register};

/// Marked `link` on the device.
static mut TABLE: [i32; 4] = [1, 2, 3, 4];

/// Registers the device image, once for all tests.
fn set_up() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Inputs/kernels.c");
        let image = compile_image(env!("CLANG"), &source);
        let mut symbols =
            Vec::from(kernels!(saxpy values map_types increment count_launches many double_table));
        symbols.push(link_variable!("table", (&raw const TABLE)));
        register(image, &symbols);
    });
}

/// Runs one of the ignored tests below in a process of its own, with `OMP_TARGET_OFFLOAD` set.
fn run_with_offload(policy: &str, test: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env("OMP_TARGET_OFFLOAD", policy)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (x, y) in x.iter().zip(y) {
        *y += a * x;
    }
}

fn offload_saxpy(device: Device, a: f32, x: &[f32], y: &mut [f32]) -> Result<Outcome, LaunchError> {
    // SAFETY: the kernel's parameters, in its order; it stays within `x.len()` elements of each.
    let mut launch = unsafe { Launch::new(region!(saxpy)) };
    assert_eq!(x.len(), y.len());
    launch
        .device(device)
        .value(a)
        .value(x.len())
        .map_to(x)
        .map_tofrom(y)
        .run()
}

#[test]
fn a_mandatory_launch_runs_on_the_device() {
    run_with_offload("mandatory", "child_expects_to_run");
}

#[test]
#[ignore = "run by a_mandatory_launch_runs_on_the_device"]
fn child_expects_to_run() {
    set_up();
    let (x, mut y) = ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0]);
    assert_eq!(offload_saxpy(Device::Default, 2.0, &x, &mut y), Ok(Outcome::Ran));
    assert_eq!(y, [12.0, 24.0, 36.0]);
}

#[test]
fn a_disabled_launch_leaves_the_work_to_the_host() {
    run_with_offload("disabled", "child_expects_not_to_run");
}

#[test]
#[ignore = "run by a_disabled_launch_leaves_the_work_to_the_host"]
fn child_expects_not_to_run() {
    set_up();
    let (x, mut y) = ([1.0, 2.0], [10.0, 20.0]);
    for device in [Device::Default, Device::Number(1), Device::Host] {
        assert_eq!(offload_saxpy(device, 2.0, &x, &mut y), Ok(Outcome::NotOffloaded));
        assert_eq!(y, [10.0, 20.0]);
    }
    // Maps do nothing either: the host's data is the only copy.
    let mut mapped = MappedMut::tofrom(Device::Default, &mut y).unwrap();
    mapped.host_mut()[0] = 11.0;
    mapped.update_from();
    assert_eq!(mapped.host(), [11.0, 20.0]);
    drop(mapped);
    // SAFETY: the kernel's parameters, in its order.
    unsafe { Launch::new(region!(saxpy)) }
        .value(2.0_f32)
        .value(x.len())
        .map_to(&x)
        .map_tofrom(&mut y)
        .run()
        .unwrap()
        .or_on_host(|| saxpy(2.0, &x, &mut y));
    assert_eq!(y, [13.0, 24.0]);
}

#[test]
fn the_host_version_runs_only_in_place_of_the_kernel() {
    set_up();
    let (x, mut y) = ([1.0; 4], [1.0; 4]);
    offload_saxpy(Device::Default, 1.0, &x, &mut y)
        .unwrap()
        .or_on_host(|| unreachable!("it ran on the device"));
    assert_eq!(y, [2.0; 4]);
    offload_saxpy(Device::Host, 1.0, &x, &mut y)
        .unwrap()
        .or_on_host(|| saxpy(1.0, &x, &mut y));
    assert_eq!(y, [3.0; 4]);
}

#[test]
fn values_arrive_in_the_first_bytes_and_the_rest_is_zero() {
    set_up();
    let mut seen = [u64::MAX; 4];
    // SAFETY: the kernel's parameters, in its order: four values of any type, and where to write them.
    let outcome = unsafe { Launch::new(region!(values)) }
        .value(-1_i8)
        .value(-1.0_f32)
        .value(0x0123_4567_89ab_cdef_u64)
        .value([1_u8, 2, 3])
        .map_from(&mut seen)
        .run();
    assert_eq!(outcome, Ok(Outcome::Ran));
    assert_eq!(seen, [0xff, 0xbf80_0000, 0x0123_4567_89ab_cdef, 0x03_0201]);
}

#[test]
fn each_map_type_copies_what_it_says() {
    set_up();
    let to = [1, 2];
    let (mut from, mut tofrom, mut alloc) = ([7, 7], [10, 20], [7, 7]);
    // SAFETY: the kernel's parameters, in its order. It writes to the device's copy of `to`, which never
    // comes back.
    let outcome = unsafe { Launch::new(region!(map_types)) }
        .value(2_usize)
        .map_to(&to)
        .map_from(&mut from)
        .map_tofrom(&mut tofrom)
        .map_alloc(&mut alloc)
        .run();
    assert_eq!(outcome, Ok(Outcome::Ran));
    assert_eq!(
        (to, from, tofrom, alloc),
        ([1, 2], [110, 220], [-10, -20], [7, 7])
    );
}

#[test]
fn nothing_has_to_be_mapped_in_an_empty_slice() {
    set_up();
    let (x, mut y): ([f32; 0], [f32; 0]) = ([], []);
    assert_eq!(offload_saxpy(Device::Default, 1.0, &x, &mut y), Ok(Outcome::Ran));
}

#[test]
fn mapped_data_is_copied_only_when_asked() {
    set_up();
    let mut data = [1, 2, 3];
    let mut mapped = MappedMut::tofrom(Device::Number(2), &mut data).unwrap();
    let increment = |mapped: &mut MappedMut<'_, i32>| {
        // SAFETY: the kernel's parameters, in its order.
        let mut launch = unsafe { Launch::new(region!(increment)) };
        let outcome = launch
            .device(Device::Number(2))
            .value(3_usize)
            .mapped_mut(mapped)
            .run();
        assert_eq!(outcome, Ok(Outcome::Ran));
    };
    increment(&mut mapped);
    assert_eq!(mapped.host(), [1, 2, 3]);
    mapped.update_from();
    assert_eq!(mapped.host(), [2, 3, 4]);
    mapped.host_mut()[0] = 100;
    increment(&mut mapped);
    mapped.update_from();
    assert_eq!(mapped.host(), [3, 4, 5]);
    mapped.host_mut()[0] = 100;
    mapped.update_to();
    increment(&mut mapped);
    assert_eq!(mapped.host(), [100, 4, 5]);
    drop(mapped);
    assert_eq!(data, [101, 5, 6]);
}

#[test]
fn every_way_of_mapping_ends_as_it_says() {
    set_up();
    let mut data = [1, 2];
    let run = |mapped: &mut MappedMut<'_, i32>| {
        // SAFETY: the kernel's parameters, in its order.
        let outcome = unsafe { Launch::new(region!(increment)) }
            .value(2_usize)
            .mapped_mut(mapped)
            .run();
        assert_eq!(outcome, Ok(Outcome::Ran));
    };
    let mut to = MappedMut::to(Device::Default, &mut data).unwrap();
    run(&mut to);
    drop(to);
    assert_eq!(data, [1, 2]);
    let mut from = MappedMut::from(Device::Default, &mut data).unwrap();
    from.update_to();
    run(&mut from);
    drop(from);
    assert_eq!(data, [2, 3]);
    let mut alloc = MappedMut::alloc(Device::Default, &mut data).unwrap();
    alloc.update_to();
    run(&mut alloc);
    drop(alloc);
    assert_eq!(data, [2, 3]);
}

#[test]
fn shared_mapped_data_is_read_by_several_launches() {
    set_up();
    let x = vec![1.0_f32; 1000];
    let mapped = Mapped::to(Device::Default, &x).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for a in 0..50_u8 {
                    let mut y = vec![f32::from(a); 1000];
                    // SAFETY: the kernel's parameters, in its order.
                    let outcome = unsafe { Launch::new(region!(saxpy)) }
                        .value(2.0_f32)
                        .value(y.len())
                        .mapped(&mapped)
                        .map_tofrom(&mut y)
                        .run();
                    assert_eq!(outcome, Ok(Outcome::Ran));
                    assert!(y.iter().all(|&y| y == f32::from(a) + 2.0));
                }
            });
        }
    });
    assert_eq!(mapped.host()[999], 1.0);
}

#[test]
fn a_link_variable_is_reached_while_it_is_mapped() {
    set_up();
    let table = &raw mut TABLE;
    // SAFETY: only this test uses it.
    let table = unsafe { &mut *table };
    let mut mapped = MappedMut::link_tofrom(Device::Default, link!(table), table).unwrap();
    // SAFETY: the kernel's parameter; it stays within the mapped variable.
    let mut launch = unsafe { Launch::new(region!(double_table)) };
    launch.value(4_u64);
    assert_eq!(launch.run(), Ok(Outcome::Ran));
    assert_eq!(mapped.host(), [1, 2, 3, 4]);
    mapped.update_from();
    assert_eq!(mapped.host(), [2, 4, 6, 8]);
    mapped.host_mut()[0] = 100;
    mapped.update_to();
    assert_eq!(launch.run(), Ok(Outcome::Ran));
    drop(mapped);
    assert_eq!(*table, [200, 8, 12, 16]);

    let other = [1];
    let error = Mapped::link_to(Device::Default, link!(table), &other).map(|_| ());
    assert_eq!(error, Err(LaunchError::OtherVariable));
    assert!(Mapped::link_to(Device::Default, link!(table), table).is_ok());
}

#[test]
fn one_launch_runs_many_times() {
    set_up();
    let (mut count, last_device) = (0_u64, Device::Number(Device::count() - 1));
    // SAFETY: the kernel's parameter.
    let mut launch = unsafe { Launch::new(region!(count_launches)) };
    launch
        .device(last_device)
        .teams(2)
        .threads(1)
        .map_from(std::slice::from_mut(&mut count));
    for _ in 0..20 {
        assert_eq!(launch.run(), Ok(Outcome::Ran));
    }
    assert_eq!(count, 20);
}

#[test]
fn device_numbers() {
    set_up();
    let devices = Device::count();
    assert!(devices > 0);
    let (x, mut y) = ([1.0], [0.0]);
    for number in 0..devices {
        assert_eq!(
            offload_saxpy(Device::Number(number), 1.0, &x, &mut y),
            Ok(Outcome::Ran)
        );
    }
    assert_eq!(y, [devices as f32]);
    assert_eq!(
        offload_saxpy(Device::Number(devices), 1.0, &x, &mut y),
        Ok(Outcome::NotOffloaded)
    );
    let number = devices + 1;
    let error = LaunchError::NoSuchDevice { number, devices };
    assert_eq!(offload_saxpy(Device::Number(number), 1.0, &x, &mut y), Err(error));
    assert_eq!(Mapped::to(Device::Number(number), &x).map(|_| ()), Err(error));
    assert_eq!(
        error.to_string(),
        format!(
            "there is no device {number}: the devices are 0 to {}, and {devices} is the host",
            devices - 1
        )
    );
}

#[test]
fn arguments_mapped_on_another_device_are_refused() {
    set_up();
    let x = [1.0];
    let mut y = [1.0];
    let on_1 = Mapped::to(Device::Number(1), &x).unwrap();
    let mut on_2 = MappedMut::tofrom(Device::Number(2), &mut y).unwrap();
    // SAFETY: the kernel's parameters, in its order.
    let mut launch = unsafe { Launch::new(region!(saxpy)) };
    launch
        .value(1.0_f32)
        .value(1_usize)
        .mapped(&on_1)
        .mapped_mut(&mut on_2);
    for (launch_on, mapped_on) in [(1, 2), (2, 1)] {
        launch.device(Device::Number(launch_on));
        let error = LaunchError::OtherDevice {
            mapped: Device::Number(mapped_on),
            launch: Device::Number(launch_on),
        };
        assert_eq!(launch.run(), Err(error));
    }
}

#[test]
fn as_many_arguments_as_there_is_room_for() {
    set_up();
    let mut sum = [0_u64];
    // SAFETY: the kernel's parameters, in its order: 63 numbers, and where to write the sum.
    let mut launch = unsafe { Launch::new(region!(many)) };
    let mut expected = 0;
    for index in 0..MAX_ARGUMENTS as u64 - 1 {
        launch.value(index + 1);
        expected += (index + 1) * (index % 8 + 1);
    }
    assert_eq!(launch.map_from(&mut sum).run(), Ok(Outcome::Ran));
    assert_eq!(launch.value(0_u64).run(), Err(LaunchError::TooManyArguments));
    assert_eq!(sum, [expected]);
}
