// All that a program may do with the driver around launches that are seen: a program that keeps the driver's functions in a table of its own,
// as libomptarget does, and whose kernel has a variant.
//
// REQUIRES: cuda, virtual-gpu
// RUN: rm -rf %t && mkdir -p %t && split-file %s %t && cd %t
// RUN: %clang -O1 -Wall -Werror program.c -o program -ldl
// RUN: %cuda/bin/ptxas -arch sm_80 variant.ptx -o variant.cubin
// RUN: %cuda/bin/ptxas -arch sm_80 exact.ptx -o exact.cubin
// RUN: %cuda/bin/ptxas -arch sm_80 local.ptx -o local.cubin
// RUN: %cuda/bin/ptxas -arch sm_80 base.ptx -o base.cubin
// DEFINE: %{environment} = LD_LIBRARY_PATH=%virtual_gpu LD_PRELOAD=%jit_cuda_test JIT_CUDA_TEST_PARAMETERS=4
// DEFINE: %{run} = env %{environment} JIT_CUDA_TEST_VARIANTS=kernel=variant.cubin ./program
//
// Arguments by pointers and in a buffer, narrow ones without what lies above them; `cuLaunchKernelEx`, where what says how blocks work together keeps the
// base's kernel.
// RUN: %{run} ways 2> ways.err | FileCheck --check-prefix=WAYS %s
// RUN: FileCheck --check-prefix=WORDS --input-file=ways.err %s
// WAYS: pointers 2, buffer 2, plain 2, priority 2, cluster 1, cooperative 1, not cooperative 2
// WORDS: words 0xfffffff9 0xe1 0x123456789abcdef0
// WORDS: 5 launches, 5 of the variant, 1 loads
//
// What was set for the kernel before the variant came, and is set later, holds for the variant.
// RUN: %{run} attributes 2> attributes.err | FileCheck --check-prefix=ATTRIBUTES %s
// RUN: FileCheck --check-prefix=SET --input-file=attributes.err %s
// ATTRIBUTES: before 2, later 2
// SET: 2 launches, 2 of the variant, 1 loads, 0 unloads, 0 refused
//
// The driver refuses the variant for this block: the base's kernel runs, from then on without asking the driver.
// RUN: env %{environment} JIT_CUDA_TEST_VARIANTS=kernel=exact.cubin ./program refused 2> refused.err | FileCheck --check-prefix=REFUSED %s
// RUN: FileCheck --check-prefix=ONCE --input-file=refused.err %s
// REFUSED: fits 2, does not 1, then 1
// ONCE: test: refused: CUDA_ERROR_INVALID_VALUE (1)
// ONCE: 3 launches, 2 of the variant, 1 loads, {{[01]}} unloads, 1 refused
//
// Local memory that the context has for no kernel would have to be got, which waits for all that runs.
// RUN: env %{environment} JIT_CUDA_TEST_VARIANTS=kernel=local.cubin ./program refused > held.out 2> held.err
// RUN: FileCheck --check-prefix=HELD --input-file=held.out %s
// HELD: fits 2,
// RUN: env %{environment} JIT_CUDA_TEST_VARIANTS=kernel=local.cubin SMALL_STACK=1 ./program refused 2> local.err | FileCheck --check-prefix=LOCAL %s
// RUN: FileCheck --check-prefix=MEMORY --input-file=local.err %s
// LOCAL: fits 1, does not 1, then 1
// MEMORY: not loaded: it needs {{[1-9][0-9]*}} bytes of local memory for each thread, the kernel of the device image 0, and the context has 1{{$}}
//
// The module is unloaded and loaded again; then its context is destroyed, or reset, with all that is in it.
// RUN: %{run} unload 2> unload.err | FileCheck --check-prefix=UNLOAD %s
// RUN: FileCheck --check-prefix=LOADED --input-file=unload.err %s
// UNLOAD: first 2, again 2, other 2, after it 2, after the reset 2
// LOADED: test: image 4: 1 launches, 1 of the variant, 1 loads
//
// A child launches nothing of ours, and ends as it likes.
// RUN: %{run} fork 2> fork.err | FileCheck --check-prefix=FORK %s
// RUN: FileCheck --check-prefix=PARENT --input-file=fork.err %s
// FORK: child ended with 0
// FORK: parent 2
// PARENT: 2 launches, 2 of the variant
//
// Kernels that were there before calls are seen are met when they are launched; those without a variant go by.
// RUN: %{run} late 2> late.err | FileCheck --check-prefix=LATE %s
// RUN: FileCheck --check-prefix=MET --input-file=late.err %s
// LATE: late 2, plain 3
// MET: 1 launches, 1 of the variant
//
// While a graph is recorded: launches become a part of it with the base's kernel. What is done for others, a load here and times there, does not
// spoil the recording.
// RUN: %{run} capture 2> capture.err | FileCheck --check-prefix=CAPTURE %s
// RUN: env %{environment} JIT_CUDA_TEST_VARIANTS=kernel=variant.cubin JIT_CUDA_TEST_TIMED=1 ./program capture | FileCheck --check-prefix=CAPTURE %s
// RUN: FileCheck --check-prefix=GRAPH --input-file=capture.err %s
// CAPTURE: beside it 2, graph 1
// GRAPH: 1 launches, 1 of the variant, 1 loads
//
// The process ends while a variant is loaded in the background, and while kernels run.
// RUN: env %{environment} JIT_CUDA_TEST_LOAD=async JIT_CUDA_TEST_TIMED=1 JIT_CUDA_TEST_VARIANTS=kernel=variant.cubin ./program end

