//! The workload `polynomial`, in Rust: a polynomial of run-time degree at many points, by Horner's rule, in a
//! marked kernel. It prints what the one in C++ prints.

use offloom_launch::{Device, Launch, LaunchError, Mapped, MappedMut, region};

#[path = "../common/workload.rs"]
mod workload;
use workload::{Timer, Workload, checksum, filled};

/// # Safety
/// `x` and `y` have `points` elements, `coefficients` has `degree + 1`.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".offload.kernel")]
pub unsafe extern "C" fn evaluate(
    x: *const f64,
    y: *mut f64,
    coefficients: *const f64,
    degree: usize,
    points: usize,
) {
    for i in 0..points {
        // SAFETY: all indices are within what the caller promises.
        unsafe {
            let mut value = *coefficients.add(degree);
            for k in (0..degree).rev() {
                value = value * *x.add(i) + *coefficients.add(k);
            }
            *y.add(i) = value;
        }
    }
}

/// The program.
pub fn run() {
    if let Err(error) = measure() {
        eprintln!("polynomial: {error}");
        std::process::exit(1);
    }
}

fn measure() -> Result<(), LaunchError> {
    let mut run = Workload::begin("polynomial", 64, 400);
    let degree = run.setting("degree", 0, 12, 12);
    let launches = run.setting("launches", 1, 10, 2500);
    run.settings_end();

    let points = run.size * 1000;
    let (x, terms) = (filled(points, 1, -1.0, 1.0), filled(degree + 1, 2, -2.0, 2.0));
    let mut y = vec![0.0; points];

    let mut timer = Timer::new();
    {
        let inputs = Mapped::to(Device::Default, &x)?;
        let coefficients = Mapped::to(Device::Default, &terms)?;
        let mut outputs = MappedMut::from(Device::Default, &mut y)?;
        for _ in 0..launches {
            timer.time(|| {
                // SAFETY: these are the parameters of `evaluate`, in its order, and the lengths are those of
                // the data.
                let outcome = unsafe { Launch::new(region!(evaluate)) }
                    .mapped(&inputs)
                    .mapped_mut(&mut outputs)
                    .mapped(&coefficients)
                    .value(degree)
                    .value(points)
                    .run();
                if let Err(error) = outcome {
                    eprintln!("polynomial: {error}");
                    std::process::exit(1);
                }
            });
        }
    }

    let stride = run.check_stride(points);
    let reference = |i: usize| {
        let powers = std::iter::successors(Some(1.0), |power| Some(power * x[i]));
        terms
            .iter()
            .zip(powers)
            .map(|(term, power)| term * power)
            .sum::<f64>()
    };
    run.check(
        "values",
        (0..points).step_by(stride).map(|i| (i, y[i], reference(i))),
        1e-12,
    );
    checksum("values", &y);
    timer.end("evaluate");
    run.end()
}
