//! Numbers of teams and threads of a launch, for GPUs: as if the clauses had been given constants.
//!
//! What asks the hardware for them is folded, and the kernel declares them, in the words of each target. In
//! generic mode the hardware runs more threads than the team has, so nothing is said of threads there. On
//! other targets nothing is folded: the runtime may form a smaller team than it was asked for, and what it
//! was asked for reaches the kernel as arguments. There one team of one thread is a form of its own
//! ([`one_thread`](crate::one_thread)), which the code asks for at run time.

use offloom_abi::jit_device_image::kernel_environment;
use offloom_descriptor::Descriptor;
use offloom_ir::LLVM;
use offloom_ir::inkwell::attributes::AttributeLoc;
use offloom_ir::inkwell::module::Module;
use offloom_ir::inkwell::values::FunctionValue;
use offloom_ir::symbol::{Symbol, find};
use offloom_ir::target_queries::{
    ExecutionMode, Limit, bound_queries, execution_mode, fold_amd_launch, fold_queries,
    remove_nvvm_annotation, set_limits, set_nvvm_annotation,
};

/// What is called for the number of threads that the hardware runs in a team: of the device runtime, and
/// NVIDIA's register. An AMD GPU's code reads it from memory ([`fold_amd_launch`]).
const THREAD_QUERIES: [&str; 2] = [
    "__kmpc_get_hardware_num_threads_in_block",
    "llvm.nvvm.read.ptx.sreg.ntid.x",
];

/// What is called for the number of teams.
const TEAM_QUERIES: [&str; 3] = [
    "__kmpc_get_hardware_num_blocks",
    "omp_get_num_teams",
    "llvm.nvvm.read.ptx.sreg.nctaid.x",
];

/// Where a thread's number in its team, and that of the team, come from: NVIDIA's and AMD's.
const THREAD_NUMBER: [&str; 2] = ["llvm.nvvm.read.ptx.sreg.tid.x", "llvm.amdgcn.workitem.id.x"];
const TEAM_NUMBER: [&str; 2] = ["llvm.nvvm.read.ptx.sreg.ctaid.x", "llvm.amdgcn.workgroup.id.x"];

/// The kinds of GPU, which have a word of their own for everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gpu {
    Nvptx,
    Amdgpu,
}

impl Gpu {
    /// The kind that the module is for, if any.
    fn of(module: &Module<'_>) -> Option<Self> {
        match module.get_triple().as_str().to_bytes() {
            triple if triple.starts_with(b"nvptx") => Some(Self::Nvptx),
            triple if triple.starts_with(b"amdgcn") => Some(Self::Amdgpu),
            _ => None,
        }
    }
}

/// Whether the launch is one of one team of one thread on a CPU.
pub fn is_one_team_of_one_thread(module: &Module<'_>, descriptor: &Descriptor) -> bool {
    Gpu::of(module).is_none() && (descriptor.teams, descriptor.threads) == (Some(1), Some(1))
}

/// Puts the descriptor's numbers of teams and threads into a GPU's kernel.
pub fn specialize_launch<'ctx>(module: &Module<'ctx>, kernel: FunctionValue<'ctx>, descriptor: &Descriptor) {
    let Some(gpu) = Gpu::of(module) else {
        return;
    };
    let environment = find(module, &kernel_environment(&descriptor.kernel)).map(Symbol::as_global_value);
    if let Some(teams) = descriptor.teams {
        for query in TEAM_QUERIES {
            fold_queries(module, query, teams);
        }
        if let Some(environment) = environment {
            set_limits(environment, Limit::Teams, teams);
        }
        set_attribute(module, kernel, "omp_target_num_teams", &teams.to_string());
        if gpu == Gpu::Amdgpu {
            set_attribute(
                module,
                kernel,
                "amdgpu-max-num-workgroups",
                &format!("{teams},1,1"),
            );
        }
    }
    let mode = environment.and_then(execution_mode);
    if let Some(threads) = descriptor.threads.filter(|_| mode == Some(ExecutionMode::Spmd)) {
        for query in THREAD_QUERIES {
            fold_queries(module, query, threads);
        }
        if let Some(environment) = environment {
            set_limits(environment, Limit::Threads, threads);
        }
        set_attribute(module, kernel, "omp_target_thread_limit", &threads.to_string());
        declare_threads(module, kernel, gpu, threads);
    }
}

/// Puts the numbers into the code of a GPU's kernel that the device runtime is linked to, whatever its mode:
/// the descriptor's are those of the launch of the hardware here, teams are blocks, and all that asks the
/// hardware gets them.
pub fn specialize_hardware_launch<'ctx>(
    module: &Module<'ctx>,
    kernel: FunctionValue<'ctx>,
    descriptor: &Descriptor,
) {
    let Some(gpu) = Gpu::of(module) else {
        return;
    };
    if let Some(teams) = descriptor.teams {
        for query in TEAM_QUERIES {
            fold_queries(module, query, teams);
        }
        for query in TEAM_NUMBER {
            bound_queries(module, query, teams);
        }
    }
    if let Some(threads) = descriptor.threads {
        for query in THREAD_QUERIES {
            fold_queries(module, query, threads);
        }
        for query in THREAD_NUMBER {
            bound_queries(module, query, threads);
        }
        declare_threads(module, kernel, gpu, threads);
    }
    if gpu == Gpu::Amdgpu {
        fold_amd_launch(
            module,
            descriptor.teams.unwrap_or_default(),
            descriptor.threads.unwrap_or_default(),
        );
    }
}

/// Has code generation rely on that many threads in a team. For NVIDIA's, `ptxas` takes the number that there
/// is or the greatest that there may be, not both.
fn declare_threads<'ctx>(module: &Module<'ctx>, kernel: FunctionValue<'ctx>, gpu: Gpu, threads: u32) {
    match gpu {
        Gpu::Amdgpu => {
            set_attribute(
                module,
                kernel,
                "amdgpu-flat-work-group-size",
                &format!("{threads},{threads}"),
            );
        }
        Gpu::Nvptx if !LLVM.nvvm_attributes => {
            remove_nvvm_annotation(module, kernel, "maxntidx");
            set_nvvm_annotation(module, kernel, "reqntidx", threads);
        }
        Gpu::Nvptx => {
            kernel.remove_string_attribute(AttributeLoc::Function, "nvvm.maxntid");
            set_attribute(module, kernel, "nvvm.reqntid", &threads.to_string());
        }
    }
}

fn set_attribute<'ctx>(module: &Module<'ctx>, kernel: FunctionValue<'ctx>, key: &str, value: &str) {
    kernel.remove_string_attribute(AttributeLoc::Function, key);
    let attribute = module.get_context().create_string_attribute(key, value);
    kernel.add_attribute(AttributeLoc::Function, attribute);
}
