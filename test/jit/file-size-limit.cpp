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

// A file that is as old as it may be before it is written anew, which the launch does that finds it.
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// DEFINE: %{jit} = env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/timed OFFLOOM_JIT=sync
// RUN: %{jit} %run_offload ./jit launches | FileCheck %s
// RUN: find timed/v2/?? -type f -exec touch -d '2 days ago' '{}' +
// RUN: %{jit} sh -c 'exec "$@" | cat' sh %run_offload ./jit launches limit | FileCheck %s
// RUN: find timed/v2/temporary -type f | count 0
// LOG: the image of this program was compiled in
// LIMIT: cannot write {{.*}}: File too large
// CHECK: 42
#include <cstdio>
#include <sys/resource.h>

static int launch(int count) {
  int value = 0;
#pragma omp target map(tofrom : value) firstprivate(count)
  for (int i = 0; i < count; ++i)
    value += i % count;
  return value;
}

int main(int argc, char **) {
  int value = 0;
#pragma omp target map(tofrom : value)
  value = 42;
  // Once libomptarget has written the image.
  if (argc > 2) {
    const rlimit limit{10, 10};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  // So many that it is known whether the variant is faster.
  for (int i = 0; argc > 1 && i < 100; ++i)
    value += launch(7) - 21;
  std::printf("%d\n", value);
  return 0;
}
