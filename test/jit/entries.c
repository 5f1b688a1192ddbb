// A variable of the device that an entry of the host program alone names, as of other front ends and of -foffload-via-llvm: no link hides it, and neither
// does the JIT library, which makes the image at the start with --jit=only.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// DEFINE: %{options} = -O2 -foffload-lto
// DEFINE: %{build} = %clang %{options} %omp_compile %s -o program %omp_link
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 %run_offload ./program
// RUN: %{build} && %{run} 2>&1 | FileCheck %s
// REDEFINE: %{options} = -O2 -foffload-lto -B %dropin
// RUN: %{build} && %{run} 2>&1 | FileCheck %s
// REDEFINE: %{options} = -O2 -foffload-lto -B %dropin -Xoffload-linker --jit
// RUN: %{build} && %{run} 2>&1 | FileCheck --check-prefixes=CHECK,RAN %s
// REDEFINE: %{options} = -O2 -foffload-lto -B %dropin -Xoffload-linker --jit=only
// RUN: %{build} && %{run} 2>&1 | FileCheck --check-prefixes=CHECK,RAN --implicit-check-not='Failed to load' %s
// CHECK-DAG: 42, mapped: 45
// RAN-DAG: 1 launch ran a variant
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

int host = 3;
#pragma omp begin declare target device_type(nohost)
int device = 40;
#pragma omp end declare target

#if __clang_major__ < 20
struct entry {
  void *address;
  char *name;
  uint64_t size;
  uint32_t flags, reserved;
};
__attribute__((weak, section("omp_offloading_entries"), aligned(1))) const struct entry entry = {&host, "device", sizeof host, 0, 0};
#else
struct entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  char *name;
  uint64_t size, data;
  void *auxiliary;
};
__attribute__((weak, section("llvm_offload_entries"), aligned(8))) const struct entry entry = {0, 1, 1, 0, &host, "device", sizeof host, 0, 0};
#endif

int main(void) {
  int result = 0;
#pragma omp target map(tofrom : result)
  result = 42;
  int *mapped = omp_get_mapped_ptr(&host, 0), value = 5, read = 0;
  int initial = omp_get_initial_device();
  if (mapped) {
    omp_target_memcpy(&read, mapped, sizeof read, 0, 0, initial, 0);
    read += value;
  }
  printf("%d, mapped: %d\n", result, read);
}
