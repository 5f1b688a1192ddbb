//! How many lane-instructions one core executes in a second: kernels of whole warps that compute, load and
//! branch.
//!
//! `cargo run --release -p offloom-virtual-gpu --example speed`
#![expect(clippy::unwrap_used, reason = "a fault ends the benchmark")]

use std::time::Instant;

use offloom_virtual_gpu::{DeviceProperties, Launch, LaunchOptions, Memory, Owner, Poison, Program, launch};

/// Kernels of 100 rounds: the name, what is declared, what is done once and in each round.
const KERNELS: [(&str, &str, &str); 4] = [
    (
        "integers",
        "mov.u32 %r1,%r0;",
        "add.s32 %r1,%r1,%r0; xor.b32 %r2,%r1,%r0; shl.b32 %r3,%r2,3; mad.lo.s32 %r1,%r3,%r0,%r1;",
    ),
    (
        "doubles",
        "cvt.rn.f64.u32 %g1,%r0; mov.f64 %g2,0d3FF0000000000000;",
        "mul.rn.f64 %g3,%g1,%g2; add.rn.f64 %g2,%g2,%g3; sub.rn.f64 %g4,%g2,%g1; fma.rn.f64 %g1,%g3,%g4,%g2;",
    ),
    (
        "memory",
        "",
        "ld.global.u32 %r1,[%d1]; add.u32 %r1,%r1,1; st.global.u32 [%d1],%r1; ld.shared.u32 %r2,[%r4]; st.shared.u32 [%r4],%r2;",
    ),
    (
        "divergence",
        "",
        "and.b32 %r1,%r0,1; setp.eq.u32 %p1,%r1,0; @%p1 bra EVEN; add.u32 %r2,%r1,1; bra JOIN; EVEN: add.u32 %r2,%r1,2; JOIN:",
    ),
];

fn main() {
    let memory = Memory::new(&[1 << 30]);
    for (name, once, round) in KERNELS {
        let text = format!(
            ".version 7.8\n.target sm_80\n.address_size 64
            .visible .entry k(.param .u64 out) {{
            .reg .u64 %d<4>; .reg .u32 %r<10>; .reg .f64 %g<6>; .reg .pred %p<3>; .shared .align 4 .b8 s[1024];
            ld.param.u64 %d1,[out]; mov.u32 %r0,%tid.x; mul.wide.u32 %d2,%r0,4; add.u64 %d1,%d1,%d2;
            mov.u32 %r4,s; cvt.u32.u64 %r5,%d2; add.u32 %r4,%r4,%r5; st.shared.u32 [%r4],%r0; {once} mov.u32 %r9,0;
            LOOP: {round} add.u32 %r9,%r9,1; setp.lt.u32 %p2,%r9,100; @%p2 bra LOOP; ret; }}"
        );
        let module = offloom_ptx::parse("speed.ptx", text.as_bytes()).unwrap();
        let program = Program::new(&module, &DeviceProperties::new(0, (8, 0)), &memory).unwrap();
        let output = memory.allocate(1024, Owner::Device(0)).unwrap();
        let shape = Launch {
            kernel: "k",
            grid: [100, 1, 1],
            block: [256, 1, 1],
            dynamic_shared_bytes: 0,
            parameters: &output.to_le_bytes(),
        };
        for poison in [Poison::Report, Poison::Off] {
            let options = LaunchOptions {
                workers: 1,
                poison,
                ..LaunchOptions::default()
            };
            let mut best = f64::INFINITY;
            let mut count = 0;
            for _ in 0..5 {
                let start = Instant::now();
                count = launch(&program, &shape, &options).unwrap().lane_instructions;
                best = best.min(start.elapsed().as_secs_f64());
            }
            let rate = count as f64 / best / 1e6;
            println!("{name:12} {poison:?}: {rate:.0} million lane-instructions a second");
        }
    }
}
