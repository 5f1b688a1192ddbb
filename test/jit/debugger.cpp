// Debuggers and profilers see variants: each is registered by GDB's interface for JIT compilers, with the kernel's name at the address
// of its code and with the lines of the source, and perf finds its name. What was freed is no longer registered.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -g -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o program %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_PERF=1 %run_offload ./program | FileCheck %s
// CHECK: 3 variants are registered
// CHECK-COUNT-3: perf: {{[0-9a-f]+ [0-9a-f]+}} __omp_offloading_{{.*}}_main_l[[#]] [variant [[#]], image copy 0]
// RUN: %llvm_bin/llvm-readelf --symbols --sections variant.o | FileCheck --check-prefix=OBJECT %s
// OBJECT: .text PROGBITS {{0*[1-9a-f][0-9a-f]*}}
// OBJECT: FUNC {{.*}} __omp_offloading_{{.*}}_main_l[[#]]
// RUN: %llvm_bin/llvm-dwarfdump --debug-line variant.o | FileCheck --check-prefix=LINES %s
// LINES: name: "{{.*}}debugger.cpp"
// LINES: {{^}}0x{{[0-9a-f]+}} {{.*}} is_stmt
#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

// As in GDB's manual.
struct Entry {
  Entry *next, *previous;
  const char *object;
  uint64_t size;
};
struct Descriptor {
  uint32_t version, action;
  Entry *relevant, *first;
};

int main() {
  for (int n = 2; n < 5; ++n) {
    int sum = 0;
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < 100; ++i)
      sum += i % n;
    if (sum == 0)
      return 1;
  }
  int count = 0;
  const auto *descriptor = (const Descriptor *)dlsym(RTLD_DEFAULT, "__jit_debug_descriptor");
  for (const Entry *entry = descriptor->first; entry; entry = entry->next, ++count) {
    FILE *file = std::fopen("variant.o", "wb");
    std::fwrite(entry->object, 1, entry->size, file);
    std::fclose(file);
  }
  std::printf("%d variants are registered\n", count);
  const std::string map = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  FILE *file = std::fopen(map.c_str(), "r");
  char line[400];
  while (file && std::fgets(line, sizeof line, file))
    std::printf("perf: %s", line);
  std::remove(map.c_str());
}
