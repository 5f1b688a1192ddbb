//! Kernels about threads, against what the PTX ISA says and what a real H100 answered.

mod common;

use common::{Device, kernel};
use offloom_virtual_gpu::{FaultKind, ReportKind, Schedule};

fn device() -> Device {
    Device::of(include_str!("data/threads.ptx"))
}

fn with_seeds(check: impl Fn(&Device)) {
    let mut device = device();
    check(&device);
    for seed in 0..20 {
        device.options.schedule = Schedule::Random { seed };
        check(&device);
    }
}

/// The word of each of the 128 threads.
fn expect(device: &Device, kernel: &str, word: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..128).map(word).collect();
    assert_eq!(device.run(kernel, 1, 128), expected, "{kernel}");
}

#[test]
fn lanes_that_have_exited_count_as_arrived() {
    // The H100's answer is in the golden file: the odd lanes' words stay, the even lanes pass the barrier.
    with_seeds(|device| {
        expect(device, "exited_lanes_barrier", |x| {
            if x % 2 == 1 { 0xEEEE_EEEE } else { 1 }
        });
    });
}

#[test]
fn lanes_that_are_alive_do_not_count() {
    // The H100 did not end this kernel.
    with_seeds(|device| {
        let output = device.words(&[0; 128]);
        let fault = device
            .launch("one_lane_named_barrier", 1, 128, &[output])
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Watchdog);
        assert!(
            fault.text.contains("all live threads of the block wait"),
            "{fault}"
        );
        assert!(fault.text.contains("line 19: 95 waiting at barrier 0"), "{fault}");
    });
}

#[test]
fn active_lanes_part_and_meet() {
    let device = device();
    expect(&device, "activemask_branch", |x| {
        if x % 32 < 10 { 0x3FF } else { !0x3FF }
    });
    expect(&device, "activemask_loop", |x| u32::MAX << (x % 32));
    expect(&device, "activemask_after_join", |_| u32::MAX);
}

#[test]
fn members_of_a_mask_wait_for_each_other() {
    with_seeds(|device| {
        expect(device, "ballot_subset", |x| {
            if (4..12).contains(&(x % 32)) {
                0xAA0
            } else {
                0xEEEE_EEEE
            }
        });
        expect(device, "match_any", |x| {
            let group = x % 32 / 5;
            (0..32)
                .filter(|lane| lane / 5 == group)
                .fold(0, |mask, lane| mask | 1 << lane)
        });
        expect(device, "redux_add", |x| (x / 32 * 32..x / 32 * 32 + 32).sum());
        expect(device, "bar_red_popc", |_| 64);
    });
}

#[test]
fn shuffles() {
    const VALID: u32 = 0x8000_0000;
    with_seeds(|device| {
        expect(device, "shfl_down", |x| {
            if x % 32 + 5 <= 31 {
                (x + 105) | VALID
            } else {
                x + 100
            }
        });
        expect(device, "shfl_down_width8", |x| {
            if x % 8 + 3 <= 7 {
                (x + 103) | VALID
            } else {
                x + 100
            }
        });
        expect(device, "shfl_up", |x| {
            if x % 32 >= 5 { (x + 95) | VALID } else { x + 100 }
        });
        expect(device, "shfl_bfly", |x| ((x ^ 7) + 100) | VALID);
        expect(device, "shfl_idx_big", |x| {
            (x / 32 * 32 + (x + 40) % 32 + 100) | VALID
        });
    });
}

#[test]
fn a_lane_that_spins_for_another_goes_on() {
    with_seeds(|device| {
        expect(device, "spin_between_lanes", |x| match x {
            0 => 1,
            1 => 2,
            _ => 0xEEEE_EEEE,
        });
    });
}

#[test]
fn shared_memory_and_atomics() {
    with_seeds(|device| {
        let stored = device.run("same_address_store", 1, 128);
        assert!(
            stored[0] < 32 && stored.iter().all(|&word| word == stored[0]),
            "{stored:?}"
        );
        let mut order = device.run("atomic_add_order", 1, 128);
        order.sort_unstable();
        assert_eq!(order, (0..128).collect::<Vec<u32>>());
        // 128 increments of a counter that goes from 0 to 5.
        expect(device, "atomic_inc_dec", |_| 128 % 6);
    });
}

#[test]
fn special_registers() {
    expect(&device(), "special_registers", |x| {
        let lane = x % 32;
        lane ^ ((1 << lane) - 1) ^ (128 << 8) ^ (1 << 20)
    });
}

#[test]
fn nobody_has_written_what_a_block_finds() {
    let device = device();
    for kernel in ["uninitialised_shared", "uninitialised_local"] {
        let output = device.words(&[0; 128]);
        let statistics = device.launch(kernel, 1, 128, &[output]).unwrap();
        let reports: Vec<String> = statistics.reports.iter().map(ToString::to_string).collect();
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert!(
            reports[0].contains("uninitialised bytes are stored to global memory"),
            "{reports:?}"
        );
        assert!(
            reports[0].contains(kernel) && reports[0].contains("thread (0, 0, 0)"),
            "{reports:?}"
        );
        assert!(device.read(output, 128).iter().all(|&word| word != 0));
    }
    let output = device.words(&[0; 128]);
    assert!(
        device
            .launch("dirty_shared", 1, 128, &[output])
            .unwrap()
            .reports
            .is_empty()
    );
}

/// Two threads of a warp reduce over all of it while the others wait for them, as LLVM's runtime does with
/// `num_threads(2)`.
#[test]
fn exchanges_go_on_without_threads_at_barriers() {
    let device = Device::new(&kernel(
        "setp.gt.u32 %p1,%x,1; @%p1 bra WAIT; add.u32 %r1,%x,40; shfl.sync.down.b32 %r0,%r1,1,31,-1; WAIT: bar.sync 0;",
    ));
    let output = device.words(&[7; 64]);
    let statistics = device.launch("k", 1, 64, &[output]).unwrap();
    let words = device.read(output, 64);
    // The second thread's partner is away: undefined, here its own value.
    assert_eq!((words[0], words[2], words[63]), (41, 0, 0));
    let kinds: Vec<_> = statistics.reports.iter().map(|report| report.kind).collect();
    assert_eq!(kinds, [ReportKind::AbsentMembers]);
}