//--- program.c
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  unsigned grid[3], block[3], shared;
  void *stream;
  void *attributes;
  unsigned attribute_count;
} configuration_t;

typedef struct {
  unsigned number, padding;
  unsigned value[16];
} attribute_t;

// As libomptarget has it.
static struct {
  int (*load)(void **, const void *, unsigned, void *, void *);
  int (*unload)(void *);
  int (*get)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*launch_ex)(configuration_t *, void *, void **, void **);
  int (*set)(void *, int, int);
} table;

static void *driver;

static int call_(const char *name, uint64_t a, uint64_t b, uint64_t c) {
  int (*function)(uint64_t, uint64_t, uint64_t) = (int (*)(uint64_t, uint64_t, uint64_t))dlsym(driver, name);
  int status = function ? function(a, b, c) : -1;
  if (status) {
    printf("%s: %d\n", name, status);
    exit(1);
  }
  return status;
}
#define call(name, a, b, c) call_(name, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))

static void expect(int status, const char *what) {
  if (!status)
    return;
  printf("%s: %d\n", what, status);
  exit(1);
}

static uint64_t memory;
static void *context;
static char *base;
// What lies above the bytes of a parameter is not the parameter.
static uint64_t narrow[2] = {0xaaaaaaaafffffff9, 0xbbbbbbbbbbbbbbe1};
static uint64_t wide = 0x123456789abcdef0;

static void install(void) {
  void (*function)(const void *) = (void (*)(const void *))dlsym(RTLD_DEFAULT, "jit_cuda_test_install");
  if (function)
    function(&table);
}

static void begin(int device) {
  call("cuDevicePrimaryCtxRetain", &context, device, 0);
  call("cuCtxSetCurrent", context, 0, 0);
  call("cuMemAlloc_v2", &memory, 4, 0);
}

static void *kernel_of(void *module, const char *name) {
  void *function;
  expect(table.get(&function, module, name), "cuModuleGetFunction");
  return function;
}

static void *load(void) {
  void *module;
  expect(table.load(&module, base, 0, NULL, NULL), "cuModuleLoadDataEx");
  return module;
}

static int mark(void) {
  int value = 0;
  call("cuCtxSynchronize", 0, 0, 0);
  call("cuMemcpyDtoH_v2", &value, memory, 4);
  return value;
}

