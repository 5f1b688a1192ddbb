// Graphs that are recorded of launches on a stream, and what may not be done while one is recorded.
// REQUIRES: virtual-gpu
// RUN: %clang %s -o %t -L%virtual_gpu -lcuda
// RUN: env LD_LIBRARY_PATH=%virtual_gpu %t
#include "Inputs/driver.h"

int cuStreamBeginCapture_v2(stream_t, unsigned);
int cuStreamEndCapture(stream_t, void **);
int cuStreamIsCapturing(stream_t, unsigned *);
int cuThreadExchangeStreamCaptureMode(unsigned *);
int cuGraphInstantiateWithFlags(void **, void *, uint64_t);
int cuGraphLaunch(void *, stream_t);
int cuGraphExecDestroy(void *);
int cuGraphDestroy(void *);

static const char kernels[] = HEAD
    ".visible .entry add(.param .u64 p, .param .u32 v) { .reg .u64 %a; .reg .u32 %o, %v;\n"
    "  ld.param.u64 %a, [p]; ld.param.u32 %v, [v]; ld.global.u32 %o, [%a]; add.u32 %v, %v, %o; st.global.u32 [%a], %v; ret; }\n";

enum { global, thread_local_mode, relaxed };
enum { none, active, invalidated };

int main(void) {
  context_t context;
  module_t module, other;
  function_t add;
  stream_t stream, plain;
  event_t event;
  address_t memory;
  void *graph, *executable;
  unsigned status;
  expect(0, cuInit(0));
  expect(0, cuDevicePrimaryCtxRetain(&context, 0));
  expect(0, cuCtxSetCurrent(context));
  expect(0, cuModuleLoadData(&module, kernels));
  expect(0, cuModuleGetFunction(&add, module, "add"));
  expect(0, cuMemAlloc_v2(&memory, 4));
  expect(0, cuMemsetD32_v2(memory, 0, 1));
  expect(0, cuStreamCreate(&stream, 0));
  expect(0, cuStreamCreate(&plain, 1));
  expect(0, cuEventCreate(&event, 0));
  unsigned value = 5;
  void *parameters[] = {&memory, &value};

  // Launches are recorded with their arguments, and run when the graph is launched.
  expect(401, cuStreamEndCapture(stream, &graph));
  expect(0, cuStreamBeginCapture_v2(stream, global));
  expect(401, cuStreamBeginCapture_v2(stream, global));
  expect(0, cuStreamIsCapturing(stream, &status));
  require(status == active);
  expect(0, cuStreamIsCapturing(plain, &status));
  require(status == none);
  expect(906, cuStreamIsCapturing(NULL, &status));
  expect(0, launch(add, 1, stream, parameters));
  value = 7;
  expect(0, launch(add, 1, stream, parameters));
  // Another stream goes on.
  value = 100;
  expect(0, launch(add, 1, plain, parameters));
  expect(0, cuStreamSynchronize(plain));
  // What may wait is refused, unless the thread says that it will not.
  unsigned mode = relaxed;
  expect(0, cuThreadExchangeStreamCaptureMode(&mode));
  require(mode == global);
  expect(0, cuModuleLoadData(&other, kernels));
  expect(0, cuModuleUnload(other));
  expect(0, cuEventQuery(event));
  expect(0, cuThreadExchangeStreamCaptureMode(&mode));
  require(mode == relaxed);
  expect(0, cuStreamEndCapture(stream, &graph));
  unsigned result;
  expect(0, cuMemcpyDtoH_v2(&result, memory, 4));
  require(result == 100);
  expect(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
  expect(0, cuGraphDestroy(graph));
  for (int time = 0; time < 2; ++time)
    expect(0, cuGraphLaunch(executable, stream));
  expect(0, cuCtxSynchronize());
  expect(0, cuMemcpyDtoH_v2(&result, memory, 4));
  require(result == 124);
  expect(0, cuGraphExecDestroy(executable));
  expect(1, cuGraphLaunch(executable, stream));

  // Each of these spoils a recording.
  for (int wrong = 0; wrong < 6; ++wrong) {
    expect(0, cuStreamBeginCapture_v2(stream, global));
    switch (wrong) {
    case 0: expect(900, cuModuleLoadData(&other, kernels)); break;
    case 1: expect(900, cuEventQuery(event)); break;
    case 2: expect(900, cuStreamSynchronize(stream)); break;
    case 3: expect(906, launch(add, 1, NULL, parameters)); break;
    case 4: expect(906, cuMemcpyDtoH_v2(&result, memory, 4)); break;
    case 5: expect(900, cuMemAlloc_v2(&memory, 4)); break;
    }
    expect(0, cuStreamIsCapturing(stream, &status));
    require(status == invalidated);
    expect(901, cuStreamEndCapture(stream, &graph));
    require(graph == NULL);
  }
  expect(0, cuStreamIsCapturing(NULL, &status));
  return 0;
}
