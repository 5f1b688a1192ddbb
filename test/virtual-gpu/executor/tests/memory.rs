//! Memory accesses, atomics, unwritten bits, and what goes wrong.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{Device, kernel};
use offloom_virtual_gpu::{
    FaultKind, Launch, LaunchOptions, Memory, Owner, Poison, ReportKind, Schedule, launch,
};

fn run(code: &str, threads: u32) -> Vec<u32> {
    Device::new(&kernel(code)).run("k", 1, threads)
}

/// The fault of a kernel whose code this is.
fn fault(code: &str, threads: u32) -> (FaultKind, String) {
    let device = Device::new(&kernel(code));
    let output = device.words(&vec![0; threads as usize]);
    let fault = device.launch("k", 1, threads, &[output]).unwrap_err();
    (fault.kind, fault.to_string())
}

#[test]
fn loads_extend_by_their_type() {
    let store = "mov.u64 %d1,0xFEDCBA9876543280; st.global.u32 [%out],%d1;";
    assert_eq!(
        run(&format!("{store} ld.global.s8 %r0,[%out];"), 1),
        [0xFFFF_FF80]
    );
    assert_eq!(run(&format!("{store} ld.global.u8 %r0,[%out];"), 1), [0x80]);
    assert_eq!(run(&format!("{store} ld.global.s16 %r0,[%out+2];"), 1), [0x7654]);
    assert_eq!(
        run(&format!("{store} ld.s8 %h1,[%out]; cvt.u32.u16 %r0,%h1;"), 1),
        [0xFF80]
    );
    assert_eq!(
        run(
            &format!("{store} ld.s32 %d2,[%out]; shr.u64 %d3,%d2,32; cvt.u32.u64 %r0,%d3;"),
            1
        ),
        [0]
    );
}

#[test]
fn vectors_shared_and_generic_addresses() {
    let code = ".shared .align 16 .b8 buffer[512];
        mov.u32 %r1,buffer; shl.b32 %r2,%l,4; add.u32 %r1,%r1,%r2; cvt.u64.u32 %d1,%r1;
        st.shared.v4.u32 [%r1],{%x,1,%l,3}; cvta.shared.u64 %d2,%d1; ld.v4.u32 {%r3,%r4,%r5,%r6},[%d2];
        cvta.to.shared.u64 %d3,%d2; ld.shared.v2.u32 {%r7,%r8},[%d3];
        add.u32 %r0,%r3,%r4; add.u32 %r0,%r0,%r5; add.u32 %r0,%r0,%r6; add.u32 %r0,%r0,%r7; add.u32 %r0,%r0,%r8;
        isspacep.shared %p1,%d2; isspacep.global %p2,%out; isspacep.global %p3,%d2; and.pred %p1,%p1,%p2; not.pred %p3,%p3;
        and.pred %p1,%p1,%p3; @!%p1 mov.u32 %r0,0;";
    assert_eq!(run(code, 32), (0..32).map(|x| 3 * x + 5).collect::<Vec<u32>>());
}

#[test]
fn dynamic_shared_memory_follows_the_static() {
    let text = format!(
        "{}.extern .shared .align 8 .b8 dynamic[];\n.shared .u32 fixed;\n{}",
        common::HEADER,
        kernel(
            "mov.u32 %r1,dynamic; shl.b32 %r2,%x,2; add.u32 %r1,%r1,%r2; st.shared.u32 [fixed],77; st.shared.u32 [%r1],%x;
            bar.sync 0; ld.shared.u32 %r3,[%r1]; ld.shared.u32 %r4,[fixed]; add.u32 %r0,%r3,%r4; mov.u32 %r5,%dynamic_smem_size;
            add.u32 %r0,%r0,%r5;"
        )
    );
    let device = Device::of(&text);
    let output = device.words(&[0; 64]);
    let mut shape = Launch {
        kernel: "k",
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes: 256,
        parameters: &output.to_le_bytes(),
    };
    launch(&device.program, &shape, &device.options).unwrap();
    assert_eq!(
        device.read(output, 64),
        (0..64).map(|x| x + 77 + 256).collect::<Vec<u32>>()
    );
    shape.dynamic_shared_bytes = 252;
    let fault = launch(&device.program, &shape, &device.options).unwrap_err();
    assert_eq!(
        (fault.kind, fault.place.thread),
        (FaultKind::IllegalAddress, [63, 0, 0]),
        "{fault}"
    );
    shape.dynamic_shared_bytes = 1 << 20;
    let fault = launch(&device.program, &shape, &device.options).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TooManyResources);
    assert_eq!(device.program.kernel("k").unwrap().shared_bytes, 4);
}

