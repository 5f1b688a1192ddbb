// What programs do wrong: where a function can say so, it ends with the status that AMD's runtime has for it; what a device meets is told
// to the queue's callback, and ends the process. Each is one line of the error stream.
// RUN: rm -rf %t && mkdir %t
// RUN: %clang -Wall -Werror -Wno-unused-function -shared -fPIC %S/Inputs/tool.c -o %t/libtool.so
// RUN: %clang -Wall -Werror %s -o %t/program -L%t -ltool -L%virtual_hsa -lhsa-runtime64
// RUN: env LD_LIBRARY_PATH=%virtual_hsa:%t HSA_TOOLS_LIB=%t/libtool.so OFFLOOM_VIRTUAL_HSA=gfx90a,gfx1030 OFFLOOM_VIRTUAL_HSA_KERNEL_TIME=2000000 %t/program %S/../data/kernels.hsaco 2>&1 | FileCheck %s
#include "Inputs/hsa.h"
#include <sys/wait.h>
#include <unistd.h>

static void callback(int status, queue_t *queue, void *data) {
  const char *text;
  hsa_status_string(status, &text);
  printf("callback with data %s: %.*s\n", (const char *)data, (int)strcspn(text, ":"), text);
  fflush(stdout);
}

static queue_t *queue(void) {
  queue_t *made;
  expect(SUCCESS, hsa_queue_create(agents[1], 16, 0, callback, "mine", -1, -1, &made));
  return made;
}

static handle_t signal_of(int64_t value) {
  handle_t made;
  expect(SUCCESS, hsa_signal_create(value, 0, NULL, &made));
  return made;
}

// The program waits for what never comes, but for the end of the process.
static void wait_for(handle_t signal) { hsa_signal_wait_scacquire(signal, 0, 0, UINT64_MAX, 0); }

static void destroyed_kernel(void) {
  handle_t executable = executable_for(agents[1]), done = signal_of(1);
  uint64_t object = kernel(executable, "fixed.kd");
  expect(SUCCESS, hsa_executable_destroy(executable));
  add(queue(), launch(object, done));
  wait_for(done);
}

static void destroyed_while_it_runs(void) {
  handle_t executable = executable_for(agents[1]), done = signal_of(1);
  queue_t *made = queue();
  add(made, launch(kernel(executable, "fixed.kd"), done));
  while (hsa_queue_load_read_index_scacquire(made) == 0)
    ;
  // The kernel runs now, or is about to.
  expect(SUCCESS, hsa_executable_destroy(executable));
  wait_for(done);
}

static void wrong_workgroup(void) {
  handle_t done = signal_of(1);
  packet_t packet = launch(kernel(executable_for(agents[1]), "fixed.kd"), done);
  packet.workgroup[1] = 1;
  add(queue(), packet);
  wait_for(done);
}

static void arguments_elsewhere(void) {
  handle_t done = signal_of(1);
  packet_t packet = launch(kernel(executable_for(agents[1]), "add.kd"), done);
  packet.private_size = 16;
  packet.group_size = 128;
  expect(SUCCESS, hsa_amd_memory_pool_allocate(host_pools[0], 64, 0, &packet.arguments));
  expect(SUCCESS, hsa_amd_agents_allow_access(1, &agents[1], NULL, packet.arguments));
  add(queue(), packet);
  wait_for(done);
}

static void arguments_not_allowed(void) {
  handle_t done = signal_of(1);
  packet_t packet = launch(kernel(executable_for(agents[1]), "add.kd"), done);
  packet.private_size = 16;
  packet.group_size = 128;
  expect(SUCCESS, hsa_amd_memory_pool_allocate(host_pools[1], 64, 0, &packet.arguments));
  add(queue(), packet);
  wait_for(done);
}

static void doorbell_too_early(void) { hsa_signal_store_relaxed(queue()->doorbell_signal, 0); }

static void destroyed_signal(void) {
  handle_t signal = signal_of(1);
  expect(SUCCESS, hsa_signal_destroy(signal));
  hsa_signal_load_scacquire(signal);
}