static int launch(void *function, unsigned threads, unsigned shared) {
  void *parameters[] = {&memory, &narrow[0], &narrow[1], &wide};
  expect(table.launch(function, 1, 1, 1, threads, 1, 1, shared, NULL, parameters, NULL), "cuLaunchKernel");
  return mark();
}

static int launch_buffer(void *function) {
  struct {
    uint64_t memory;
    uint32_t first;
    uint8_t second;
    uint64_t third;
  } buffer = {memory, (uint32_t)narrow[0], (uint8_t)narrow[1], wide};
  size_t size = sizeof buffer;
  void *extra[] = {(void *)1, &buffer, (void *)2, &size, NULL};
  expect(table.launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra), "cuLaunchKernel with a buffer");
  return mark();
}

static int launch_ex(void *function, unsigned count, unsigned number, unsigned value) {
  attribute_t attribute = {number, 0, {value, 1, 1}};
  configuration_t configuration = {{1, 1, 1}, {32, 1, 1}, 0, NULL, &attribute, count};
  void *parameters[] = {&memory, &narrow[0], &narrow[1], &wide};
  expect(table.launch_ex(&configuration, function, parameters, NULL), "cuLaunchKernelEx");
  return mark();
}

static char *read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  static char bytes[1 << 20];
  if (!file || !fread(bytes, 1, sizeof bytes, file))
    exit(1);
  fclose(file);
  return bytes;
}