#[test]
fn atomics_of_all_blocks_add_up() {
    let text = format!(
        ".visible .global .u64 counters[8];\n{}",
        kernel(
            "mov.u64 %d1,counters; atom.global.add.u32 %r1,[%d1],1; red.global.add.u64 [%d1+8],2; mov.f64 %g1,0d3FE0000000000000;
            atom.add.f64 %g2,[%d1+16],%g1; atom.global.max.s32 %r2,[%d1+24],%x; atom.global.min.s32 %r2,[%d1+28],-5;
            atom.or.b32 %r3,[%d1+32],%l; mov.f32 %f1,0f3F800000; red.global.add.f32 [%d1+36],%f1; atom.global.exch.b64 %d2,[%d1+40],9;
            LOOP: ld.global.u32 %r4,[%d1+48]; add.u32 %r5,%r4,3; atom.global.cas.b32 %r6,[%d1+48],%r4,%r5; setp.ne.u32 %p1,%r6,%r4; @%p1 bra LOOP;"
        )
    );
    let mut device = Device::new(&text);
    for schedule in [Schedule::Converging, Schedule::Random { seed: 3 }] {
        device.options.schedule = schedule;
        let global = device.program.global("counters").unwrap().clone();
        device
            .memory
            .write(global.address, &vec![0; global.size as usize])
            .unwrap();
        device.run("k", 20, 100);
        let words = device.read(global.address, 14);
        let sum = f64::from_bits(u64::from(words[4]) | u64::from(words[5]) << 32);
        assert_eq!((words[0], words[2], sum), (2000, 4000, 1000.0));
        assert_eq!((words[6], words[7] as i32, words[8]), (99, -5, 31));
        assert_eq!(
            (f32::from_bits(words[9]), words[10], words[12]),
            (2000.0, 9, 6000)
        );
    }
}

#[test]
fn atomics_on_two_bytes() {
    let code = "mov.u16 %h1,5; mov.u16 %h2,9; st.global.u32 [%out],0x00070005; atom.global.cas.b16 %h3,[%out],%h1,%h2; ld.global.u32 %r0,[%out];";
    assert_eq!(run(code, 1), [0x0007_0009]);
}

#[test]
fn a_block_that_waits_for_another_goes_on() {
    // Each block waits until the next one has come; the last lets all go.
    let text = format!(
        ".global .u32 flag;\n{}",
        kernel(
            "mov.u32 %r1,%ctaid.x; mov.u32 %r2,%nctaid.x; sub.u32 %r2,%r2,1; setp.ne.u32 %p1,%r1,%r2; @%p1 bra WAIT;
            st.volatile.global.u32 [flag],1; bra END;
            WAIT: ld.volatile.global.u32 %r3,[flag]; setp.eq.u32 %p2,%r3,0; @%p2 bra WAIT; mov.u32 %r0,1;"
        )
    );
    for workers in [1, 2] {
        let mut device = Device::new(&text);
        device.options.workers = workers;
        assert_eq!(device.run("k", 4, 1).len(), 4);
    }
}

