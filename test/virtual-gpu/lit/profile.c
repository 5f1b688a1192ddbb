// The PTX of each kernel that was launched, with how often warps have executed each line, over all launches; and nothing without asking.
// REQUIRES: virtual-gpu
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clang %s -o program -L%virtual_gpu -lcuda
// RUN: env LD_LIBRARY_PATH=%virtual_gpu OFFLOOM_VIRTUAL_GPU_PROFILE=%t/profile OFFLOOM_VIRTUAL_GPU_COUNTS=%t/counts ./program
// RUN: ls profile | FileCheck --check-prefix=FILES %s
// RUN: cat profile/count.* | FileCheck --match-full-lines --strict-whitespace %s
// The lines of the profile are all that was executed.
// RUN: awk -F'|' '{lines += $1} END {print lines}' profile/* > lines
// RUN: awk '{warps += $3} END {print warps}' counts | diff - lines
// RUN: mkdir empty && cd empty && env LD_LIBRARY_PATH=%virtual_gpu ../program && ls | count 0
// A folder that cannot be is told; the program goes on.
// RUN: env LD_LIBRARY_PATH=%virtual_gpu OFFLOOM_VIRTUAL_GPU_PROFILE=%t/counts/profile %t/program 2>&1 | FileCheck --check-prefix=NONE %s
// FILES: count.{{[0-9]+}}.{{[0-9a-f]+}}.ptx
// FILES-NOT: {{.}}
// NONE: virtual GPU: OFFLOOM_VIRTUAL_GPU_PROFILE: `{{.*}}counts/profile`: Not a directory
#include "Inputs/driver.h"

// Two launches of three warps. Threads of the first take three rounds, the others one.
static const char kernels[] = HEAD
    ".visible .entry count(.param .u64 p) {\n"
    "  .reg .u32 %t, %n; .reg .pred %more;\n"
    "  mov.u32 %t, %tid.x;\n"
    "  mov.u32 %n, 3;\n"
    "again:\n"
    "  sub.u32 %n, %n, 1;\n"
    "  setp.ne.u32 %more, %n, 0;\n"
    "  setp.lt.and.u32 %more, %t, 32, %more;\n"
    "  @%more bra again;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry other() { ret; }\n";
//      CHECK:             | .visible .entry count(.param .u64 p) {
// CHECK-NEXT:             |   .reg .u32 %t, %n; .reg .pred %more;
// CHECK-NEXT:           6 |   mov.u32 %t, %tid.x;
// CHECK-NEXT:           6 |   mov.u32 %n, 3;
// CHECK-NEXT:             | again:
// CHECK-NEXT:          10 |   sub.u32 %n, %n, 1;
// CHECK-NEXT:          10 |   setp.ne.u32 %more, %n, 0;
// CHECK-NEXT:          10 |   setp.lt.and.u32 %more, %t, 32, %more;
// CHECK-NEXT:          10 |   @%more bra again;
// CHECK-NEXT:           6 |   ret;
// CHECK-NEXT:             | }
// CHECK-NEXT:             | .visible .entry other() { ret; }

int main(void) {
  context_t context;
  module_t module;
  function_t count;
  expect(0, cuInit(0));
  expect(0, cuDevicePrimaryCtxRetain(&context, 0));
  expect(0, cuCtxSetCurrent(context));
  expect(0, cuModuleLoadData(&module, kernels));
  expect(0, cuModuleGetFunction(&count, module, "count"));
  address_t memory = 0;
  void *parameters[] = {&memory};
  for (int time = 0; time < 2; ++time)
    expect(0, launch(count, 96, NULL, parameters));
  expect(0, cuCtxSynchronize());
  return 0;
}
