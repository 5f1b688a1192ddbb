//! The workload `transpose`, in Rust: permutes the four indices of a tensor in a marked kernel, by division
//! and modulo with run-time extents. It prints what the one in C++ prints.

use offloom_launch::{Device, Launch, LaunchError, Mapped, MappedMut, region};

#[path = "../common/workload.rs"]
mod workload;
use workload::{Timer, Workload, checksum};

/// The output has extents (d3, d1, d0, d2) where the input has (d0, d1, d2, d3).
///
/// # Safety
/// `input` and `output` have as many elements as the product of the extents, none of which is 0.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".offload.kernel")]
pub unsafe extern "C" fn permute(input: *const f64, output: *mut f64, d0: i64, d1: i64, d2: i64, d3: i64) {
    for i in 0..d0 * d1 * d2 * d3 {
        // SAFETY: no extent is 0, and all indices are within their product.
        unsafe {
            let i2 = remainder(i, d2);
            let i0 = remainder(quotient(i, d2), d0);
            let i1 = remainder(quotient(quotient(i, d2), d0), d1);
            let i3 = quotient(quotient(quotient(i, d2), d0), d1);
            *output.add(i as usize) = *input.add((((i0 * d1 + i1) * d2 + i2) * d3 + i3) as usize);
        }
    }
}

/// Division as in C, where a divisor of 0 is not looked for.
///
/// # Safety
/// `b` is positive.
#[inline(always)]
unsafe fn quotient(a: i64, b: i64) -> i64 {
    // SAFETY: the caller says so, and then it does not overflow either.
    unsafe { std::hint::assert_unchecked(b > 0) };
    a / b
}

/// As [`quotient`].
///
/// # Safety
/// `b` is positive.
#[inline(always)]
unsafe fn remainder(a: i64, b: i64) -> i64 {
    // SAFETY: the caller says so, and then it does not overflow either.
    unsafe { std::hint::assert_unchecked(b > 0) };
    a % b
}

/// The program.
pub fn run() {
    if let Err(error) = measure() {
        eprintln!("transpose: {error}");
        std::process::exit(1);
    }
}

fn measure() -> Result<(), LaunchError> {
    let mut run = Workload::begin("transpose", 30, 48);
    let d0 = run.setting("d0", 1, 5, 12);
    let d1 = run.setting("d1", 1, 7, 20);
    let d3 = run.setting("d3", 1, 4, 4);
    let launches = run.setting("launches", 1, 10, 10000);
    run.settings_end();

    let d2 = run.size;
    let count = d0 * d1 * d2 * d3;
    let input: Vec<_> = (0..count).map(|i| i as f64).collect();
    let mut output = vec![-1.0; count];

    let mut timer = Timer::new();
    {
        let from = Mapped::to(Device::Default, &input)?;
        let mut to = MappedMut::from(Device::Default, &mut output)?;
        for _ in 0..launches {
            timer.time(|| {
                // SAFETY: these are the parameters of `permute`, in its order; the data has as many elements
                // as the extents say.
                let outcome = unsafe { Launch::new(region!(permute)) }
                    .mapped(&from)
                    .mapped_mut(&mut to)
                    .value(d0 as i64)
                    .value(d1 as i64)
                    .value(d2 as i64)
                    .value(d3 as i64)
                    .run();
                if let Err(error) = outcome {
                    eprintln!("transpose: {error}");
                    std::process::exit(1);
                }
            });
        }
    }

    let mut expected = Vec::with_capacity(count);
    for i3 in 0..d3 {
        for i1 in 0..d1 {
            for i0 in 0..d0 {
                expected.extend((0..d2).map(|i2| (((i0 * d1 + i1) * d2 + i2) * d3 + i3) as f64));
            }
        }
    }
    run.check(
        "elements",
        (0..count).map(|at| (at, output[at], expected[at])),
        0.0,
    );
    checksum("elements", &output);
    timer.end("permute");
    run.end()
}
