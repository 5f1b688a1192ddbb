// Everything that offloom/launch.h offers, from strict C99, on the device and with offloading disabled.
// REQUIRES: x86_64-device
// RUN: %clang -O2 -shared -fPIC %S/Inputs/kernels.c -o %t.so
// RUN: %clang -DIMAGE='"%t.so"' -c %S/Inputs/entries.c -o %t.entries.o
// RUN: %clang -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror -I%S/../../launch/include %s %t.entries.o -o %t %omp_link -lomptarget
// RUN: %run_offload %t | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: env OMP_TARGET_OFFLOAD=disabled %t | FileCheck %s --check-prefixes=CHECK,HOST
#include <offloom/launch.h>
#include <stdio.h>

OFFLOOM_REGION(saxpy);
OFFLOOM_REGION(values);
OFFLOOM_REGION_OF_KERNEL(maps, "__omp_offloading_0_0_map_types_l0");
OFFLOOM_REGION(increment);
OFFLOOM_REGION(count_launches);
OFFLOOM_REGION(many);

// The layout that the runtime of both releases reads.
#define LAYOUT(field, offset) typedef char field##_is_at[offsetof(offloom_kernel_arguments, field) == (offset) ? 1 : -1]
typedef char record_is[sizeof(offloom_kernel_arguments) == 104 ? 1 : -1];
LAYOUT(argument_count, 4);
LAYOUT(base_pointers, 8);
LAYOUT(mappers, 48);
LAYOUT(trip_count, 56);
LAYOUT(flags, 64);
LAYOUT(num_teams, 72);
LAYOUT(thread_limit, 84);
LAYOUT(dynamic_memory, 96);

static void show_saxpy(int64_t device) {
  const float a = 2, x[3] = {1, 2, 3};
  float y[3] = {10, 20, 30};
  const uint64_t n = 3;
  offloom_launch launch;
  offloom_status status;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(saxpy));
  launch.device = device;
  offloom_value(&launch, &a, sizeof a);
  offloom_value(&launch, &n, sizeof n);
  offloom_map_to(&launch, x, sizeof x);
  offloom_map_tofrom(&launch, y, sizeof y);
  status = offloom_launch_run(&launch);
  printf("saxpy: %g %g %g, %s\n", y[0], y[1], y[2], offloom_status_message(status));
}

static void show_values(void) {
  const signed char a = -1;
  const float b = -1;
  const uint64_t c = UINT64_C(0x0123456789abcdef);
  const struct {
    unsigned char bytes[3];
  } d = {{1, 2, 3}};
  uint64_t seen[4] = {0, 0, 0, 0};
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(values));
  offloom_value(&launch, &a, sizeof a);
  offloom_value(&launch, &b, sizeof b);
  offloom_value(&launch, &c, sizeof c);
  offloom_value(&launch, &d, sizeof d);
  offloom_map_from(&launch, seen, sizeof seen);
  if (offloom_launch_run(&launch) == OFFLOOM_SUCCESS)
    printf("values: %llx %llx %llx %llx\n", (unsigned long long)seen[0], (unsigned long long)seen[1],
           (unsigned long long)seen[2], (unsigned long long)seen[3]);
}

static void show_map_types(void) {
  const uint64_t n = 1;
  int32_t to = 1, from = 7, tofrom = 10, alloc = 7;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(maps));
  offloom_value(&launch, &n, sizeof n);
  offloom_map_to(&launch, &to, sizeof to);
  offloom_map_from(&launch, &from, sizeof from);
  offloom_map_tofrom(&launch, &tofrom, sizeof tofrom);
  offloom_map_alloc(&launch, &alloc, sizeof alloc);
  if (offloom_launch_run(&launch) == OFFLOOM_SUCCESS)
    printf("map types: to %d from %d tofrom %d alloc %d\n", to, from, tofrom, alloc);
}