#[test]
fn carries() {
    let code = "add.cc.u32 %r1,0xFFFFFFFF,2; addc.u32 %r2,5,0; sub.cc.u32 %r3,1,2; subc.u32 %r4,10,0;
        mad.lo.cc.u32 %r5,0x10000,0x10000,7; madc.hi.u32 %r6,0x10000,0x10000,0; mad.lo.cc.u32 %r7,3,5,0xFFFFFFFF; madc.hi.cc.u32 %r8,1,1,4;
        addc.u32 %r9,0,0;
        shl.b32 %r2,%r2,4; shl.b32 %r4,%r4,8; shl.b32 %r6,%r6,16; shl.b32 %r8,%r8,20;
        or.b32 %r0,%r1,%r2; or.b32 %r0,%r0,%r4; or.b32 %r0,%r0,%r6; or.b32 %r0,%r0,%r8; shl.b32 %r9,%r9,28; or.b32 %r0,%r0,%r9;";
    // 1; 6; 9; 7 and 1 (no carry); 14 and 5 with the carry.
    assert_eq!(run(code, 1), [1 | 6 << 4 | 9 << 8 | 1 << 16 | 5 << 20]);
}

#[test]
fn branches_by_index_and_packed_registers() {
    let code = "and.b32 %r1,%x,3; targets: .branchtargets A, B, C, D; brx.idx %r1, targets;
        A: mov.u32 %r0,10; bra END; B: mov.u32 %r0,20; bra END; C: mov.u32 %r0,30; bra END; D: mov.u32 %r0,40;";
    assert_eq!(run(code, 6), [10, 20, 30, 40, 10, 20]);
    let code = "mov.b64 %d1,{%x,7}; mov.b64 {%r1,%r2},%d1; mov.b32 {%h1,%h2},0x00030002; cvt.u32.u16 %r3,%h2; mov.b32 %r4,{%h1,%h2};
        add.u32 %r0,%r1,%r2; add.u32 %r0,%r0,%r3; add.u32 %r0,%r0,%r4;";
    assert_eq!(run(code, 2), [7 + 3 + 0x30002, 8 + 3 + 0x30002]);
    let code =
        "setp.lt.and.u32 %p1|%p2,%x,2,1; selp.u32 %r1,1,0,%p1; selp.u32 %r2,2,0,%p2; add.u32 %r0,%r1,%r2;";
    assert!(Device::new(&kernel(code)).program.unsupported().next().is_none());
    // -2 and 1.5 with 4 and 0.25, each half its own answer; combined with another one.
    for (combined, expected) in [("", [2, 2]), (".and", [2, 0]), (".or", [2, 3])] {
        let with = if combined.is_empty() { "" } else { ",%p3" };
        let code = format!(
            "setp.eq.u32 %p3,%x,{lane}; mov.b32 %r1,0x3E00C000; mov.b32 %r2,0x34004400;
            setp.gt{combined}.f16x2 %p1|%p2,%r1,%r2{with}; selp.u32 %r1,1,0,%p1; selp.u32 %r2,2,0,%p2; add.u32 %r0,%r1,%r2;",
            lane = u32::from(combined == ".or"),
        );
        assert_eq!(run(&code, 2), expected, "{combined}");
    }
}

#[test]
fn addresses_that_are_wrong() {
    let (kind, text) = fault(
        "mov.u64 %d1,16; setp.eq.u32 %p1,%x,3; @%p1 ld.global.u32 %r0,[%d1];",
        8,
    );
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(
        text.contains("test.ptx:8 (`ld.global.u32`), block (0, 0, 0), thread (3, 0, 0)"),
        "{text}"
    );
    assert!(
        text.contains("4 bytes at 0x10, where no live allocation is"),
        "{text}"
    );
    let (kind, text) = fault("ld.global.u32 %r0,[%out+4];", 32);
    assert!(
        kind == FaultKind::IllegalAddress && text.contains("thread (31, 0, 0)"),
        "{text}"
    );
    let (kind, text) = fault("st.u32 [%out+2],1;", 1);
    assert!(
        kind == FaultKind::MisalignedAddress && text.contains("is no multiple of 4"),
        "{text}"
    );
    let (kind, _) = fault("ld.global.v2.u32 {%r1,%r2},[%out+4];", 4);
    assert_eq!(kind, FaultKind::MisalignedAddress);
    for code in [
        "mov.u32 %r1,0; ld.shared.u32 %r0,[%r1];",
        "mov.u32 %r1,4; ld.local.u32 %r0,[%r1];",
        "mov.u64 %d1,k; ld.u32 %r0,[%d1];",
    ] {
        let (kind, text) = fault(code, 1);
        assert_eq!(kind, FaultKind::IllegalAddress, "{text}");
    }
    assert_eq!(fault("trap;", 1).0, FaultKind::Trap);
    let (kind, text) = fault("wgmma.fence.sync.aligned;", 1);
    assert!(
        kind == FaultKind::IllegalInstruction && text.contains("`wgmma.fence.sync.aligned`"),
        "{text}"
    );
}

