// offload-team-state warns of exactly those functions that the optimiser gets wrong in a file without kernels, as it has the state of a team
// that nobody initialises: each case is compiled alone, with the device runtime, and its optimised code is looked at.

// REQUIRES: device-runtime, llvm-19
// RUN: bash %S/Inputs/cases.sh %llvm_bin %passes %device_runtime_folder/libomptarget-nvptx-sm_75.bc %s %t > %t.found
// RUN: FileCheck --input-file=%t.found %s

// CHECK: NOTHING: silent, right
// CHECK-NEXT: ARRAY: warned, wrong
// CHECK-NEXT: OTHER_FILE: warned, wrong
// CHECK-NEXT: SAME_FILE: warned, wrong
// CHECK-NEXT: HELPER: warned, wrong
// CHECK-NEXT: THREAD: warned, wrong
// CHECK-NEXT: TEAM: silent, right
// CHECK-NEXT: PARALLEL: warned, wrong
// CHECK-NEXT: LOOP: warned, wrong

// A kernel that has nothing to do with the function changes nothing; under one that calls it, it is right there.
// CHECK-NEXT: NOTHING beside a kernel: silent, right
// CHECK-NEXT: ARRAY beside a kernel: warned, wrong
// CHECK-NEXT: OTHER_FILE beside a kernel: warned, wrong
// CHECK-NEXT: THREAD beside a kernel: warned, wrong
// CHECK-NEXT: ARRAY under a kernel: silent

#pragma omp begin declare target
void elsewhere(double *values);
int omp_get_thread_num(void);
int omp_get_team_num(void);

#if defined(NOTHING)
double f(double *values, int count) { return values[count]; }
#elif defined(ARRAY)
double f(double *values, int count) {
  double local[4], sum = 0;
  for (int i = 0; i < 4; ++i)
    local[i] = values[i % 3] + i;
  for (int i = 0; i < count; ++i)
    sum += local[i * 7 % 4];
  return sum;
}
#elif defined(OTHER_FILE)
double f(double *values, int count) {
  double local[3] = {values[0], values[1], count};
  elsewhere(local);
  return local[0] + local[1];
}
#elif defined(SAME_FILE)
__attribute__((noinline)) static void fill(double *to, double value) {
  to[0] = value;
  to[1] = 2 * value;
}
double f(double *values, int count) {
  double local[2];
  fill(local, values[count]);
  return local[0] + local[1];
}
#elif defined(HELPER)
__attribute__((noinline)) static double help(double *values, int count) {
  double local[64];
  for (int i = 0; i < 64; ++i)
    local[i] = values[i % 3] + i;
  return local[count];
}
double f(double *values, int count) { return help(values, count) + 1; }
#elif defined(THREAD)
double f(double *values, int count) { return values[omp_get_thread_num()] + count; }
#elif defined(TEAM)
double f(double *values, int count) { return values[omp_get_team_num()] + count; }
#elif defined(PARALLEL)
double f(double *values, int count) {
#pragma omp parallel
  values[count] = 1;
  return 2;
}
#elif defined(LOOP)
double f(double *values, int count) {
#pragma omp for
  for (int i = 0; i < count; ++i)
    values[i] = 1;
  return 2;
}
#endif
#pragma omp end declare target

#if defined(UNDER)
void launch(double *values) {
#pragma omp target map(tofrom : values[0 : 3])
  values[0] = f(values, 3);
}
#elif defined(BESIDE)
void launch(double *values) {
#pragma omp target map(tofrom : values[0 : 3])
  values[0] = 3;
}
#endif
