//! Calls: direct, recursive, through pointers; stack; functions of the device.

mod common;

use common::{Device, kernel};
use offloom_virtual_gpu::{FaultKind, Memory};

const FUNCTIONS: &str = "
.func (.param .b32 r) add_one(.param .b32 a)
{
.reg .b32 %r<3>;
ld.param.b32 %r1,[a]; add.s32 %r2,%r1,1; st.param.b32 [r],%r2; ret;
}
.func (.param .b32 r) twice(.param .b32 a)
{
.reg .b32 %r<3>;
ld.param.b32 %r1,[a]; add.s32 %r2,%r1,%r1; st.param.b32 [r],%r2; ret;
}
.func (.param .b32 r) factorial(.param .b32 a)
{
.reg .b32 %r<5>; .reg .pred %p;
ld.param.b32 %r1,[a]; mov.b32 %r2,1; setp.lt.u32 %p,%r1,2; @%p bra DONE;
sub.u32 %r3,%r1,1;
{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0],%r3; call.uni (q0), factorial, (p0); ld.param.b32 %r4,[q0]; }
mul.lo.u32 %r2,%r1,%r4;
DONE: st.param.b32 [r],%r2; ret;
}
.func endless()
{
call.uni endless; ret;
}
.func (.param .align 8 .b8 r[16]) swapped(.param .align 8 .b8 a[16])
{
.reg .b64 %d<3>;
ld.param.v2.b64 {%d1,%d2},[a]; st.param.b64 [r],%d2; st.param.b64 [r+8],%d1; ret;
}
.func (.reg .u32 r) in_registers(.reg .u32 a, .reg .u32 b)
{
sub.u32 r,a,b; ret;
}
.global .u64 table[2] = {add_one, twice};
";

fn device(code: &str) -> Device {
    Device::new(&format!("{FUNCTIONS}{}", kernel(code)))
}

#[test]
fn direct_calls() {
    let device = device(
        "{ .param .b32 p0; .param .b32 q0; st.param.b32 [p0],%x; call.uni (q0), add_one, (p0); ld.param.b32 %r0,[q0]; }",
    );
    assert_eq!(device.run("k", 1, 40), (1..41).collect::<Vec<u32>>());
}

#[test]
fn only_some_lanes_call() {
    let device = device(
        "and.b32 %r1,%x,1; setp.eq.u32 %p1,%r1,0; mov.u32 %r0,7; @%p1 bra END;
        { .param .b32 p0; .param .b32 q0; st.param.b32 [p0],%x; call.uni (q0), twice, (p0); ld.param.b32 %r0,[q0]; }",
    );
    let expected: Vec<u32> = (0..32).map(|x| if x % 2 == 0 { 7 } else { 2 * x }).collect();
    assert_eq!(device.run("k", 1, 32), expected);
}

#[test]
fn lanes_recur_to_different_depths() {
    let device = device(
        "rem.u32 %r1,%x,10;
        { .param .b32 p0; .param .b32 q0; st.param.b32 [p0],%r1; call.uni (q0), factorial, (p0); ld.param.b32 %r0,[q0]; }",
    );
    let expected: Vec<u32> = (0..64).map(|x| (1..=x % 10).product()).collect();
    assert_eq!(device.run("k", 1, 64), expected);
}

#[test]
fn calls_through_pointers_go_different_ways() {
    let device = device(
        "and.b32 %r1,%x,1; mul.wide.u32 %d1,%r1,8; mov.u64 %d2,table; add.u64 %d2,%d2,%d1; ld.global.u64 %d3,[%d2];
        { .param .b32 p0; .param .b32 q0; st.param.b32 [p0],%x; proto: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (q0), %d3, (p0), proto; ld.param.b32 %r0,[q0]; }",
    );
    let expected: Vec<u32> = (0..32).map(|x| if x % 2 == 0 { x + 1 } else { 2 * x }).collect();
    assert_eq!(device.run("k", 1, 32), expected);
}