static void show_data(void) {
  const uint64_t n = 1;
  const int64_t device = 3;
  int32_t data = 1;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(increment));
  launch.device = device;
  offloom_value(&launch, &n, sizeof n);
  offloom_map_tofrom(&launch, &data, sizeof data);
  offloom_data_begin(device, &data, sizeof data, OFFLOOM_TOFROM);
  offloom_launch_run(&launch);
  printf("data: after a launch %d", data);
  offloom_data_update(device, &data, sizeof data, OFFLOOM_FROM);
  printf(", updated %d", data);
  data = 100;
  offloom_data_update(device, &data, sizeof data, OFFLOOM_TO);
  offloom_launch_run(&launch);
  offloom_launch_run(&launch);
  data = 0;
  offloom_data_end(device, &data, sizeof data, OFFLOOM_TOFROM);
  printf(", ended %d\n", data);
}

static void show_repetition(void) {
  uint64_t count = 0;
  int i, done = 0;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(count_launches));
  offloom_map_from(&launch, &count, sizeof count);
  for (i = 0; i < 20; i++)
    done += offloom_launch_run(&launch) == OFFLOOM_SUCCESS;
  printf("repetition: %d done, %d counted\n", done, (int)count);
}

void *omp_get_mapped_ptr(const void *pointer, int device);

static void show_device_pointer(void) {
  const uint64_t n = 1;
  int32_t data = 1;
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(increment));
  launch.device = 1;
  offloom_value(&launch, &n, sizeof n);
  offloom_data_begin(1, &data, sizeof data, OFFLOOM_TOFROM);
  offloom_device_pointer(&launch, omp_get_mapped_ptr(&data, 1));
  offloom_launch_run(&launch);
  offloom_data_end(1, &data, sizeof data, OFFLOOM_TOFROM);
  printf("device pointer: %d\n", data);
}

static void show_mistakes(void) {
  uint64_t i, sum = 0;
  const struct {
    uint64_t a, b;
  } large = {1, 2};
  offloom_launch launch;
  offloom_launch_init(&launch, OFFLOOM_REGION_OF(many));
  for (i = 1; i < OFFLOOM_MAX_ARGUMENTS; i++)
    offloom_value(&launch, &i, sizeof i);
  offloom_map_from(&launch, &sum, sizeof sum);
  offloom_launch_run(&launch);
  printf("%d arguments: sum %d\n", (int)launch.argument_count, (int)sum);
  offloom_value(&launch, &i, sizeof i);
  printf("one more: %s\n", offloom_status_message(offloom_launch_run(&launch)));

  offloom_launch_init(&launch, OFFLOOM_REGION_OF(values));
  offloom_value(&launch, &large, sizeof large);
  offloom_value(&launch, &i, sizeof i);
  printf("16 bytes: %s\n", offloom_status_message(offloom_launch_run(&launch)));
  printf("device 5: %s\n", offloom_status_message(offloom_data_begin(5, &sum, sizeof sum, OFFLOOM_TO)));
}

int main(void) {
  // DEVICE: saxpy: 12 24 36, done
  // HOST: saxpy: 10 20 30, not offloaded: offloading is disabled or the device is the host
  show_saxpy(OFFLOOM_DEFAULT_DEVICE);
  // DEVICE: saxpy: 12 24 36, done
  // HOST: saxpy: 10 20 30, not offloaded
  show_saxpy(3);
  // The number after the last device is the host.
  // CHECK: saxpy: 10 20 30, not offloaded
  show_saxpy(4);
  // CHECK: saxpy: 10 20 30, no such device: the number is larger than omp_get_num_devices()
  show_saxpy(-2);
  // DEVICE: values: ff bf800000 123456789abcdef 30201
  // HOST-NOT: values:
  show_values();
  // DEVICE: map types: to 1 from 110 tofrom -10 alloc 7
  // HOST-NOT: map types:
  show_map_types();
  // DEVICE: data: after a launch 1, updated 2, ended 102
  // HOST: data: after a launch 1, updated 1, ended 0
  show_data();
  // DEVICE: repetition: 20 done, 20 counted
  // HOST: repetition: 0 done, 0 counted
  show_repetition();
  // DEVICE: device pointer: 2
  // HOST: device pointer: 1
  show_device_pointer();
  // The sum of i * ((i - 1) % 8 + 1) for i from 1 to 63.
  // DEVICE: 64 arguments: sum 9184
  // HOST: 64 arguments: sum 0
  // CHECK: one more: too many kernel arguments
  // CHECK: 16 bytes: a by-value kernel argument has more than 8 bytes
  // DEVICE: device 5: no such device
  show_mistakes();
  return 0;
}
