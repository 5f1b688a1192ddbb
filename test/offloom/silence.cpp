// Where the user expects something of the JIT that it cannot do, one line says so, and once: no library, no place for the cache or no room in it, too
// little memory to compile.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link

// No library where it was: statistics and a log cannot be had. Without such a wish the program says nothing, nor where the JIT is off.
// RUN: mkdir -p moved && cp -r %dist/libexec %dist/bin moved && mkdir moved/lib && cp %dist/lib/liboffloom_jit.so moved/lib
// RUN: %clangxx -O2 -B %t/moved/libexec/offloom %omp_compile -foffload-lto -Xoffload-linker --jit %s -o alone %omp_link
// RUN: rm moved/lib/liboffloom_jit.so
// RUN: env OFFLOOM_JIT_STATS=stats %run_offload ./alone 2>&1 | FileCheck --check-prefixes=STATS,SUM --implicit-check-not=offloom-jit %s
// RUN: env OFFLOOM_JIT_LOG=on %run_offload ./alone 2>&1 | FileCheck --check-prefixes=LOG,SUM --implicit-check-not=offloom-jit %s
// RUN: %run_offload ./alone 2>&1 | FileCheck --check-prefix=SUM --implicit-check-not=offloom-jit %s
// RUN: env OFFLOOM_JIT_LOG=0 %run_offload ./alone 2>&1 | FileCheck --check-prefix=SUM --implicit-check-not=offloom-jit %s
// RUN: env OFFLOOM_JIT=No OFFLOOM_JIT_LOG=1 %run_offload ./alone 2>&1 | FileCheck --check-prefix=SUM --implicit-check-not=offloom-jit %s
// STATS: offloom-jit: OFFLOOM_JIT_STATS does nothing: there is no liboffloom_jit.so ({{.+}}): kernels stay ahead of time; OFFLOOM_JIT_LIBRARY names it
// LOG: offloom-jit: OFFLOOM_JIT_LOG does nothing: there is no liboffloom_jit.so

// What a file is linked with is to be seen.
// RUN: %wrapgen inspect jit | FileCheck --check-prefix=INSPECT %s
// RUN: %wrapgen inspect --json jit | FileCheck --check-prefix=INSPECT-JSON %s
// INSPECT: ELF executable or shared library, 1 device image, {{.*}}, linked with --jit{{$}}
// INSPECT-JSON: "linked_with_jit": true

// No folder for the cache.
// RUN: env -u HOME -u XDG_CACHE_HOME OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT=sync %run_offload ./jit 2>&1 | FileCheck --check-prefixes=HOMELESS,SUM --implicit-check-not=offloom-jit %s
// RUN: env -u HOME -u XDG_CACHE_HOME OFFLOOM_JIT_CACHE_MODE=ro OFFLOOM_JIT=sync %run_offload ./jit 2>&1 | FileCheck --check-prefix=SUM --implicit-check-not=offloom-jit %s
// HOMELESS: offloom-jit: there is no place for the cache: compiled kernels are not kept, {{.*}}; set OFFLOOM_JIT_CACHE_DIR, XDG_CACHE_HOME or HOME

// What is made cannot be kept, as on a full disk: the program itself spoils the cache that it uses. Several variants, one line.
// RUN: env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/full OFFLOOM_JIT=sync %run_offload ./jit full/v2/temporary > full.out 2>&1
// RUN: FileCheck --check-prefixes=FULL,SUM --implicit-check-not=offloom-jit --input-file=full.out %s
// FULL: offloom-jit: {{.*}}/full/v2/temporary{{.*}}: compiled kernels are not kept, and are compiled again in each run; OFFLOOM_JIT_CACHE_DIR names another place

// Too little memory for each of the kernels: the setting is named once.
// RUN: env OFFLOOM_JIT_MEMORY_LIMIT=40m OFFLOOM_JIT=sync %run_offload ./jit > memory 2>&1
// RUN: FileCheck --check-prefixes=MEMORY,SUM --input-file=memory %s
// RUN: grep -c OFFLOOM_JIT_MEMORY_LIMIT memory | FileCheck --check-prefix=ONCE %s
// MEMORY: offloom-jit: OFFLOOM_JIT_MEMORY_LIMIT=40M may be too little for a compile, which has failed: 4G is the default
// ONCE: {{^1$}}
// SUM: sum 23
#include <cstdio>
#include <string>

int main(int argc, char **argv) {
  if (argc > 1) {
    const std::string folder = argv[1];
    std::rename(folder.c_str(), (folder + ".earlier").c_str());
    std::fclose(std::fopen(folder.c_str(), "w"));
  }
  int sum = 0;
  for (int n = 3; n < 5; ++n) {
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < n; ++i)
      sum += i * i % n;
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < n; ++i)
      sum += i * n % 7;
  }
  std::printf("sum %d\n", sum);
}