static void destroyed_while_awaited(void) {
  handle_t awaited = signal_of(1), done = signal_of(1);
  packet_t barrier = {.header = 0x1403, .completion = done};
  // The first signal that is waited for lies where a launch has its sizes.
  memcpy((char *)&barrier + 8, &awaited, sizeof awaited);
  add(queue(), barrier);
  expect(SUCCESS, hsa_signal_destroy(awaited));
  wait_for(done);
}

static void unfinished_queue(void) {
  handle_t awaited = signal_of(1);
  packet_t barrier = {.header = 0x1403};
  queue_t *made = queue();
  memcpy((char *)&barrier + 8, &awaited, sizeof awaited);
  add(made, barrier);
  expect(INVALID_QUEUE, hsa_queue_destroy(made));
  expect(INVALID_QUEUE, hsa_queue_destroy(made));
}

static void wrong_memory(void) {
  handle_t done = signal_of(1);
  void *memory;
  char local[64];
  expect(INVALID_ALLOCATION, hsa_amd_memory_pool_allocate(device_pools[1], 64, 0, &memory));
  expect(SUCCESS, hsa_amd_memory_pool_allocate(device_pools[0], 64, 0, &memory));
  expect(INVALID_ARGUMENT, hsa_amd_memory_async_copy(memory, agents[1], local, agents[1], 64, 0, NULL, done));
  expect(INVALID_ARGUMENT, hsa_amd_memory_async_copy((char *)memory + 32, agents[1], memory, agents[1], 33, 0, NULL, done));
  expect(INVALID_ARGUMENT, hsa_amd_memory_async_copy(memory, agents[2], memory, agents[1], 1, 0, NULL, done));
  expect(INVALID_SIGNAL, hsa_amd_memory_async_copy(memory, agents[1], memory, agents[1], 1, 0, NULL, 7));
  expect(INVALID_ARGUMENT, hsa_amd_memory_fill(memory, 1, 17));
  expect(INVALID_ALLOCATION, hsa_amd_memory_pool_free((char *)memory + 1));
  expect(SUCCESS, hsa_amd_memory_pool_free(memory));
  expect(INVALID_ALLOCATION, hsa_amd_memory_pool_free(memory));
  expect(INVALID_ARGUMENT, hsa_amd_memory_unlock(local));
}

static void wrong_code(void) {
  handle_t object = code_object(), executable = executable_for(agents[1]), found;
  static char nothing[64] = "\177ELF";
  expect(FROZEN_EXECUTABLE, hsa_executable_load_code_object(executable, agents[1], object, ""));
  expect(FROZEN_EXECUTABLE, hsa_executable_freeze(executable, ""));
  // What is not there is no fault.
  expect(INVALID_SYMBOL_NAME, hsa_executable_get_symbol_by_name(executable, "none", NULL, &found));
  expect(SUCCESS, hsa_executable_create_alt(1, 1, "", &executable));
  expect(INCOMPATIBLE_ARGUMENTS, hsa_executable_load_code_object(executable, agents[2], object, ""));
  expect(INVALID_AGENT, hsa_executable_load_code_object(executable, agents[0], object, ""));
  expect(INVALID_CODE_OBJECT, hsa_code_object_deserialize(nothing, sizeof nothing, "", &found));
}

static void wrong_queue(void) {
  queue_t *made;
  expect(INVALID_ARGUMENT, hsa_queue_create(agents[1], 5, 0, NULL, NULL, -1, -1, &made));
  expect(INVALID_AGENT, hsa_queue_create(agents[0], 16, 0, NULL, NULL, -1, -1, &made));
  expect(INVALID_QUEUE, hsa_amd_queue_intercept_register(queue(), (void *)abort, NULL));
}

// The host reads a device's memory where it may, and then where it may not.
static void memory_of_device(void) {
  volatile int *memory;
  handle_t both[] = {agents[0], agents[1]};
  expect(SUCCESS, hsa_amd_memory_pool_allocate(device_pools[0], 64, 0, (void **)&memory));
  expect(SUCCESS, hsa_amd_memory_fill((void *)memory, 5, 16));
  expect(SUCCESS, hsa_amd_agents_allow_access(2, both, NULL, (void *)memory));
  printf("allowed: %d\n", memory[15]);
  fflush(stdout);
  expect(SUCCESS, hsa_amd_agents_allow_access(1, &agents[1], NULL, (void *)memory));
  printf("not allowed: %d\n", memory[15]);
}

