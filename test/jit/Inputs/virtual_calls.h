// Clang 23 has virtual calls in device code look up what they call, and LLVM's x86_64 device, which needs no such thing, has no function
// for it: https://github.com/llvm/llvm-project/pull/184412. Programs with virtual calls link with this one.
#pragma once
#if __clang_major__ == 23
#pragma omp declare target
extern "C" void *__llvm_omp_indirect_call_lookup(void *function) { return function; }
#pragma omp end declare target
#endif
