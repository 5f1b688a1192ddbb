// In Clang's device jobs the pass runs at the start of the pipeline, on modules with a marker; OFFLOOM_PASSES hands it parameters. The
// host job is left to offload-entries.
// RUN: %clangxx -O1 %omp_compile -fpass-plugin=%passes -emit-llvm -S --offload-device-only %s -o - | FileCheck %s --check-prefix=DEVICE
// RUN: %clangxx -O0 %omp_compile -fpass-plugin=%passes -emit-llvm -S --offload-device-only %s -o - | FileCheck %s --check-prefix=DEVICE
// RUN: %clangxx -O1 %omp_compile -Xarch_device -fpass-plugin=%passes -emit-llvm -S --offload-device-only -foffload-lto %s -o - | FileCheck %s --check-prefix=DEVICE
// RUN: %clangxx -O1 %omp_compile -Xarch_host -fpass-plugin=%passes -emit-llvm -S --offload-host-only %s -o %t.host.ll
// RUN: FileCheck %s --check-prefix=HOST --input-file=%t.host.ll
// RUN: env OFFLOOM_PASSES="offload-device<host-ir=%t.host.ll>" %clangxx -O1 %omp_compile -Xarch_device -fpass-plugin=%passes -emit-llvm -S --offload-device-only %s -o - | FileCheck %s --check-prefix=DEVICE
// DEVICE: @.offloading.entry.__omp_offloading_0_0_f_l0 =
// DEVICE: define {{.*}}weak_odr protected {{.*}}void @__omp_offloading_0_0_f_l0(ptr
// HOST: @.__omp_offloading_0_0_f_l0.region_id = weak {{.*}}constant i8 0
// HOST: define {{.*}}void @f(
//
// A value that is wrong is one message, and no output.
// RUN: rm -f %t.out
// RUN: env OFFLOOM_PASSES="offload-device<host-ir=%t.none.bc>" not %clangxx -O1 %omp_compile -fpass-plugin=%passes -c --offload-device-only %s -o %t.out 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: {{.*}}unasked.cpp: offload-device: the host module `{{.*}}none.bc` cannot be read
// NONE-NOT: offload-
// RUN: env OFFLOOM_PASSES="offload-devices" not %clangxx -O1 -fpass-plugin=%passes -c %s -o %t.out 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: OFFLOOM_PASSES=offload-devices: `offload-devices` is not a pass that runs unasked: write `offload-device` or
// UNKNOWN-NOT: OFFLOOM
// RUN: env OFFLOOM_PASSES="offload-device<host=a,b>" not %clangxx -O1 -fpass-plugin=%passes -c %s -o %t.out 2>&1 | FileCheck %s --check-prefix=PARAMETER
// PARAMETER: error: OFFLOOM_PASSES=offload-device<host=a,b>: offload-device: unknown parameter `host`: the only parameter of this pass is `host-ir`
// RUN: env OFFLOOM_PASSES="offload-device<host-ir=a" not %clangxx -O1 -fpass-plugin=%passes -c %s -o %t.out 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: error: OFFLOOM_PASSES=offload-device<host-ir=a: in `offload-device<host-ir=a` the parameters are not closed
// RUN: env OFFLOOM_PASSES="offload-device,offload-device" not %clangxx -O1 -fpass-plugin=%passes -c %s -o %t.out 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: OFFLOOM_PASSES=offload-device,offload-device: `offload-device` stands there twice
// RUN: not test -e %t.out
//
// Passes that were named in a pipeline have their own parameters.
// RUN: env OFFLOOM_PASSES="offload-device<host-ir=%t.none.bc>" %clangxx -O1 %omp_compile -Xclang -disable-llvm-passes -emit-llvm -S --offload-device-only %s -o %t.ll
// RUN: env OFFLOOM_PASSES="offload-device<host-ir=%t.none.bc>" %opt -load-pass-plugin %passes -passes=offload-device -S < %t.ll | FileCheck %s --check-prefix=DEVICE
#pragma omp begin declare target
extern "C" __attribute__((annotate("offload:kernel"))) void f(double *p, int n) {
  for (int i = 0; i < n; i++)
    p[i] += 1;
}
#pragma omp end declare target
