//! The two forms of a variant: the second is tried where the first is clearly slower.

use std::thread;
use std::time::{Duration, Instant};

use offloom_jit_policy::kernel_on_device::KernelOnDevice;

use crate::double::{COMPILED, Double, attach, image_copies, launch_teams, report};

type Kernel = &'static KernelOnDevice<Double>;

/// Whether a variant relies on the number of teams.
fn is_full(object: &str) -> bool {
    object.contains("teams=")
}

/// Launches until launches that are reported at once are no longer timed, and no code is on its way. Full
/// variants take `full` nanoseconds, others `any`, the ahead-of-time code 1000. Returns the objects that ran,
/// each once, in order, and whether the last of them is what launches run now.
fn launch_until_settled(kernel: Kernel, teams: u32, full: u64, any: u64) -> (Vec<String>, bool) {
    let mut objects = Vec::<String>::new();
    let mut untimed = 0;
    let patience = Instant::now();
    loop {
        let mut late = Vec::new();
        let ran = launch_teams(kernel, 7, teams, &mut late, any);
        if let (Some(object), Some((_, nanoseconds))) = (&ran, late.last_mut())
            && is_full(object)
        {
            *nanoseconds = full;
        }
        untimed = if late.is_empty() { untimed + 1 } else { 0 };
        report(kernel, &mut late);
        if let Some(object) = ran.as_ref().filter(|object| objects.last() != Some(object)) {
            objects.push(object.clone());
        }
        // Code comes within 25 ms.
        if untimed >= 200 {
            return (objects, ran.is_some());
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "{objects:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn compiled(name: &str) -> usize {
    let compiled = COMPILED.lock().unwrap();
    compiled.iter().filter(|object| object.contains(name)).count()
}

#[test]
fn where_a_variant_is_clearly_slower_one_for_any_number_of_teams_is_tried() {
    let name = "__omp_offloading_1_2_forms_l1";
    let attached = attach(name);
    let [kernel, other] = image_copies(attached);
    let (objects, variant_runs) = launch_until_settled(kernel, 100, 5000, 10);
    let [full, any] = &objects[..] else {
        panic!("{objects:?}")
    };
    assert!(is_full(full) && full.contains("threads=128"), "{full}");
    assert!(any.contains("i64:0x7"), "{any}");
    assert!(!is_full(any) && !any.contains("threads="), "{any}");
    assert!(variant_runs, "the second is faster");
    let (objects, variant_runs) = launch_until_settled(other, 100, 5000, 3000);
    assert_eq!(objects.len(), 2, "{objects:?}");
    assert!(!variant_runs, "both are slower");
    assert_eq!(compiled(name), 4);

    // When the image is loaded again, as in a later run, what was slower is not tried again.
    let [kernel, other] = image_copies(attached);
    assert_eq!(
        launch_until_settled(kernel, 100, 5000, 10),
        (vec![any.clone()], true)
    );
    assert_eq!(launch_until_settled(other, 100, 5000, 10), (Vec::new(), false));
    assert_eq!(compiled(name), 4, "all is in the cache");
}

#[test]
fn a_verdict_on_the_second_form_holds_for_one_number_of_teams() {
    let [kernel, _] = image_copies(attach("__omp_offloading_1_2_numbers_l1"));
    let (objects, variant_runs) = launch_until_settled(kernel, 1, 5000, 5000);
    assert!(
        objects.len() == 2 && !variant_runs,
        "both are slower: {objects:?}"
    );
    let (objects, variant_runs) = launch_until_settled(kernel, 1000, 5000, 10);
    assert!(
        objects.len() == 2 && variant_runs,
        "with more teams the second is faster: {objects:?}"
    );
}

#[test]
fn where_it_is_not_clear_which_is_faster_no_other_form_is_tried() {
    let name = "__omp_offloading_1_2_close_l1";
    let [kernel, _] = image_copies(attach(name));
    let (objects, variant_runs) = launch_until_settled(kernel, 100, 1050, 10);
    assert!(objects.len() == 1 && !variant_runs, "{objects:?}");
    assert_eq!(compiled(name), 1);
}
