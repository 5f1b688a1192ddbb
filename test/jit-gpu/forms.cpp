// A variant that is clearly slower is followed by one that is right for any number of teams and threads, and launches find out which is faster. A later run
// tries neither again that was clearly slower. The assembler here makes code slow that knows how many threads a block has.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: sed -e 's|@PTXAS@|%cuda/bin/ptxas|; s|@NOTED@|%t/noted|' %S/Inputs/slow-block.sh > slow-block && chmod +x slow-block
// RUN: %clangxx -O2 -fopenmp -foffload-lto -fopenmp-targets=nvptx64-nvidia-cuda --offload-arch=sm_80 --cuda-path=%cuda -B %dropin \
// RUN:   -Xoffload-linker --jit %s -o program %gpu_options %omp_link
// DEFINE: %{mode} = sync
// DEFINE: %{run} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_JIT_PTXAS=%t/slow-block OFFLOOM_JIT_STRICT=1 \
// DEFINE:   OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache-%{mode} OFFLOOM_JIT=%{mode} OFFLOOM_JIT_LOG=1
// DEFINE: %{twice} = rm -f noted && %{run} OFFLOOM_JIT_STATS=cold.json ./program noted 2> cold | FileCheck %s && \
// DEFINE:   FileCheck --check-prefix=COLD --input-file=cold %s && %offloom explain cold.json | FileCheck --check-prefix=EXPLAIN %s && \
// DEFINE:   %{run} ./program noted 2> warm | FileCheck %s && \
// DEFINE:   FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --implicit-check-not='is tried' --input-file=warm %s
// RUN: %{twice}
// What launches took on one model of GPU says nothing of another that runs the same image.
// RUN: %{run} OFFLOOM_VIRTUAL_GPU=sm_86 ./program noted 2> other | FileCheck %s
// RUN: FileCheck --check-prefix=OTHER --implicit-check-not='compiled in' --implicit-check-not=lately --input-file=other %s
// Where there is room for one variant, the one that is retired makes room.
// RUN: rm -f noted && %{run} OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_DEVICE_MEMORY=13K ./program noted 2> room | FileCheck %s
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='would take more' --input-file=room %s
// REDEFINE: %{mode} = async
// RUN: %{twice}
// CHECK: right
// COLD: compiled in {{.*}};1=i32:0x3e8;{{.*}};threads=
// COLD: a variant is retired, another form is tried: {{[0-9]+}} ns
// COLD: compiled in {{.*}};1=i32:0x3e8;2=any;3=any{{$}}
// EXPLAIN: argument 1 = 1000 (i32), teams = 32, threads = 32 compiler {{.*}} retired: not faster
// EXPLAIN-NEXT: argument 1 = 1000 (i32) compiler {{.*}} {{kept|measuring|retired: not faster}}
// WARM: found in the cache, for {{.*}};threads=
// WARM: a variant was slower lately: it is not used
// WARM: found in the cache, for {{.*}};1=i32:0x3e8;2=any;3=any{{$}}
// OTHER: found in the cache, for {{.*}};threads=
// OTHER: a variant is retired, another form is tried: {{[0-9]+}} ns
// OTHER: found in the cache, for {{.*}};1=i32:0x3e8;2=any;3=any{{$}}
#include <cstdio>
#include <unistd.h>

static void add(int *values, int count, int step) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i)
    values[i] += step;
}

// Launches until other code was assembled, and for a second more.
int main(int, char **arguments) {
  static int values[1000];
  int launches = 0, later = 0;
#pragma omp target data map(tofrom : values)
  for (; launches < 30000 && later < 1000; ++launches) {
    add(values, 1000, 2);
    later += access(arguments[1], F_OK) == 0;
    usleep(1000);
  }
  for (int value : values)
    if (value != 2 * launches)
      return 1;
  std::puts(later == 1000 ? "right" : "no other code came");
}
