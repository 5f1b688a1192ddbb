//! Compiles a kernel, and once more with vectors that LLVM takes for dearer where the code spills many
//! registers.
//!
//! What decides which vectors are made of straight-line code, the SLP vectoriser, compares the costs of
//! instructions. That a vector holds several values in one register is no part of it, so what comes out even,
//! give or take an instruction, stays scalar, and an unrolled nest of loops may then need many times the
//! registers that there are. Registers are allocated long after, so both are made and compared.

use std::time::{Duration, Instant};

use offloom_abi::jit_compile::{Request, WORKER_NAME};
use offloom_ir::command_line::set_llvm_options;
use offloom_jit_passes::compile::{CompileError, Compiled, compile_and_count_spills};
use offloom_jit_passes::pipeline::StraightLineVectors;

/// From how many spills on a second compile is worth its time: three times the vector registers of x86-64-v4.
const MANY_SPILLS: u32 = 96;

/// By what the spills must be divided at least for the vectors to be taken. A little less may be luck, and
/// the vectors have their cost.
const FEWER_SPILLS: u32 = 2;

/// The second compile takes about as long as the first, and must not cost the kernel its variant: it is made
/// if this many would have had the time.
const COMPILES_IN_TIME: u32 = 3;

/// Compiles as the request says. `so_far` is told of an object that will do before another one is tried, over
/// which the thread may be lost. Nothing else of LLVM may be running in the process.
pub(crate) fn compile_kernel(
    request: &Request<'_>,
    so_far: impl FnOnce(&Compiled),
) -> Result<Compiled, CompileError> {
    let start = Instant::now();
    let (first, spills) = compile_and_count_spills(request)?;
    let deadline = Duration::from_millis(u64::from(request.deadline));
    if spills < MANY_SPILLS || start.elapsed() * COMPILES_IN_TIME > deadline {
        return Ok(first);
    }
    so_far(&first);
    choose(StraightLineVectors::LittleDearer);
    let second = compile_and_count_spills(request);
    choose(StraightLineVectors::Cheaper);
    // It can be compiled, as the first shows.
    let Ok((second, left)) = second else {
        return Ok(first);
    };
    let phases = first.phases + second.phases;
    let better = if left * FEWER_SPILLS <= spills {
        second
    } else {
        first
    };
    Ok(Compiled { phases, ..better })
}

fn choose(vectors: StraightLineVectors) {
    // What could be wrong is a NUL in the switch, which has none.
    let _ = set_llvm_options(WORKER_NAME, &[vectors.switch().to_owned()]);
}
