// A tool that listens to the OpenMP runtime sees launches of a program with the JIT as it sees those of the stock program: as many, from
// the same places in the user's code. LLVM 22's libomptarget tells nothing to the libomp of LLVM 19, which it is run with here.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O1 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: FileCheck --input-file=stock.out %s
// RUN: %clangxx -O1 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_STRICT=1 %run_offload ./jit | cmp - stock.out
// CHECK: launched {{6 regions: 3 from the first place, 3 from the second|0 regions}}
#include <cstdio>

// As in the OpenMP specification; not every installation has omp-tools.h.
enum ompt_target_t { ompt_target = 1 };
enum ompt_scope_endpoint_t { ompt_scope_begin = 1 };
enum ompt_callbacks_t { ompt_callback_target_emi = 33 };
union ompt_data_t {
  unsigned long value;
  void *ptr;
};
typedef void (*ompt_callback_t)();
typedef ompt_callback_t (*ompt_function_lookup_t)(const char *);
typedef int (*ompt_set_callback_t)(ompt_callbacks_t, ompt_callback_t);
struct ompt_start_tool_result_t {
  int (*initialize)(ompt_function_lookup_t, int, ompt_data_t *);
  void (*finalize)(ompt_data_t *);
  ompt_data_t tool_data;
};

// Where the functions begin that launch.
static const void *places[2];
static int counts[2], others;

static void on_target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int, ompt_data_t *, ompt_data_t *, ompt_data_t *,
                      const void *codeptr_ra) {
  if (kind != ompt_target || endpoint != ompt_scope_begin)
    return;
  const int later = places[1] > places[0];
  if (codeptr_ra >= places[later])
    ++counts[later];
  else if (codeptr_ra >= places[!later])
    ++counts[!later];
  else
    ++others;
}

static int initialize(ompt_function_lookup_t lookup, int, ompt_data_t *) {
  const auto set = (ompt_set_callback_t)lookup("ompt_set_callback");
  set(ompt_callback_target_emi, (ompt_callback_t)on_target);
  return 1;
}

static void finalize(ompt_data_t *) {}

extern "C" ompt_start_tool_result_t *ompt_start_tool(unsigned, const char *) {
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  return &result;
}

__attribute__((noinline)) static int first(int n) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < n; ++i)
    sum += i % n;
  return sum;
}

__attribute__((noinline)) static int second(int n) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < n; ++i)
    sum += i / n;
  return sum;
}

int main() {
  places[0] = (const void *)first;
  places[1] = (const void *)second;
  for (int n = 5; n < 8; ++n)
    if (first(n) == second(n))
      return 1;
  std::printf("launched %d regions: %d from the first place, %d from the second\n", counts[0] + counts[1] + others, counts[0],
              counts[1]);
}