#[test]
fn structures_and_registers_are_passed() {
    let device = device(
        "{ .param .align 8 .b8 p0[16]; .param .align 8 .b8 q0[16]; cvt.u64.u32 %d1,%x; mov.u64 %d2,1000;
        st.param.v2.b64 [p0],{%d1,%d2}; call.uni (q0), swapped, (p0); ld.param.b64 %d3,[q0]; ld.param.b64 %d4,[q0+8]; }
        sub.u64 %d5,%d3,%d4; cvt.u32.u64 %r1,%d5; call.uni (%r2), in_registers, (%r1, 1); mov.u32 %r0,%r2;",
    );
    assert_eq!(
        device.run("k", 1, 32),
        (0..32).map(|x| 999 - x).collect::<Vec<u32>>()
    );
}

#[test]
fn endless_recursion_overflows_the_stack() {
    let device = device("setp.eq.u32 %p1,%x,5; @%p1 call.uni endless;");
    let output = device.words(&[0; 32]);
    let fault = device.launch("k", 1, 32, &[output]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert_eq!(
        (&*fault.place.function, fault.place.thread),
        ("endless", [5, 0, 0]),
        "{fault}"
    );
}

#[test]
fn code_of_another_program_cannot_be_called() {
    let memory = Memory::new(&[1 << 20]);
    let call = "ld.global.u64 %d3,[%out];
        { .param .b32 p0; .param .b32 q0; st.param.b32 [p0],%x; proto: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (q0), %d3, (p0), proto; ld.param.b32 %r0,[q0]; }";
    let table = ".visible .global .u64 pointer = add_one;";
    let text = format!("{}{FUNCTIONS}{table}{}", common::HEADER, kernel(call));
    let (here, there) = (Device::with(&memory, &text), Device::with(&memory, &text));
    assert!(
        here.program.global("table").is_none(),
        "internal names are not found"
    );
    let pointer = |device: &Device| device.read(device.program.global("pointer").unwrap().address, 2);
    let output = here.words(&pointer(&here));
    here.launch("k", 1, 1, &[output]).unwrap();
    assert_eq!(here.read(output, 1), [1]);
    for (pointer, what) in [
        (pointer(&there), "a function of another module"),
        (vec![0x1234, 0], "no function"),
    ] {
        let output = here.words(&pointer);
        let fault = here.launch("k", 1, 1, &[output]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidProgramCounter);
        assert!(fault.text.ends_with(&format!("where {what} is")), "{fault}");
    }
}

#[test]
fn a_frame_is_each_threads_own() {
    let device = Device::new(&kernel(
        ".local .align 4 .b8 buffer[64];
        and.b32 %r1,%x,15; mul.wide.u32 %d1,%r1,4; mov.u64 %d2,buffer; add.u64 %d3,%d2,%d1; st.local.u32 [%d3],%x;
        cvta.local.u64 %d4,%d3; ld.u32 %r0,[%d4]; isspacep.local %p1,%d4; @!%p1 trap;",
    ));
    assert_eq!(device.run("k", 1, 64), (0..64).collect::<Vec<u32>>());
}

#[test]
fn alloca_gives_memory_back() {
    let device = Device::new(&kernel(
        "mov.u32 %r1,0;
        LOOP: stacksave.u64 %d1; mov.u64 %d2,256; alloca.u64 %d3,%d2,16; and.b64 %d4,%d3,15; setp.ne.u64 %p1,%d4,0; @%p1 trap;
        st.local.u32 [%d3],%r1; ld.local.u32 %r2,[%d3]; add.u32 %r0,%r0,%r2; stackrestore.u64 %d1;
        add.u32 %r1,%r1,1; setp.lt.u32 %p2,%r1,100; @%p2 bra LOOP;",
    ));
    assert_eq!(device.run("k", 1, 4), [4950; 4]);
    let device = Device::new(&kernel(
        "LOOP: mov.u64 %d2,256; alloca.u64 %d3,%d2,16; st.local.u32 [%d3],%x; bra LOOP;",
    ));
    let output = device.words(&[0; 4]);
    assert_eq!(
        device.launch("k", 1, 4, &[output]).unwrap_err().kind,
        FaultKind::StackOverflow
    );
}

const DEVICE_FUNCTIONS: &str = "
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc(.param .b64 a);
.extern .func free(.param .b64 a);
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 format[16] = {116, 32, 37, 100, 32, 37, 115, 32, 37, 103, 10};
.global .align 1 .b8 word[4] = {97, 98, 99};
";

#[test]
fn kernels_print_whole_strings() {
    // "t %d %s %g\n" with the thread, "abc" and 1.5.
    let device = Device::new(&format!(
        "{DEVICE_FUNCTIONS}{}",
        kernel(
            ".local .align 8 .b8 arguments[24]; mov.u64 %d1,arguments; st.local.u32 [%d1],%x;
            mov.u64 %d2,word; st.local.u64 [%d1+8],%d2; mov.f64 %g1,0d3FF8000000000000; st.local.f64 [%d1+16],%g1;
            cvta.local.u64 %d3,%d1; mov.u64 %d4,format;
            { .param .b64 p0; .param .b64 p1; .param .b32 q0; st.param.b64 [p0],%d4; st.param.b64 [p1],%d3;
            call.uni (q0), vprintf, (p0, p1); ld.param.b32 %r0,[q0]; }"
        )
    ));
    assert_eq!(device.run("k", 1, 3), [3; 3]);
    let printed = String::from_utf8(device.printed.lock().unwrap().clone()).unwrap();
    assert_eq!(printed, "t 0 abc 1.5\nt 1 abc 1.5\nt 2 abc 1.5\n");
}

#[test]
fn the_heap_gives_and_takes() {
    let allocate = "{ .param .b64 p0; .param .b64 q0; st.param.b64 [p0],%d1; call.uni (q0), malloc, (p0); ld.param.b64 %d2,[q0]; }";
    let give_back = "{ .param .b64 p0; st.param.b64 [p0],%d2; call.uni free, (p0); }";
    let device = Device::new(&format!(
        "{DEVICE_FUNCTIONS}{}",
        kernel(&format!(
            "mov.u64 %d1,40; {allocate} st.u32 [%d2+36],%x; ld.u32 %r0,[%d2+36]; {give_back}"
        ))
    ));
    let before = device.memory.total_and_free(0);
    assert_eq!(device.run("k", 1, 64), (0..64).collect::<Vec<u32>>());
    assert_eq!(device.memory.total_and_free(0).unwrap().0, before.unwrap().0);

    // More than the heap has: null, no fault.
    let device = Device::new(&format!(
        "{DEVICE_FUNCTIONS}{}",
        kernel(&format!(
            "mov.u64 %d1,1000000000; {allocate} setp.eq.u64 %p1,%d2,0; selp.u32 %r0,1,2,%p1;"
        ))
    ));
    assert_eq!(device.run("k", 1, 1), [1]);

    // Use after free, and freeing twice.
    for wrong in ["ld.u32 %r0,[%d2];", give_back] {
        let code = kernel(&format!("mov.u64 %d1,40; {allocate} {give_back} {wrong}"));
        let device = Device::new(&format!("{DEVICE_FUNCTIONS}{code}"));
        let output = device.words(&[0]);
        let fault = device.launch("k", 1, 1, &[output]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::IllegalAddress, "{fault}");
    }
}

/// As the runtime makes its table of thread states: what the first warp does after `malloc`, others do not
/// see before they have read.
#[test]
fn others_go_on_while_one_warp_allocates() {
    let code = kernel(
        "setp.ne.u32 %p1,%x,0; @%p1 bra READ; st.shared.u32 [table],0; READ: bar.sync 0; ld.shared.u32 %r1,[table]; @%p1 bra WAIT;
        { .param .b64 size; .param .b64 given; st.param.b64 [size],64; call.uni (given), malloc, (size); ld.param.b64 %d1,[given]; }
        st.shared.u32 [table],1;
        WAIT: setp.ne.u32 %p2,%r1,0; @%p2 bra END; barrier.sync 8; ld.shared.u32 %r0,[table];",
    );
    let device = Device::new(&format!("{DEVICE_FUNCTIONS}.shared .align 4 .u32 table;{code}"));
    assert_eq!(device.run("k", 1, 128), vec![1; 128]);
}

#[test]
fn assertions_end_the_kernel() {
    let device = Device::new(&format!(
        "{DEVICE_FUNCTIONS}{}",
        kernel(
            "mov.u64 %d1,word;
            { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
            st.param.b64 [p0],%d1; st.param.b64 [p1],%d1; st.param.b32 [p2],12; st.param.b64 [p3],%d1; st.param.b64 [p4],1;
            call.uni __assertfail, (p0, p1, p2, p3, p4); }"
        )
    ));
    let output = device.words(&[0]);
    let fault = device.launch("k", 1, 1, &[output]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Assert);
    assert_eq!(fault.text, "abc:12: abc: assertion `abc` failed");
}
