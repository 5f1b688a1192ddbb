// offloom/launch.hpp from strict C++11, without exceptions, on the device and with offloading disabled.
// REQUIRES: x86_64-device
// RUN: %clang -O2 -shared -fPIC %S/Inputs/kernels.c -o %t.so
// RUN: %clang -DIMAGE='"%t.so"' -c %S/Inputs/entries.c -o %t.entries.o
// RUN: %clangxx -std=c++11 -fno-exceptions -pedantic -Wall -Wextra -Wconversion -Werror -I%S/../../launch/include %s %t.entries.o -o %t \
// RUN:   %omp_link -lomptarget
// RUN: %run_offload %t | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: env OMP_TARGET_OFFLOAD=disabled %t | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: not %clangxx -std=c++11 -fsyntax-only -DMISUSE -I%S/../../launch/include %s 2>&1 | FileCheck %s --check-prefix=MISUSE
#include <cstdio>
#include <offloom/launch.hpp>
#include <string>

namespace kernels {
OFFLOOM_REGION(saxpy);
OFFLOOM_REGION(increment);
OFFLOOM_REGION(double_table);
OFFLOOM_LINK(table);
OFFLOOM_REGION_OF_KERNEL(values, "__omp_offloading_0_0_values_l0");
} // namespace kernels
using namespace kernels;

static void show_saxpy(std::int64_t device) {
  const float a = 2, x[2] = {1, 2};
  float y[2] = {10, 20};
  const std::size_t n = 2;
  const char *where = "device";
  const offloom_status status = offloom::launch(OFFLOOM_REGION_OF(saxpy))
                                    .device(device)
                                    .teams(2)
                                    .threads(1)
                                    .value(a)
                                    .value(n)
                                    .map_to(x, n)
                                    .map_tofrom(y, n)
                                    .run_or([&] {
                                      where = "host";
                                      for (std::size_t i = 0; i < n; i++)
                                        y[i] += a * x[i];
                                    });
  std::printf("saxpy on the %s: %g %g, status %d\n", where, y[0], y[1], status);
}

static void show_mapped() {
  int data[2] = {1, 2};
  {
    offloom::mapped<int> mapped(data, 2, OFFLOOM_TOFROM, 2);
    offloom::launch launch(OFFLOOM_REGION_OF(increment));
    launch.device(2).value(std::uint64_t(2)).map_tofrom(data, 2);
    launch.run();
    std::printf("mapped: %d %d", data[0], data[1]);
    mapped.update_from();
    std::printf(", updated %d %d", data[0], data[1]);
    data[0] = 100;
    mapped.update_to();
    launch.run();
  }
  std::printf(", at the end %d %d\n", data[0], data[1]);
  const offloom::mapped<const int> nowhere(data, 2, OFFLOOM_TO, -2);
  std::printf("mapped nowhere: %s\n", offloom_status_message(nowhere.status()));
}

static void show_values() {
  std::uint64_t seen[4] = {0, 0, 0, 0};
  offloom::launch(OFFLOOM_REGION_OF(values))
      .value(true)
      .value(std::int16_t(-1))
      .value(-0.0)
      .device_pointer(seen)
      .map_from(seen, 4)
      .run();
  std::printf("values: %llx %llx %llx %s\n", static_cast<unsigned long long>(seen[0]), static_cast<unsigned long long>(seen[1]),
              static_cast<unsigned long long>(seen[2]), seen[3] == reinterpret_cast<std::uintptr_t>(seen) ? "same" : "other");
}

#ifdef MISUSE
static void misuse(const int *constant, int *pointer, std::string &text) {
  const struct {
    long a, b;
  } large = {1, 2};
  offloom::launch launch(OFFLOOM_REGION_OF(values));
  // MISUSE: a kernel writes to it
  launch.map_tofrom(constant, 1);
  // MISUSE: a host address means nothing on a device
  launch.value(pointer);
  // MISUSE: larger than an argument: map it instead
  launch.value(large);
  // MISUSE: only plain bytes reach a device
  launch.map_to(&text, 1);
}
#endif

extern "C" int table[4];

// On the device that is used first: the images of x86_64 devices share the pointer, in Clang's programs too.
static void show_link() {
  {
    offloom::mapped_link there(OFFLOOM_LINK_OF(table), table, OFFLOOM_TOFROM);
    offloom::launch launch(OFFLOOM_REGION_OF(double_table));
    launch.value(std::uint64_t(4)).run();
    std::printf("table: %d %d", table[0], table[3]);
    there.update_from();
    std::printf(", updated %d %d", table[0], table[3]);
    table[0] = 100;
    there.update_to();
    launch.run();
  }
  std::printf(", at the end %d %d\n", table[0], table[3]);
  const offloom::mapped_link nowhere(OFFLOOM_LINK_OF(table), table, OFFLOOM_TO, -2);
  std::printf("table nowhere: %s\n", offloom_status_message(nowhere.status()));
}

int main() {
  // DEVICE: saxpy on the device: 12 24, status 0
  // HOST: saxpy on the host: 12 24, status 1
  show_saxpy(offloom::default_device);
  // CHECK: saxpy on the host: 12 24, status 1
  show_saxpy(4);
  // DEVICE: mapped: 1 2, updated 2 3, at the end 101 4
  // HOST: mapped: 1 2, updated 1 2, at the end 100 2
  show_mapped();
  // CHECK: mapped nowhere: no such device
  // DEVICE: table: 1 4, updated 2 8, at the end 200 16
  // HOST: table: 1 4, updated 1 4, at the end 100 4
  // CHECK: table nowhere: no such device
  show_link();
  // DEVICE: values: 1 ffff 8000000000000000 same
  // HOST: values: 0 0 0 other
  show_values();
}
