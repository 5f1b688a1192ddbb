//! The two forms of a variant: the second is tried where the first is of no use.

use std::thread;
use std::time::{Duration, Instant};

use offloom_jit_policy::kernel_on_device::KernelOnDevice;

use crate::double::{
    COMPILED, Double, attach, image_copies, kernels_on_devices, launch, launch_until_variant, report,
    settled, wait_until,
};

/// Launches until a variant of any number of teams is settled, or none is. Variants of one number take 5000
/// ns, the others `takes`; ahead of time it is 1000. Returns the objects that ran, each once, in order.
fn launch_until_settled(kernel: &'static KernelOnDevice<Double>, takes: u64) -> (Vec<String>, bool) {
    let mut objects = Vec::new();
    let mut late = Vec::new();
    let patience = Instant::now();
    loop {
        if let Some(object) = launch(kernel, 7, &mut late, takes) {
            let is_of_any_number = !object.contains("teams=") && !object.contains("threads=");
            if let Some((_, nanoseconds)) = late.last_mut()
                && !is_of_any_number
            {
                *nanoseconds = 5000;
            }
            if objects.last() != Some(&object) {
                objects.push(object);
            }
        }
        report(kernel, &mut late);
        if objects.last().is_some_and(|object| !object.contains("teams="))
            && let Some(variant_runs) = settled(kernel, 7)
        {
            return (objects, variant_runs);
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "{objects:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn where_a_variant_is_no_faster_one_for_any_number_of_teams_is_tried_and_both_verdicts_are_remembered() {
    let name = "__omp_offloading_1_2_forms_l1";
    let attached = attach(name);
    let [kernel, other] = image_copies(attached);
    let (objects, variant_runs) = launch_until_settled(kernel, 10);
    assert!(variant_runs, "the second is faster");
    let [full, any] = &objects[..] else {
        panic!("{objects:?}")
    };
    assert!(
        full.contains("teams=100") && full.contains("threads=128"),
        "{full}"
    );
    assert!(any.contains("i64:0x7"), "{any}");
    let (objects, variant_runs) = launch_until_settled(other, 3000);
    assert!(
        !variant_runs && objects.len() == 2,
        "both are slower: {objects:?}"
    );

    // When the image is loaded again, as in a later run, the first is not tried again.
    let compiled = || {
        let compiled = COMPILED.lock().unwrap();
        compiled.iter().filter(|object| object.contains(name)).count()
    };
    assert_eq!(compiled(), 4);
    let [kernel, other] = image_copies(attached);
    assert_eq!(launch_until_variant(kernel, 7, 10), *any);
    let mut late = Vec::new();
    wait_until("a verdict is forgotten", || {
        settled(other, 7) == Some(false) || {
            // Of a kernel that was launched once nobody knows whether it will be again.
            launch(other, 7, &mut Vec::new(), 10).is_some()
        }
    });
    assert_eq!(launch(other, 7, &mut late, 10), None);
    assert_eq!(compiled(), 4, "all is in the cache");
}

#[test]
fn where_a_variant_is_declined_one_for_any_number_of_teams_is_tried() {
    let [kernel, _] = kernels_on_devices("__omp_offloading_1_2_needs_much_l1");
    let object = launch_until_variant(kernel, 7, 10);
    assert!(!object.contains("teams="), "{object}");
}