static queue_t *of_handler;
static writer_t of_last_call;

static void rings(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) {
  add(of_handler, *(const packet_t *)packets);
}

static void keeps(const void *packets, uint64_t count, uint64_t index, void *data, writer_t writer) { of_last_call = writer; }

static queue_t *intercepted(void (*handler)(const void *, uint64_t, uint64_t, void *, writer_t)) {
  expect(SUCCESS, hsa_amd_queue_intercept_create(agents[1], 16, 0, callback, "mine", -1, -1, &of_handler));
  expect(SUCCESS, hsa_amd_queue_intercept_register(of_handler, handler, NULL));
  return of_handler;
}

static void doorbell_in_handler(void) { add(intercepted(rings), (packet_t){.header = 0x1403}); }

static void writer_outside(void) {
  packet_t barrier = {.header = 0x1403};
  add(intercepted(keeps), barrier);
  of_last_call(&barrier, 1);
}

static void signal_after_the_end(void) {
  handle_t signal = signal_of(1);
  expect(SUCCESS, hsa_shut_down());
  hsa_signal_load_scacquire(signal);
}

static void shut_down_twice(void) {
  expect(SUCCESS, hsa_shut_down());
  expect(NOT_INITIALIZED, hsa_shut_down());
  expect(NOT_INITIALIZED, hsa_signal_destroy(1));
}

