// The cache's files are larger than the program may write: nothing is kept, and the signal for that does not reach the program, which
// would end it.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit=only %s -o only %omp_link
// DEFINE: %{only} = env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_LOG=1 OFFLOOM_JIT=sync
// RUN: %{only} %run_offload ./only 2> log | FileCheck %s
// RUN: FileCheck --check-prefix=LOG --input-file=log %s
// The largest file is the image with its bundle; the image alone, which libomptarget writes, is smaller.
// RUN: find cache/v2 -type f -printf '%%s\n' | sort -n | tail -n 1 > size
// RUN: rm -r cache
// RUN: %{only} sh -c 'ulimit -f $((($(cat size) - 1) / 512)); exec "$@"' sh %run_offload ./only 2> log | FileCheck %s
// RUN: FileCheck --check-prefixes=LOG,LIMIT --input-file=log %s
// RUN: find cache/v2/temporary -type f | count 0
// LOG: the image of this program was compiled in
// LIMIT: cannot write {{.*}}: File too large
// CHECK: 42
#include <cstdio>

int main() {
  int value = 0;
#pragma omp target map(tofrom : value)
  value = 42;
  std::printf("%d\n", value);
  return 0;
}