#[test]
fn freed_memory_and_memory_of_the_host() {
    let device = Device::new(&kernel("ld.global.u64 %d1,[%out]; ld.global.u32 %r0,[%d1];"));
    let memory: &Memory = &device.memory;
    let pinned = memory.allocate(64, Owner::Host).unwrap();
    memory.write(pinned, &42_u32.to_le_bytes()).unwrap();
    let pointer = |address: u64| device.words(&[address as u32, (address >> 32) as u32]);
    let output = pointer(pinned);
    device.launch("k", 1, 1, &[output]).unwrap();
    assert_eq!(device.read(output, 1), [42]);
    memory.free(pinned).unwrap();
    let fault = device.launch("k", 1, 1, &[pointer(pinned)]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}

#[test]
fn launches_that_cannot_be() {
    let text = kernel("").replace(")\n{", ")\n.maxntid 64, 1, 1\n{");
    let device = Device::new(&text);
    let output = device.words(&[0; 2048]);
    for (block, parameters, kind) in [
        (65, &[output][..], FaultKind::TooManyResources),
        (1025, &[output], FaultKind::InvalidLaunch),
        (0, &[output], FaultKind::InvalidLaunch),
        (1, &[], FaultKind::InvalidLaunch),
    ] {
        assert_eq!(
            device.launch("k", 1, block, parameters).unwrap_err().kind,
            kind,
            "{block}"
        );
    }
    assert_eq!(
        device.launch("none", 1, 1, &[output]).unwrap_err().kind,
        FaultKind::InvalidLaunch
    );
    let kernel = device.program.kernel("k").unwrap();
    assert_eq!(
        (
            kernel.max_threads_per_block,
            kernel.parameters.len(),
            kernel.parameter_bytes
        ),
        (64, 1, 8)
    );
    device.launch("k", 1, 64, &[output]).unwrap();
}

#[test]
fn endless_loops_end() {
    let mut device = Device::new(&kernel("LOOP: bra LOOP;"));
    let output = device.words(&[0]);
    device.options.instruction_limit = Some(100_000);
    let ended = device.launch("k", 1, 1, &[output]).unwrap_err();
    assert_eq!(
        (ended.kind, ended.place.line),
        (FaultKind::Watchdog, 8),
        "{ended}"
    );
    device.options.instruction_limit = None;
    device.options.time_limit = Some(std::time::Duration::from_millis(50));
    assert_eq!(
        device.launch("k", 3, 1, &[output]).unwrap_err().kind,
        FaultKind::Watchdog
    );
    // A lane that waits at another barrier than the rest of its warp.
    let (kind, text) = fault("setp.eq.u32 %p1,%x,0; @%p1 bar.sync 1; bar.sync 0;", 32);
    assert!(
        kind == FaultKind::Watchdog && text.contains("31 waiting at barrier 0"),
        "{text}"
    );
}

/// What is reported of a kernel whose code this is.
fn reports(code: &str) -> Vec<ReportKind> {
    let device = Device::new(&kernel(code));
    let output = device.words(&[0; 32]);
    let statistics = device.launch("k", 1, 32, &[output]).unwrap();
    statistics.reports.iter().map(|report| report.kind).collect()
}

#[test]
fn the_use_of_unwritten_bits_is_reported() {
    const SHARED: &str =
        ".shared .align 8 .b8 s[64]; .local .align 8 .b8 t[64]; ld.shared.u32 %r1,[s]; mov.u32 %r0,5;";
    let reported = |code: &str| reports(&format!("{SHARED} {code}"));
    assert_eq!(
        reported("setp.eq.u32 %p1,%r1,0; @%p1 bra END;"),
        [ReportKind::PoisonDecision]
    );
    assert_eq!(
        reported("and.b32 %r2,%r1,7; add.u32 %r2,%r2,1; setp.gt.u32 %p1,%r2,3; @%p1 bra END;"),
        [ReportKind::PoisonDecision]
    );
    assert_eq!(
        reported("and.b32 %r2,%r1,4; mov.u32 %r3,s; add.u32 %r3,%r3,%r2; ld.shared.u32 %r4,[%r3];"),
        [ReportKind::PoisonAddress]
    );
    assert_eq!(reported("st.global.u32 [%out],%r1;"), [ReportKind::PoisonStore]);
    assert_eq!(
        reported("ld.local.u32 %r2,[t]; st.shared.u32 [s],%r2; ld.shared.u32 %r0,[s];"),
        [ReportKind::PoisonStore]
    );
    assert_eq!(
        reported("shfl.sync.idx.b32 %r0,%r1,0,31,0xffffffff;"),
        [ReportKind::PoisonStore]
    );
    assert_eq!(
        reported("setp.eq.u32 %p1,%r9,0; @%p1 bra END;"),
        [ReportKind::PoisonDecision],
        "a register"
    );

    // What was written is no poison, and copies, masks and what a written zero decides are no use.
    assert_eq!(
        reported(
            "st.shared.u32 [s],1; bar.sync 0; ld.shared.u32 %r1,[s]; setp.eq.u32 %p1,%r1,0; @%p1 bra END;"
        ),
        []
    );
    assert_eq!(
        reported("and.b32 %r2,%r1,0; setp.eq.u32 %p1,%r2,0; @%p1 bra END;"),
        []
    );
    assert_eq!(
        reported("or.b32 %r2,%r1,0xFFFF; and.b32 %r2,%r2,0xFF; setp.eq.u32 %p1,%r2,0; @%p1 bra END;"),
        []
    );
    assert_eq!(reported("ld.shared.u64 %d1,[s+8]; st.shared.u64 [s+16],%d1;"), []);
    // One byte of a word is written: the word goes on as it is, and the byte may decide.
    assert_eq!(
        reported("st.local.u8 [t+1],3; ld.local.u32 %r2,[t]; st.global.u32 [%out],%r2;"),
        []
    );
    assert_eq!(
        reported(
            "st.local.u8 [t+1],3; ld.local.u32 %r2,[t]; shr.u32 %r2,%r2,8; and.b32 %r2,%r2,255; setp.eq.u32 %p1,%r2,0; @%p1 bra END;"
        ),
        []
    );
    assert_eq!(
        reported(
            "st.local.u8 [t+1],3; ld.local.u32 %r2,[t]; shr.u32 %r2,%r2,4; and.b32 %r2,%r2,255; setp.eq.u32 %p1,%r2,0x30; @%p1 bra END;"
        ),
        [ReportKind::PoisonDecision]
    );
    assert_eq!(
        reported("setp.eq.u32 %p1,%r1,0; setp.eq.u32 %p2,%x,99; and.pred %p3,%p1,%p2; @%p3 bra END;"),
        []
    );
}

#[test]
fn the_use_of_unwritten_bits_may_be_a_fault() {
    let mut device = Device::new(&kernel(
        ".shared .u32 s; ld.shared.u32 %r1,[s]; setp.eq.u32 %p1,%r1,0; @%p1 bra END;",
    ));
    let output = device.words(&[0; 32]);
    device.options.poison = Poison::Fault;
    assert_eq!(
        device.launch("k", 1, 32, &[output]).unwrap_err().kind,
        FaultKind::Poison
    );
    device.options.poison = Poison::Off;
    assert!(device.launch("k", 1, 32, &[output]).unwrap().reports.is_empty());
}

#[test]
fn each_block_and_each_call_begins_unwritten() {
    let text = format!(
        ".func (.param .b32 r) f(.param .b32 a)\n{{ .reg .b32 %r<4>; .local .align 4 .b8 t[4]; .reg .pred %p; ld.param.b32 %r1,[a]; ld.local.u32 %r2,[t];
        st.local.u32 [t],%r1; setp.eq.u32 %p,%r1,1; selp.b32 %r3,%r2,%r1,%p; st.param.b32 [r],%r3; ret; }}\n{}",
        kernel(
            "{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0],0; call.uni (q0), f, (p0); ld.param.b32 %r1,[q0]; }
            { .param .b32 p0; .param .b32 q0; st.param.b32 [p0],1; call.uni (q0), f, (p0); ld.param.b32 %r0,[q0]; }"
        )
    );
    let device = Device::new(&text);
    let output = device.words(&[0; 32]);
    let reports = device.launch("k", 3, 32, &[output]).unwrap().reports;
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].kind, ReportKind::PoisonStore);
}

