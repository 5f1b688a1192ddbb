// Numbers of teams and threads are constants in a GPU's kernel, and it declares them. Threads of a kernel in generic mode are left
// alone: the hardware runs more of them than the team has. On x86_64 nothing is known: the runtime may form a smaller team.
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s nvptx64-nvidia-cuda %t.nvptx64 offload-specialize-launch "teams=24;threads=64"
// Nothing is said of how many threads there may be: `ptxas` takes that or how many there are.
// RUN: not grep maxntid %t.nvptx64.module.ll
// RUN: FileCheck %s --check-prefixes=GPU,%if llvm-19 %{NVPTX19%} %else %{NVPTX22%} < %t.nvptx64.module.ll
// RUN: %if cuda %{ %llvm_bin/llc -O3 -mcpu=sm_75 %t.nvptx64.module.ll -o %t.kernel.s && grep 'reqntid 64' %t.kernel.s && %cuda/bin/ptxas -c -arch=sm_75 %t.kernel.s -o %t.kernel.cubin %}
// RUN: FileCheck %s --check-prefix=BEFORE < %t.nvptx64.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.nvptx64.after.ll
// RUN: FileCheck %s --check-prefix=NVPTX64-DIVIDES < %t.nvptx64.before.s
// RUN: FileCheck %s --check-prefix=NVPTX64-MULTIPLIES < %t.nvptx64.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s amdgcn-amd-amdhsa %t.amdgcn offload-specialize-launch "teams=24;threads=64"
// RUN: FileCheck %s --check-prefixes=GPU,AMDGCN < %t.amdgcn.module.ll
// RUN: FileCheck %s --check-prefix=BEFORE < %t.amdgcn.before.ll
// RUN: FileCheck %s --check-prefix=AFTER < %t.amdgcn.after.ll
// RUN: FileCheck %s --check-prefix=AMDGCN-DIVIDES < %t.amdgcn.before.s
// RUN: FileCheck %s --check-prefix=AMDGCN-MULTIPLIES < %t.amdgcn.after.s
// RUN: bash %S/Inputs/specialize.sh %llvm_bin %passes %s x86_64-pc-linux-gnu %t.x86_64 offload-specialize-launch "teams=24;threads=64"
// RUN: FileCheck %s --check-prefix=BEFORE < %t.x86_64.after.ll

int omp_get_num_teams(void);

// GPU: @{{.*}}_kernel_environment = {{.*}} { i8 0, i8 1, i8 2, i32 64, i32 64, i32 24, i32 24, i32 0{{(, i32 0)?}} }
// GPU-NOT: call i32 @__kmpc_get_hardware_num_threads_in_block
// NVPTX22: attributes #0 = { {{.*}}"nvvm.reqntid"="64" "omp_target_num_teams"="24" "omp_target_thread_limit"="64"
// NVPTX19-DAG: attributes #0 = { {{.*}}"omp_target_num_teams"="24" "omp_target_thread_limit"="64"
// NVPTX19-DAG: = !{ptr @[[KERNEL:.*]], !"kernel", i32 1}
// NVPTX19-DAG: = !{ptr @[[KERNEL]], !"reqntidx", i32 64}
// AMDGCN: attributes #0 = { {{.*}}"amdgpu-flat-work-group-size"="64,64" "amdgpu-max-num-workgroups"="24,1,1"{{.*}}"omp_target_num_teams"="24" "omp_target_thread_limit"="64"

void run(int *x, int n) {
#pragma omp target teams distribute parallel for map(tofrom : x[0 : n])
  for (int i = 0; i < n; i++)
    x[i] = x[i] / omp_get_num_teams();
}

// BEFORE: call i32 @omp_get_num_teams
// AFTER-NOT: omp_get_num_teams
// AFTER: sdiv i32 %{{.*}}, 24
// AFTER-NOT: omp_get_num_teams

// NVPTX64-DIVIDES: div.s32
// NVPTX64-MULTIPLIES-NOT: div.s32
// NVPTX64-MULTIPLIES: mul.hi.s32 {{.*}} 715827883
// NVPTX64-MULTIPLIES-NOT: div.s32
// AMDGCN-DIVIDES: v_rcp_{{iflag|f32}}
// AMDGCN-MULTIPLIES-NOT: v_rcp_{{iflag|f32}}
// AMDGCN-MULTIPLIES: v_mul_hi_i32
// AMDGCN-MULTIPLIES-NOT: v_rcp_{{iflag|f32}}
