// What goes wrong around a variant for a GPU costs the variant and nothing else: the program prints what it prints without the JIT, says what is
// wrong in one line, and nothing is left behind. Cubins in the cache: damaged, of another owner, in a folder that is only read or that has no room.
// Processes: two at once, the worker killed, the program killed in a compile. The assembler: crashes, hangs, prints or writes garbage, is missing,
// is replaced by another version.
// REQUIRES: cuda, device-runtime, virtual-gpu, libdevice
// RUN: rm -rf %t && split-file --no-leading-lines %S/Inputs/faults.test %t && cd %t && chmod +x assemblers/*
// RUN: sed -i 's|@PTXAS@|%cuda/bin/ptxas|; s|@CHILD@|%t/child|' assemblers/*
// DEFINE: %{options} = -O2 -fopenmp -fopenmp-targets=nvptx64 --offload-arch=sm_80 --cuda-path=%cuda -foffload-lto \
// DEFINE:   %gpu_options
// DEFINE: %{gpu} = env LD_LIBRARY_PATH=%virtual_gpu OMP_TARGET_OFFLOAD=MANDATORY OFFLOOM_VIRTUAL_GPU=sm_80
// DEFINE: %{quiet} = %{gpu} OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_PTXAS=%cuda/bin/ptxas
// DEFINE: %{sync} = %{quiet} OFFLOOM_JIT_LOG=1
// RUN: %clangxx %{options} %s -o stock %omp_link
// RUN: %{gpu} ./stock > stock.out
// RUN: %clangxx %{options} -B %dropin -Xoffload-linker --jit %s -o jit %omp_link

// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache ./jit 2> cold | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=cold %s
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache ./jit 2> warm | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s
// COLD-COUNT-3: compiled in
// WARM-COUNT-3: found in the cache

// Files with a bit flipped, cut short, empty, grown, or with other bytes: none is used, and each is made again.
// DEFINE: %{how} =
// DEFINE: %{damaged} = rm -rf damaged && cp -r cache damaged && python3 %S/Inputs/damage.py %{how} damaged/v2 && \
// DEFINE:   %{sync} OFFLOOM_JIT_CACHE_DIR=%t/damaged ./jit 2> %{how}.log | cmp - stock.out && \
// DEFINE:   FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --implicit-check-not='ahead of time' --input-file=%{how}.log %s && \
// DEFINE:   %{sync} OFFLOOM_JIT_CACHE_DIR=%t/damaged ./jit 2> %{how}.log | cmp - stock.out && \
// DEFINE:   FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=%{how}.log %s
// REDEFINE: %{how} = flip
// RUN: %{damaged}
// REDEFINE: %{how} = cut
// RUN: %{damaged}
// REDEFINE: %{how} = empty
// RUN: %{damaged}
// REDEFINE: %{how} = random
// RUN: %{damaged}

// A folder that is only read, alone and beside one of the user's own.
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/own OFFLOOM_JIT_CACHE_PATH=%t/cache ./jit 2> read | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=read %s
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/empty OFFLOOM_JIT_CACHE_MODE=ro ./jit 2> read | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=read %s
// RUN: not test -e empty

// A folder that others may write, and one of another user: one line each, nothing is read from it or written to it.
// RUN: cp -r cache open && chmod 777 open && find open -type f | sort > before
// RUN: %{quiet} OFFLOOM_JIT_CACHE_DIR=%t/open ./jit 2> refused | cmp - stock.out
// RUN: FileCheck --check-prefix=REFUSED --input-file=refused %s && count 1 < refused
// RUN: find open -type f | sort | cmp - before
// RUN: sh -c 'test $(id -u) != 0 || { cp -r cache other && chown -R 1:1 other; }'
// RUN: sh -c '! test -e other || { "$@" 2> refused | cmp - stock.out && grep -q other refused && test $(wc -l < refused) = 1; }' sh %{quiet} OFFLOOM_JIT_CACHE_DIR=%t/other ./jit
// REFUSED: open

// Files, PTX in memory too, larger than the process may write.
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/limit sh -c 'ulimit -f 4; exec ./jit' 2> limit.log | cmp - stock.out
// RUN: FileCheck --check-prefix=LIMIT --input-file=limit.log %s
// RUN: find limit/v2/temporary limit/v2/claims -type f | count 0
// LIMIT: stays ahead of time for {{.*}}: File too large

// Two processes at once, with an empty cache: each is right, and each cubin is made once.
// RUN: sh -c '("$@" 2> one.log > one.out) & "$@" 2> two.log > two.out; wait' sh %{sync} OFFLOOM_JIT_CACHE_DIR=%t/shared ./jit
// RUN: cmp one.out stock.out && cmp two.out stock.out
// RUN: cat one.log two.log | grep 'compiled in' | count 3
// RUN: cat one.log two.log | grep 'found in the cache' | count 3
// RUN: find shared/v2/temporary shared/v2/claims -type f | count 0