#[test]
fn threads_that_end_in_functions_are_reported() {
    let text = format!(
        ".func f()\n{{ exit; }}\n{}",
        kernel("setp.gt.u32 %p1,%x,3; @%p1 call.uni f;")
    );
    let device = Device::new(&text);
    let output = device.words(&[7; 32]);
    let statistics = device.launch("k", 1, 32, &[output]).unwrap();
    assert_eq!(statistics.reports.len(), 1);
    assert_eq!(
        (statistics.reports[0].kind, &*statistics.reports[0].place.function),
        (ReportKind::ExitInFunction, "f")
    );
    assert_eq!(device.read(output, 6), [0, 0, 0, 0, 7, 7]);
}

#[test]
fn random_orders_are_the_same_for_a_seed() {
    let text = format!(
        ".global .u32 counter;\n{}",
        kernel(
            "atom.global.add.u32 %r1,[counter],1; atom.global.add.u32 %r2,[counter],1; mad.lo.u32 %r0,%r1,1000,%r2;"
        )
    );
    let order = |seed| {
        let mut device = Device::new(&text);
        device.options = LaunchOptions {
            workers: 1,
            schedule: Schedule::Random { seed },
            ..LaunchOptions::default()
        };
        device.run("k", 1, 128)
    };
    let orders: Vec<_> = (0..8).map(order).collect();
    assert_eq!(orders, (0..8).map(order).collect::<Vec<_>>());
    assert!(
        orders.iter().any(|order| *order != orders[0]),
        "all orders are the same"
    );
}