int main(int count, char **arguments) {
  const char *what = arguments[1];
  driver = dlopen("libcuda.so", RTLD_NOW);
  table.load = (int (*)(void **, const void *, unsigned, void *, void *))dlsym(driver, "cuModuleLoadDataEx");
  table.unload = (int (*)(void *))dlsym(driver, "cuModuleUnload");
  table.get = (int (*)(void **, void *, const char *))dlsym(driver, "cuModuleGetFunction");
  *(void **)&table.launch = dlsym(driver, "cuLaunchKernel");
  *(void **)&table.launch_ex = dlsym(driver, "cuLaunchKernelEx");
  *(void **)&table.set = dlsym(driver, "cuFuncSetAttribute");
  base = read_file("base.cubin");
  call("cuInit", 0, 0, 0);
  begin(0);
  int late = !strcmp(what, "late");
  if (!late)
    install();
  void *module = load();
  void *kernel = kernel_of(module, "kernel");
  if (!strcmp(what, "ways")) {
    int pointers = launch(kernel, 32, 0), buffer = launch_buffer(kernel);
    int plain = launch_ex(kernel, 0, 0, 0), priority = launch_ex(kernel, 1, 8, 0);
    int cluster = launch_ex(kernel, 1, 4, 1), cooperative = launch_ex(kernel, 1, 2, 1), apart = launch_ex(kernel, 1, 2, 0);
    printf("pointers %d, buffer %d, plain %d, priority %d, cluster %d, cooperative %d, not cooperative %d\n", pointers, buffer, plain,
           priority, cluster, cooperative, apart);
  } else if (!strcmp(what, "attributes")) {
    expect(table.set(kernel, 8, 64 << 10), "cuFuncSetAttribute");
    int before = launch(kernel, 32, 64 << 10);
    expect(table.set(kernel, 8, 96 << 10), "cuFuncSetAttribute");
    printf("before %d, later %d\n", before, launch(kernel, 32, 96 << 10));
  } else if (!strcmp(what, "refused")) {
    // CU_LIMIT_STACK_SIZE
    if (getenv("SMALL_STACK"))
      call("cuCtxSetLimit", 0, (void *)1, 0);
    int fits = launch(kernel, 32, 0), does_not = launch(kernel, 64, 0);
    printf("fits %d, does not %d, then %d\n", fits, does_not, launch(kernel, 32, 0));
  } else if (!strcmp(what, "unload")) {
    int first = launch(kernel, 32, 0);
    expect(table.unload(module), "cuModuleUnload");
    module = load();
    kernel = kernel_of(module, "kernel");
    int again = launch(kernel, 32, 0);
    // A context of the program's own.
    void *primary = context, *own;
    uint64_t primary_memory = memory;
    call("cuCtxCreate_v2", &own, 0, 0);
    call("cuMemAlloc_v2", &memory, 4, 0);
    int other = launch(kernel_of(load(), "kernel"), 32, 0);
    call("cuCtxDestroy_v2", own, 0, 0);
    memory = primary_memory;
    call("cuCtxSetCurrent", primary, 0, 0);
    int after = launch(kernel_of(load(), "kernel"), 32, 0);
    call("cuDevicePrimaryCtxReset_v2", 0, 0, 0);
    begin(0);
    int reset = launch(kernel_of(load(), "kernel"), 32, 0);
    printf("first %d, again %d, other %d, after it %d, after the reset %d\n", first, again, other, after, reset);
  } else if (!strcmp(what, "fork")) {
    launch(kernel, 32, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      void *parameters[] = {&memory, &narrow[0], &narrow[1], &wide};
      table.launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
      exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child ended with %d\n", status);
    printf("parent %d\n", launch(kernel, 32, 0));
  } else if (!strcmp(what, "capture")) {
    void *recorded, *other, *graph, *executable;
    void *parameters[] = {&memory, &narrow[0], &narrow[1], &wide};
    int value;
    call("cuStreamCreate", &recorded, 0, 0);
    call("cuStreamCreate", &other, 1, 0);
    call("cuStreamBeginCapture_v2", recorded, 0, 0);
    expect(table.launch(kernel, 1, 1, 1, 32, 1, 1, 0, other, parameters, NULL), "cuLaunchKernel beside a recording");
    call("cuStreamSynchronize", other, 0, 0);
    // Times are read in this time.
    usleep(50000);
    expect(table.launch(kernel, 1, 1, 1, 32, 1, 1, 0, recorded, parameters, NULL), "cuLaunchKernel on a stream that records");
    call("cuStreamEndCapture", recorded, &graph, 0);
    call("cuMemcpyDtoH_v2", &value, memory, 4);
    call("cuGraphInstantiateWithFlags", &executable, graph, 0);
    call("cuGraphLaunch", executable, recorded, 0);
    printf("beside it %d, graph %d\n", value, mark());
  } else if (late) {
    void *plain = kernel_of(module, "plain");
    install();
    int met = launch(kernel, 32, 0);
    printf("late %d, plain %d\n", met, launch(plain, 32, 0));
  } else {
    void *parameters[] = {&memory, &narrow[0], &narrow[1], &wide};
    for (int number = 0; number < 100; ++number)
      expect(table.launch(kernel, 64, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL), "cuLaunchKernel");
  }
  return 0;
}
//--- base.ptx
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry kernel(.param .u64 p, .param .u32 a, .param .u8 b, .param .u64 c) {
  .reg .u64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 1;
  ret;
}
.visible .entry plain(.param .u64 p, .param .u32 a, .param .u8 b, .param .u64 c) {
  .reg .u64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 3;
  ret;
}
//--- variant.ptx
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry kernel(.param .u64 p, .param .u32 a, .param .u8 b, .param .u64 c) {
  .reg .u64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 2;
  ret;
}
//--- exact.ptx
.version 7.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 p, .param .u32 a, .param .u8 b, .param .u64 c) .reqntid 32, 1, 1 {
  .reg .u64 %a;
  ld.param.u64 %a, [p];
  st.global.u32 [%a], 2;
  ret;
}
//--- local.ptx
.version 7.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 p, .param .u32 a, .param .u8 b, .param .u64 c) {
  .local .align 4 .b8 buffer[400];
  .reg .u64 %a, %l, %i;
  .reg .u32 %v, %n;
  ld.param.u64 %a, [p];
  ld.param.u32 %n, [a];
  and.b32 %n, %n, 63;
  mul.wide.u32 %i, %n, 4;
  mov.u64 %l, buffer;
  add.u64 %l, %l, %i;
  st.local.u32 [%l], 2;
  ld.local.u32 %v, [buffer+228];
  st.global.u32 [%a], %v;
  ret;
}
