// Initialisers of marked C++ variables run on the device when its image is loaded, as Clang's do for `declare target`: of a plain
// variable, of an object with a destructor, of an inline variable, and of what these or a kernel need. Those of the host's own variables,
// which Clang calls from the same function, do not: they would be seen, because the device of this test is the same process.
// REQUIRES: x86_64-device
// RUN: %clang -O1 -Xclang -disable-llvm-passes -fPIC -I%S/../../../launch/include -emit-llvm -c %s -o %t.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-host,verify,default<O2>' %t.bc -o %t.host.bc
// RUN: %opt -load-pass-plugin %passes -passes='offload-device-module<host-ir=%t.host.bc>,verify,default<O2>' %t.bc -o %t.device.bc
// RUN: %clang -O2 -fPIC -c %t.device.bc -o %t.device.o
// RUN: %wrapgen pack -o %t.images --image=file=%t.device.o,triple=x86_64-pc-linux-gnu,kind=openmp
// RUN: %clang -O2 -c %t.host.bc -Xclang -fembed-offload-object=%t.images -o %t.o
// RUN: %clang -B %dropin --offload-link %t.o -o %t %omp_link -lomptarget -lstdc++
// RUN: %run_offload %t > %t.out
// RUN: FileCheck %s < %t.out
#include <cstdio>
#include <offloom/launch.hpp>
#include <unistd.h>

#define ON_DEVICE __attribute__((annotate("offload:to")))

static void say(const char *text, int value) {
  char line[80];
  write(1, line, std::snprintf(line, sizeof line, "%s %d\n", text, value));
}

static int start() { return 40; }

struct Holder {
  int value;
  explicit Holder(int value) : value(value) { say("made", value); }
  ~Holder() { say("gone", value); }
};

// Nobody marks it: the initialiser of a marked variable needs it, and so its own.
int base = start() + 1;
ON_DEVICE int plain = base + 1;
Holder on_host(1);
int copy_on_host = (say("copied", plain), plain);
ON_DEVICE Holder on_device(start() + 3);
ON_DEVICE inline int shared = start() + 4;
static int in_kernel = start() + 5;
// Initialised beside another variable, by its address.
ON_DEVICE int table[4];
static bool fill() {
  for (int &element : table)
    element = start() + 6;
  return true;
}
static bool filled = fill();
ON_DEVICE int second;
static int set(int value, int &variable) { return variable = value; }
static int last = set(start() + 7, second);

extern "C" __attribute__((annotate("offload:kernel"))) void get(int *values) {
  values[0] = plain;
  values[1] = on_device.value;
  values[2] = shared;
  values[3] = in_kernel++;
  values[4] = table[3];
  values[5] = second;
}

OFFLOOM_REGION(get);

int main() {
  say("main", 0);
  plain = 0;
  int values[6] = {};
  offloom::launch(OFFLOOM_REGION_OF(get)).map_from(values, 6).run();
  for (int value : values)
    say("value", value);
}

// CHECK: made 1
// CHECK-NEXT: copied 42
// CHECK-NEXT: made 43
// CHECK-NEXT: main 0
// The image is loaded.
// CHECK-NEXT: made 43
// CHECK-NEXT: value 42
// CHECK-NEXT: value 43
// CHECK-NEXT: value 44
// CHECK-NEXT: value 45
// CHECK-NEXT: value 46
// CHECK-NEXT: value 47
// CHECK-DAG: gone 1
// CHECK-DAG: gone 43
// CHECK-DAG: gone 43
// CHECK-NOT: gone
