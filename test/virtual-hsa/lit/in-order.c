// Queues, signals, copies and handlers work together as a device's do: barriers and copies wait for signals, handlers run when a signal has
// its value, and an intercepted queue shows its packets to a handler, which launches something else before.
// RUN: rm -rf %t && mkdir %t
// RUN: %clang -Wall -Werror -Wno-unused-function -shared -fPIC %S/Inputs/tool.c -o %t/libtool.so
// RUN: %clang -Wall -Werror %s -o %t/program -L%t -ltool -L%virtual_hsa -lhsa-runtime64
// RUN: rm -f %t.log
// RUN: env LD_LIBRARY_PATH=%virtual_hsa:%t HSA_TOOLS_LIB=%t/libtool.so OFFLOOM_VIRTUAL_HSA_LOG=%t.log %t/program %S/../data/kernels.hsaco | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=%t.log %s
#include "Inputs/hsa.h"
#include <sys/wait.h>
#include <unistd.h>

static int handled;

static bool handler(int64_t value, void *next) {
  handled = value == 0;
  hsa_signal_subtract_screlease(*(handle_t *)next, 1);
  return false;
}

// Launches what it sees twice, the first time without its signal.
static void intercept(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  packet_t twice[2];
  memcpy(twice, packets, sizeof *twice);
  twice[1] = twice[0];
  twice[0].completion = 0;
  printf("packet %d of the program, data %s\n", (int)index, (const char *)data);
  writer(twice, 2);
}

int main(int count, char **arguments) {
  queue_t *queue;
  handle_t first, copied, last, done, executable;
  int *from, *to;
  uint64_t times[2];
  code_file = arguments[1];
  begin();
  executable = executable_for(agents[1]);
  expect(SUCCESS, hsa_signal_create(1, 0, NULL, &first));
  expect(SUCCESS, hsa_signal_create(1, 0, NULL, &copied));
  expect(SUCCESS, hsa_signal_create(1, 0, NULL, &last));
  expect(SUCCESS, hsa_signal_create(1, 0, NULL, &done));
  expect(SUCCESS, hsa_amd_memory_pool_allocate(device_pools[0], 4096, 0, (void **)&from));
  expect(SUCCESS, hsa_amd_memory_pool_allocate(host_pools[0], 4096, 0, (void **)&to));
  expect(SUCCESS, hsa_amd_agents_allow_access(1, &agents[1], NULL, to));
  expect(SUCCESS, hsa_amd_memory_fill(from, 42, 1024));

  // From the back: a launch that waits for a handler, which waits for a copy, which waits for a signal.
  expect(SUCCESS, hsa_amd_queue_intercept_create(agents[1], 16, 0, NULL, NULL, -1, -1, &queue));
  expect(SUCCESS, hsa_amd_profiling_set_profiler_enabled(queue, 1));
  packet_t barrier = {.header = 0x1403};
  memcpy((char *)&barrier + 8, &last, sizeof last);
  add(queue, barrier);
  expect(SUCCESS, hsa_amd_queue_intercept_register(queue, intercept, "mine"));
  add(queue, launch(kernel(executable, "fixed.kd"), done));
  expect(SUCCESS, hsa_amd_signal_async_handler(copied, 0, 0, handler, &last));
  expect(SUCCESS, hsa_amd_memory_async_copy(to, agents[1], from, agents[1], 4096, 1, &first, copied));
  expect(1, hsa_signal_wait_scacquire(done, 0, 0, 1000, 0));
  expect(0, to[1023]);
  hsa_signal_subtract_screlease(first, 1);
  expect(0, hsa_signal_wait_scacquire(done, 0, 0, UINT64_MAX, 0));
  expect(SUCCESS, hsa_amd_profiling_get_dispatch_time(agents[1], done, times));
  // CHECK: packet 1 of the program, data mine
  // CHECK-NEXT: handled 1, copied 42, times in order 1
  printf("handled %d, copied %d, times in order %d\n", handled, to[1023], times[0] < times[1]);

  expect(SUCCESS, hsa_queue_destroy(queue));
  expect(SUCCESS, hsa_executable_destroy(executable));
  expect(SUCCESS, hsa_amd_memory_pool_free(from));
  expect(SUCCESS, hsa_signal_destroy(first));
  // What a forked process ends with is no summary.
  if (fork() == 0)
    exit(0);
  wait(NULL);
  expect(SUCCESS, hsa_shut_down());
  // LOG: queue: id=0 agent=gfx90a:sramecc+:xnack- size=16 intercepted
  // LOG-NEXT: kernel: fixed queue=0 grid=64x2x1 workgroup=32x2x1 private=0 group=0 kernarg=0 explicit= image=0 hash=
  // LOG-NEXT: kernel: fixed queue=0
  // LOG-NEXT: left: an allocation of 4096 bytes
  // LOG-NEXT: summary: packets=3 kernels=2 faults=0 left: signals=3 allocations=1 locks=0 executables=0 queues=0
  // LOG-NOT: {{.}}
}
