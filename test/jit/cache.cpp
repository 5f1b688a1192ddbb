// Objects are kept on disk: the second run compiles nothing, a damaged file is made again, other options and read-only and
// absent caches do what they say.
// REQUIRES: x86_64-device
// DEFINE: %{sync} = OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_MODE=rw
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> cold | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=cold %s
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> warm | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s
// COLD-COUNT-3: compiled in {{.*}};1={{i[0-9]+}}:0x{{[579]}}
// WARM-COUNT-3: found in the cache, for {{.*}};1={{i[0-9]+}}:0x{{[579]}}

// Every file damaged in the middle: not one of them is used, and each is made again.
// RUN: python3 %S/Inputs/damage_files.py cache/v2
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> damaged | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=damaged %s
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> warm | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s

// What is made in the program is something else: what the worker made is not found, and is there as it was.
// RUN: cp -r cache program && env %{sync} OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_CACHE_DIR=%t/program %run_offload ./jit 2> program.log | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=program.log %s
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/program %run_offload ./jit 2> warm | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s
// RUN: env %{sync} OFFLOOM_JIT_WORKER=0 OFFLOOM_JIT_CACHE_DIR=%t/program %run_offload ./jit 2> warm | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s

// Another machine's process that claimed the images and is gone: it is waited for as long as a compile may take, and then they are made.
// RUN: cp -r cache claimed && python3 %S/Inputs/abandon_claims.py claimed/v2
// RUN: env %{sync} OFFLOOM_JIT_TIME_LIMIT=2000 OFFLOOM_JIT_CACHE_DIR=%t/claimed %run_offload ./jit 2> claimed.log | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=claimed.log %s

// Read-only, as the site's directory: used, and an empty one of our own beside it.
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/own OFFLOOM_JIT_CACHE_PATH=%t/cache %run_offload ./jit 2> shared | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=shared %s
// RUN: env %{sync} OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> off | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=off %s

// Other code under the same settings: nothing of the first program's is used.
// RUN: env %{sync} OFFLOOM_JIT_FP=source OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit 2> source | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=source %s

// A folder that others may write is refused, in one line, and the program goes on.
// A home that is not there is not made.
// RUN: env -u XDG_CACHE_HOME -u OFFLOOM_JIT_CACHE_DIR %{sync} HOME=%t/nobody/home %run_offload ./jit 2> homeless | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=homeless %s
// RUN: not test -e nobody
// RUN: mkdir open && chmod 777 open
// RUN: env %{sync} OFFLOOM_JIT_CACHE_DIR=%t/open %run_offload ./jit 2> refused | cmp - stock.out
// RUN: FileCheck --check-prefix=REFUSED --input-file=refused %s
// REFUSED: open
// REFUSED-COUNT-3: compiled in
#include <cstdio>

int main() {
  int values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = i * i - 5;
  for (int n = 5; n < 11; n += 2) {
    long sum = 0;
#pragma omp target map(tofrom : sum) map(to : values)
    for (int i = 0; i < n; ++i)
      sum += values[i] % n;
    std::printf("%d %ld\n", n, sum);
  }
}
