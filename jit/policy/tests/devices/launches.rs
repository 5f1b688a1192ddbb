//! Launches on two devices: code that comes, stays, goes, or cannot be made.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use offloom_jit_policy::backend::Backend;
use offloom_jit_policy::process::fork_gate;
use offloom_jit_variants::trial::Times;

use crate::double::{
    COMPILED, Double, LOADED, LOADING, RELEASED, SAID, SETTLED, TURNED_AWAY, kernels_on_devices, launch,
    launch_until_variant, report, settled, wait_until,
};

#[test]
fn each_device_gets_code_for_its_architecture_and_launch_and_no_launch_waits_for_it() {
    let kernels = kernels_on_devices("__omp_offloading_1_2_both_l1");
    let mut late = Vec::new();
    for (kernel, processor) in kernels.iter().zip(["first", "second"]) {
        assert_eq!(launch(kernel, 7, &mut late, 10), None, "nothing is there yet");
        assert_eq!(settled(kernel, 7), None, "nothing is decided yet");
        let object = launch_until_variant(kernel, 7, 10);
        assert!(object.starts_with(processor), "{object}");
        assert_eq!(settled(kernel, 7), None, "it is on trial");
        // Base and variant are launched in turns, and times come when both have run for long.
        let mut seen = HashSet::new();
        for _ in 0..100 {
            seen.insert(launch(kernel, 7, &mut late, 10).is_some());
        }
        assert_eq!(seen.len(), 2, "both are timed");
        report(kernel, &mut late);
        assert_eq!(settled(kernel, 7), Some(true), "it is kept");
        for _ in 0..100 {
            let object = launch(kernel, 7, &mut late, 10).unwrap();
            assert!(
                object.contains("teams=100") && object.contains("threads=128"),
                "{object}"
            );
        }
        assert_eq!(late, [], "what is kept is not timed");
    }
    let compiled = COMPILED.lock().unwrap().clone();
    let of_kernel = compiled.iter().filter(|object| object.contains("_both_"));
    assert_eq!(of_kernel.count(), 2, "one object for each architecture");
}

#[test]
fn what_has_to_wait_to_be_loaded_is_asked_for_again() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_has_to_wait_l1");
    let object = launch_until_variant(kernel, 7, 10);
    assert!(TURNED_AWAY.lock().unwrap().contains(&object));
    let compiled = COMPILED.lock().unwrap().clone();
    let made = compiled.iter().filter(|other| **other == object);
    assert_eq!(made.count(), 1, "it is there already");
}

#[test]
fn slower_code_is_unloaded_after_its_last_launch_ended() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_slower_l1");
    launch_until_variant(kernel, 7, 1050);
    let mut late = Vec::new();
    while launch(kernel, 7, &mut late, 1050).is_none() {}
    // This launch runs the variant, and its end is told after the verdict.
    let last = late.pop().unwrap();
    for _ in 0..100 {
        launch(kernel, 7, &mut late, 1050);
    }
    report(kernel, &mut late);
    let is_there = || {
        let loaded = LOADED.lock().unwrap();
        loaded
            .iter()
            .any(|(object, there)| object.contains("_slower_") && *there)
    };
    assert_eq!(launch(kernel, 7, &mut late, 1050), None, "it is retired");
    assert_eq!(settled(kernel, 7), Some(false), "it is retired");
    thread::sleep(2 * LOADING);
    assert!(is_there(), "a launch may still be running it");
    report(kernel, &mut vec![last]);
    wait_until("the code stays loaded", || !is_there());
}

#[test]
fn verdicts_are_published_once_and_with_the_model_of_their_device() {
    let kernels = kernels_on_devices("__omp_offloading_1_2_judged_l1");
    let list = kernels[0].image.bundle.key_of_start().hash();
    let said = |device: &str| {
        let said = SAID.lock().unwrap();
        let of_device = said
            .iter()
            .filter(|(of, model, _)| *of == list && model == device);
        of_device.map(|(_, _, verdict)| *verdict).collect::<Vec<_>>()
    };
    let mut published = Vec::new();
    for (kernel, device) in kernels.iter().zip(["Double One", "Double Two"]) {
        assert_eq!(said(device), [None], "those of others are wanted at once");
        launch_until_variant(kernel, 7, 10);
        let mut late = Vec::new();
        for _ in 0..100 {
            launch(kernel, 7, &mut late, 10);
        }
        report(kernel, &mut late);
        wait_until("no verdict is published", || said(device).len() > 1);
        published.extend(said(device)[1]);
    }
    let times = Times {
        variant: 10,
        ahead_of_time: 1000,
    };
    assert_eq!(published.len(), 2);
    assert!(
        published.iter().all(|(_, measured)| *measured == times),
        "{published:?}"
    );
    assert_ne!(published[0].0, published[1].0, "of each architecture's object");
    assert_eq!((said("Double One").len(), said("Double Two").len()), (2, 2));
}

#[test]
fn what_cannot_be_made_stays_ahead_of_time() {
    for name in [
        "__omp_offloading_1_2_cannot_be_compiled_l1",
        "__omp_offloading_1_2_cannot_be_loaded_l1",
        "__omp_offloading_1_2_is_declined_l1",
    ] {
        let [kernel, _] = kernels_on_devices(name);
        let settled = SETTLED.load(Ordering::SeqCst);
        let mut late = Vec::new();
        for _ in 0..2 {
            assert_eq!(launch(kernel, 7, &mut late, 10), None);
        }
        wait_until("the key is not settled", || {
            SETTLED.load(Ordering::SeqCst) > settled
        });
        assert_eq!(launch(kernel, 7, &mut late, 10), None);
        assert_eq!(late, []);
    }
}

#[test]
fn an_image_that_goes_while_its_code_is_loaded_takes_the_code_with_it() {
    let kernels = kernels_on_devices("__omp_offloading_1_2_withdrawn_l1");
    let released = RELEASED.load(Ordering::SeqCst);
    let mut late = Vec::new();
    for kernel in kernels {
        // Of a kernel that was launched once nobody knows whether it will be again.
        for _ in 0..2 {
            assert_eq!(launch(kernel, 7, &mut late, 10), None);
        }
    }
    wait_until("nothing is compiled", || {
        let compiled = COMPILED.lock().unwrap();
        compiled.iter().any(|object| object.contains("_withdrawn_"))
    });
    for device in [0, 1] {
        // SAFETY: nothing launches the kernels any more.
        unsafe {
            Double::registry().withdraw(|image| {
                image.device == device && image.bundle.contents.kernels[0].name.contains("_withdrawn_")
            });
        }
    }
    wait_until("the image copies are kept", || {
        RELEASED.load(Ordering::SeqCst) == released + 2
    });
    let loaded = LOADED.lock().unwrap();
    assert!(
        !loaded
            .iter()
            .any(|(object, there)| object.contains("_withdrawn_") && *there)
    );
}

#[test]
fn several_threads_launch_with_several_values() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_threads_l1");
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || {
                let mut late = Vec::new();
                for turn in 0..2000 {
                    let scalar = (thread + turn) % 3;
                    if let Some(object) = launch(kernel, scalar, &mut late, 10) {
                        let is_right =
                            object.contains(&format!("i64:{scalar:#x}")) || !object.contains("i64:");
                        assert!(is_right, "{object} for {scalar}");
                    }
                    if turn % 64 == 0 {
                        report(kernel, &mut late);
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                report(kernel, &mut late);
            });
        }
    });
    assert!(fork_gate::enter().is_some());
}
