// A launch by hand that names no place gets Clang's `ident_t` with the place that debug info knows, and the runtime shows it.
// RUN: %clang -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes=offload-entries,verify %t.bc -o %t.host.bc
// RUN: %opt -S %t.host.bc | FileCheck %s
// RUN: %opt -load-pass-plugin %passes -passes=offload-entries,verify -S %t.host.bc > %t.twice.ll
// RUN: %opt -S %t.host.bc | diff - %t.twice.ll

// The form is that of Clang.
// RUN: %clang -g %omp_compile --offload-host-only -DPRAGMA -S -emit-llvm %s -o - | FileCheck %s

// A launch without a place of its own gets that of the function that it launches.
// RUN: %clang -g -O1 -DHIDDEN -Xclang -disable-llvm-passes -emit-llvm -c %s -o - | %opt -load-pass-plugin %passes -passes=offload-entries,verify -S \
// RUN:   | FileCheck %s --check-prefix=KERNEL

// Without debug info nobody knows the place, and null stays: the runtime reads it as the text that Clang writes then,
// `;unknown;unknown;0;0;;`.
// RUN: %clang -O1 -Xclang -disable-llvm-passes -emit-llvm -c %s -o - | %opt -load-pass-plugin %passes -passes=offload-entries,verify -o %t.no-debug.bc
// RUN: %opt -S %t.no-debug.bc | FileCheck %s --check-prefix=NO-DEBUG

// RUN: %if x86_64-device %{ %clang -O2 -shared -fPIC %S/../../launch/Inputs/kernels.c -o %t.so %}
// RUN: %if x86_64-device %{ %clang -DIMAGE='"%t.so"' -DNO_ENTRIES -c %S/../../launch/Inputs/entries.c -o %t.registration.o %}
// RUN: %if x86_64-device %{ %clang %t.host.bc %t.registration.o -o %t %omp_link -lomptarget %}
// RUN: %if x86_64-device %{ env LIBOMPTARGET_INFO=-1 OMP_TARGET_OFFLOAD=mandatory %t 2>&1 | FileCheck %s --check-prefix=SHOWN %}
// RUN: %if x86_64-device %{ %clang %t.no-debug.bc %t.registration.o -o %t.no-debug %omp_link -lomptarget %}
// RUN: %if x86_64-device %{ env LIBOMPTARGET_INFO=-1 OMP_TARGET_OFFLOAD=mandatory %t.no-debug 2>&1 | FileCheck %s --check-prefix=UNKNOWN %}

// CHECK: [[TEXT:@[0-9]+]] = private unnamed_addr constant [{{[0-9]+}} x i8] c";{{.*}}here.c;start;103;{{[0-9]+}};;\00"
// CHECK: [[PLACE:@[0-9]+]] = private unnamed_addr constant %struct.ident_t { i32 0, i32 2, i32 0, i32 {{[0-9]+}}, ptr [[TEXT]] }, align 8
// CHECK: call i32 @__tgt_target_kernel(ptr {{(noundef )?}}[[PLACE]], i64 {{(noundef )?}}-1
// NO-DEBUG: call i32 @__tgt_target_kernel(ptr {{(noundef )?}}null,
// NO-DEBUG-NOT: ident_t
// KERNEL: [[TEXT:@[0-9]+]] = private unnamed_addr constant [{{[0-9]+}} x i8] c";{{.*}}here.c;count_launches;50;0;;\00"
// KERNEL: [[PLACE:@[0-9]+]] = private unnamed_addr constant %struct.ident_t { i32 0, i32 2, i32 0, i32 {{[0-9]+}}, ptr [[TEXT]] }, align 8
// KERNEL: call i32 @__tgt_target_kernel(ptr {{(noundef )?}}[[PLACE]], i64 {{(noundef )?}}-1
// SHOWN: Entering OpenMP kernel at {{.*}}here.c:103:{{[0-9]+}} with 1 arguments
// UNKNOWN: Entering OpenMP kernel at unknown:0:0 with 1 arguments

#include <stdint.h>

#if __clang_major__ >= 23
#define VERSION 5
// With the launch environment.
#define COUNT 2
#else
#define VERSION 3
#define COUNT 1
#endif

#ifdef HIDDEN
#define NO_PLACE __attribute__((nodebug))
#else
#define NO_PLACE
#endif

#line 50 "here.c"
__attribute__((annotate("offload:kernel"))) void count_launches(uint64_t *count) { ++*count; }

extern const char region __asm__(".__omp_offloading_0_0_count_launches_l0.region_id");
int __tgt_target_kernel(void *, int64_t, int32_t, int32_t, const void *, void *);

NO_PLACE static int start(uint64_t *count) {
  void *pointers[2] = {count};
  int64_t sizes[2] = {8}, types[2] = {0x22, 0x20};
  struct {
    uint32_t version, count;
    void *base_pointers, *pointers, *sizes, *types, *names, *mappers;
    uint64_t trip_count, flags;
    uint32_t teams[3], threads[3], memory;
  } arguments = {VERSION, COUNT, pointers, pointers, sizes, types, 0, 0, 0, 0, {0}, {0}, 0};
#line 102 "here.c"
#ifdef PRAGMA
  #pragma omp target map(from : count[0 : 1])
  count_launches(count);
  return 0;
#else
#line 103 "here.c"
  return __tgt_target_kernel(0, -1, -1, 0, &region, &arguments);
#endif
}

int main(void) {
  uint64_t count = 0;
  return start(&count) != 0 || count != 1;
}