// The worker is killed once: another one is asked.
// RUN: mkdir -p lib libexec/offloom && cp %dist/lib/liboffloom_jit.so lib
// RUN: printf '#!/bin/sh\ntest -e %t/killed || { : > %t/killed; kill -KILL $$; }\nexec %dist/libexec/offloom/offloom-jit-worker "$@"\n' > libexec/offloom/offloom-jit-worker && chmod +x libexec/offloom/offloom-jit-worker
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/lost OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so ./jit 2> lost.log | cmp - stock.out
// RUN: test -e killed && FileCheck --check-prefix=COLD --implicit-check-not='stays ahead of time' --input-file=lost.log %s

// The program is killed while its assembler runs: the assembler goes too, and the cache is as good as new.
// RUN: sh -c '"$@" > /dev/null & program=$!; for _ in $(seq 1200); do test ! -s %t/child || break; sleep 0.05; done; kill -KILL $program; wait $program; exit 0' sh %{quiet} OFFLOOM_JIT_PTXAS=%t/assemblers/hang OFFLOOM_JIT_TIME_LIMIT=600000 OFFLOOM_JIT_CACHE_DIR=%t/interrupted ./jit
// RUN: bash ended.sh child
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/interrupted ./jit 2> interrupted.log | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='stays ahead of time' --input-file=interrupted.log %s
// RUN: find interrupted/v2/temporary interrupted/v2/claims -type f | count 0

// Assemblers. The kernel stays ahead of time, which is said once for each launch that asks for a variant, with the reason.
// DEFINE: %{assembler} =
// DEFINE: %{assembled} = %{quiet} OFFLOOM_JIT_CACHE_DIR=%t/cache-%{assembler} OFFLOOM_JIT_PTXAS=%t/assemblers/%{assembler} OFFLOOM_JIT_TIME_LIMIT=3000 \
// DEFINE:   ./jit 2> %{assembler}.log | cmp - stock.out && cat %{assembler}.log
// REDEFINE: %{assembler} = crash
// RUN: %{assembled} | FileCheck --check-prefix=CRASH %s
// CRASH: was ended by signal 11
// REDEFINE: %{assembler} = garbage
// RUN: %{assembled} | FileCheck --check-prefix=GARBAGE %s
// GARBAGE: refuses the code: xxx
// REDEFINE: %{assembler} = wrong-cubin
// RUN: %{assembled} | FileCheck --check-prefix=WRONG %s
// WRONG: the assembler '{{.*}}' wrote no cubin
// REDEFINE: %{assembler} = broken-cubin
// RUN: %{assembled} | FileCheck --check-prefix=BROKEN %s
// BROKEN: stays ahead of time
// REDEFINE: %{assembler} = hang
// RUN: %{assembled} | FileCheck --check-prefix=HANG %s
// RUN: bash ended.sh child
// HANG: the assembler has not ended after 3000 ms
// REDEFINE: %{assembler} = hang-at-once
// RUN: %{assembled} | FileCheck --check-prefix=AT-ONCE %s
// RUN: bash ended.sh child
// AT-ONCE: has not said its version after 3000 ms
// REDEFINE: %{assembler} = no-version
// RUN: %{assembled} | FileCheck --check-prefix=NO-VERSION %s
// NO-VERSION: does not say its version as ptxas does
// REDEFINE: %{assembler} = missing
// RUN: %{assembled} | FileCheck --check-prefix=MISSING %s
// MISSING: names `{{.*}}missing`, which is no program that can be run

// Another version: its cubins are others, and those of the first are found again when it is back.
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_PTXAS=%t/assemblers/newer ./jit 2> newer | cmp - stock.out
// RUN: FileCheck --check-prefix=COLD --implicit-check-not='found in the cache' --input-file=newer %s
// RUN: %{sync} OFFLOOM_JIT_CACHE_DIR=%t/cache ./jit 2> warm | cmp - stock.out
// RUN: FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --input-file=warm %s

// No memory of the device is left when a variant is loaded: that is no failure of the JIT's.
// RUN: %{gpu} OFFLOOM_VIRTUAL_GPU_MEMORY=64M ./stock all > stock-all.out
// RUN: %{sync} OFFLOOM_JIT_STRICT=1 OFFLOOM_VIRTUAL_GPU_MEMORY=64M OFFLOOM_JIT_CACHE_DIR=%t/memory ./jit all 2> memory.log | cmp - stock-all.out
// RUN: FileCheck --check-prefix=MEMORY --input-file=memory.log %s
// MEMORY: stays ahead of time on image copy 0: loading the cubin: {{.*}}OUT_OF_MEMORY
#include <cstdio>
#include <omp.h>

#pragma omp begin declare target
int launches = 0;
#pragma omp end declare target

static void take_memory(int device) {
  for (size_t bytes = size_t(1) << 30; bytes > 0; bytes /= 2)
    while (omp_target_alloc(bytes, device))
      ;
}

int main(int count, char **) {
  int values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = i * i - 5;
  long sums[3] = {};
#pragma omp target data map(tofrom : sums) map(to : values)
  {
    if (count > 1)
      take_memory(omp_get_default_device());
    for (int n = 5; n < 11; n += 2) {
#pragma omp target map(tofrom : sums) map(to : values)
      {
        ++launches;
        for (int i = 0; i < n; ++i)
          sums[(n - 5) / 2] += values[i] % n * launches;
      }
    }
  }
  std::printf("%ld %ld %ld\n", sums[0], sums[1], sums[2]);
}