#[test]
fn memory_of_the_process_is_reached_where_it_is_let() {
    let device = Device::new(&kernel(
        "ld.u64 %d1,[%out]; st.u32 [%d1],%x; ld.u32 %r0,[%d1]; add.u32 %r0,%r0,5;",
    ));
    let mut value = [1_u32, 2];
    let address = value.as_mut_ptr().expose_provenance() as u64;
    let output = device.words(&[address as u32, (address >> 32) as u32]);
    let run = || {
        device
            .launch("k", 1, 1, &[output])
            .map_err(|fault| fault.kind)
            .map(drop)
    };
    assert_eq!(run(), Err(FaultKind::IllegalAddress));

    device.memory.register(address, 4).unwrap();
    assert_eq!(run(), Ok(()));
    assert_eq!(device.read(output, 1), [5]);
    device.memory.unregister(address);
    device.memory.write(output, &address.to_le_bytes()).unwrap();
    assert_eq!(run(), Err(FaultKind::IllegalAddress));

    device.memory.set_reaches_host(true);
    assert_eq!(run(), Ok(()));
    device.memory.write(output, &64_u64.to_le_bytes()).unwrap();
    assert_eq!(run(), Err(FaultKind::IllegalAddress));
    assert!(device.memory.register(64, 4).is_err());
    assert_eq!(std::hint::black_box(&value)[0], 0);
}