#define CASE(NAME) \
  { #NAME, NAME }
static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    // CHECK-LABEL: destroyed_kernel
    // CHECK-NEXT: virtual HSA: fault: queue 0: packet 0: its kernel object 0x{{[0-9a-f]+}} is that of kernel `fixed`, whose executable was destroyed
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_INVALID_CODE_OBJECT
    // CHECK-NEXT: ended with 86
    CASE(destroyed_kernel),
    // CHECK-LABEL: destroyed_while_it_runs
    // CHECK-NEXT: virtual HSA: fault: queue 0: packet 0: {{.*}} kernel `fixed`{{.*}} was destroyed
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_{{MEMORY_FAULT|INVALID_CODE_OBJECT}}
    // CHECK-NEXT: ended with 86
    CASE(destroyed_while_it_runs),
    // CHECK-LABEL: wrong_workgroup
    // CHECK-NEXT: virtual HSA: fault: queue 0: packet 0: kernel `fixed` wants work-groups of [32, 2, 1], the packet says [32, 1, 1]
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_INVALID_ARGUMENT
    // CHECK-NEXT: ended with 86
    CASE(wrong_workgroup),
    // CHECK-LABEL: arguments_elsewhere
    // CHECK-NEXT: virtual HSA: fault: queue 0: packet 0: its kernarg_address: 0x{{[0-9a-f]+}} is in no pool for arguments
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_MEMORY_FAULT
    // CHECK-NEXT: ended with 86
    CASE(arguments_elsewhere),
    // CHECK-LABEL: arguments_not_allowed
    // CHECK-NEXT: virtual HSA: fault: queue 0: packet 0: its kernarg_address: agent {{.*}} is not allowed to access 0x
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_MEMORY_FAULT
    // CHECK-NEXT: ended with 86
    CASE(arguments_not_allowed),
    // CHECK-LABEL: doorbell_too_early
    // CHECK-NEXT: virtual HSA: fault: queue 0: the doorbell was rung for packet 0, and 0 were reserved
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_INVALID_ARGUMENT
    // CHECK-NEXT: ended with 86
    CASE(doorbell_too_early),
    // CHECK-LABEL: destroyed_signal
    // CHECK-NEXT: virtual HSA: fault: hsa_signal_load_scacquire: 0x{{[0-9a-f]+}} is no live signal
    // CHECK-NEXT: ended with 86
    CASE(destroyed_signal),
    // CHECK-LABEL: destroyed_while_awaited
    // CHECK-NEXT: virtual HSA: fault: queue 0: packet 0: {{its dep_signal\[0\] 0x[0-9a-f]+ is no live signal|signal 0x[0-9a-f]+ was destroyed while the packet waited for it}}
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_INVALID_SIGNAL
    // CHECK-NEXT: ended with 86
    CASE(destroyed_while_awaited),
    // CHECK-LABEL: unfinished_queue
    // CHECK-NEXT: virtual HSA: fault: hsa_queue_destroy: queue 0 was destroyed with 1 packets that were not finished
    // CHECK-NEXT: virtual HSA: fault: hsa_queue_destroy: 0x{{[0-9a-f]+}} is no queue
    // CHECK-NEXT: ended with 0
    CASE(unfinished_queue),
    // CHECK-LABEL: wrong_memory
    // CHECK-NEXT: fault: hsa_amd_memory_pool_allocate: nothing is allocated from group memory
    // CHECK-NEXT: fault: hsa_amd_memory_async_copy: the source of a copy of 64 bytes: 0x{{[0-9a-f]+}} is no memory that agents know
    // CHECK-NEXT: fault: hsa_amd_memory_async_copy: the destination of a copy of 33 bytes: 33 bytes from 0x{{[0-9a-f]+}} on go 1 bytes beyond
    // CHECK-NEXT: fault: hsa_amd_memory_async_copy: the destination of a copy of 1 bytes: agent {{.*}} is not allowed to access
    // CHECK-NEXT: fault: hsa_amd_memory_async_copy: 0x7 is no live signal
    // CHECK-NEXT: fault: hsa_amd_memory_fill: 68 bytes from 0x{{[0-9a-f]+}} on go 4 bytes beyond
    // CHECK-NEXT: fault: hsa_amd_memory_pool_free: no allocation begins at 0x
    // CHECK-NEXT: fault: hsa_amd_memory_pool_free: no allocation begins at 0x
    // CHECK-NEXT: fault: hsa_amd_memory_unlock: no lock begins at 0x
    // CHECK-NEXT: ended with 0
    CASE(wrong_memory),
    // CHECK-LABEL: wrong_code
    // CHECK-NEXT: fault: hsa_executable_load_code_object: the executable is frozen
    // CHECK-NEXT: fault: hsa_executable_freeze: the executable is frozen already
    // CHECK-NEXT: fault: hsa_executable_load_code_object: it is for `gfx90a`, the device is `gfx1030`
    // CHECK-NEXT: fault: hsa_executable_load_code_object: the agent is no GPU
    // CHECK-NEXT: fault: hsa_code_object_deserialize: it is no whole ELF file
    // CHECK-NEXT: ended with 0
    CASE(wrong_code),
    // CHECK-LABEL: wrong_queue
    // CHECK-NEXT: fault: hsa_queue_create: a queue of 5 packets, where a power of 2 from 4 to 131072 is wanted
    // CHECK-NEXT: fault: hsa_queue_create: the agent is no GPU
    // CHECK-NEXT: fault: hsa_amd_queue_intercept_register: the queue was not made by hsa_amd_queue_intercept_create
    // CHECK-NEXT: ended with 0
    CASE(wrong_queue),
    // CHECK-LABEL: memory_of_device
    // CHECK-NEXT: allowed: 5
    // CHECK-NEXT: ended with -11
    CASE(memory_of_device),
    // CHECK-LABEL: doorbell_in_handler
    // CHECK-NEXT: fault: queue 0: a handler of intercepted packets rings the doorbell of an intercepted queue
    // CHECK-NEXT: callback with data mine: HSA_STATUS_ERROR_INVALID_QUEUE
    // CHECK-NEXT: ended with 86
    CASE(doorbell_in_handler),
    // CHECK-LABEL: writer_outside
    // CHECK-NEXT: fault: the writer of intercepted packets was called outside of a handler
    // CHECK-NEXT: ended with 86
    CASE(writer_outside),
    // CHECK-LABEL: signal_after_the_end
    // CHECK-NEXT: fault: hsa_signal_load_scacquire: HSA_STATUS_ERROR_NOT_INITIALIZED: `hsa_init` was not called
    // CHECK-NEXT: ended with 86
    CASE(signal_after_the_end),
    // CHECK-LABEL: shut_down_twice
    // CHECK-NEXT: ended with 0
    CASE(shut_down_twice),
};

int main(int count, char **arguments) {
  code_file = arguments[1];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int status;
    printf("%s\n", cases[i].name);
    fflush(stdout);
    if (fork() == 0) {
      begin();
      cases[i].run();
      exit(0);
    }
    wait(&status);
    printf("ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    fflush(stdout);
  }
}
