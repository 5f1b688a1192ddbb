// What `offloom cache` says of a cache that a real program filled, before and after damage, and that a pack of it serves another
// directory.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=rw
// DEFINE: %{cache} = env OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom cache
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link

// Looking at what is not there makes nothing.
// RUN: %{cache} list | FileCheck --check-prefix=EMPTY %s
// RUN: %{cache} clear | FileCheck --check-prefix=ABSENT %s
// RUN: %{cache} prune | FileCheck --check-prefix=ABSENT %s
// RUN: %{cache} --json clear | python3 -c "import json, sys; assert json.load(sys.stdin) == {'files': 0}"
// RUN: not ls cache
// ABSENT: there is no cache in `{{.*}}/cache`: nothing is removed
// EMPTY: {{^}}kernel {{.*}}for
// EMPTY-NOT: {{.}}

// What cannot be looked at, and a link that leads nowhere, are not nothing.
// RUN: ln -s loop loop && ln -s nowhere dangling
// DEFINE: %{command} =
// DEFINE: %{refuse} = not env OFFLOOM_JIT_CACHE_DIR=%t/loop/cache %offloom cache %{command} 2>&1 | FileCheck --check-prefix=LOOP %s && not env OFFLOOM_JIT_CACHE_DIR=%t/dangling %offloom cache %{command} 2>&1 | FileCheck --check-prefix=DANGLING %s
// REDEFINE: %{command} = list
// RUN: %{refuse}
// REDEFINE: %{command} = stats
// RUN: %{refuse}
// REDEFINE: %{command} = clear
// RUN: %{refuse}
// REDEFINE: %{command} = prune
// RUN: %{refuse}
// RUN: not ls nowhere
// LOOP: offloom: cannot {{open `.*/loop/cache`: Too many levels of symbolic links|make `.*/loop`: File exists}}
// DANGLING: offloom: the cache `{{.*}}/dangling` is not a directory

// RUN: %{run} OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit | FileCheck --check-prefix=OUTPUT %s
// OUTPUT: 2
// OUTPUT: 10
// RUN: %{cache} list | FileCheck --check-prefix=LIST %s
// LIST: kernel
// LIST-COUNT-2: {{^}}main() cache.cpp:[[#]] argument 1 = {{[35]}} (i32) {{.*}} KiB {{.*}}LLVM {{[0-9.]+$}}
// LIST-NOT: {{.}}
// RUN: %offloom --version | FileCheck --check-prefix=VERSION %s
// VERSION: {{^}}offloom {{[0-9.]+}} (LLVM {{19|21|22|23}}){{$}}
// RUN: %{cache} --json list | python3 -c "import json, sys; assert len(json.load(sys.stdin)) == 2"
// RUN: %{cache} stats | FileCheck --check-prefix=STATS %s
// STATS: cache: 2 files, {{[0-9.]+}} KiB of 1.0 GiB
// STATS: shared: 0 files, 0 B
// STATS: 0 hits, 2 misses (0 % found)
// Another run finds both, and is added; whoever clears the cache begins anew.
// RUN: %{run} OFFLOOM_JIT_CACHE_DIR=%t/cache %run_offload ./jit
// RUN: %{cache} stats | FileCheck --check-prefix=USES %s
// RUN: %{cache} --json stats | FileCheck --check-prefix=USES-JSON %s
// USES: 2 hits, 2 misses (50 % found)
// USES-JSON: "hits": 2,
// USES-JSON: "misses": 2,
// RUN: %{cache} verify | FileCheck --check-prefix=WHOLE %s
// WHOLE: 2 kernels, 0 failures, 0 damaged files

// Shared kernels are listed as such, whether the private cache is there or not; a shared cache that is refused costs only itself.
// DEFINE: %{absent} = env OFFLOOM_JIT_CACHE_DIR=%t/absent OFFLOOM_JIT_CACHE_PATH=%t/cache:%t/refused %offloom
// RUN: %{absent} cache list > list 2>&1
// RUN: FileCheck --check-prefix=SHARED --input-file=list %s
// RUN: %{absent} cache stats 2> refused.err | FileCheck --check-prefix=SHARED-STATS %s
// RUN: %{absent} --json cache stats 2> refused.err | FileCheck --check-prefix=SHARED-JSON %s
// RUN: env OFFLOOM_JIT_CACHE_PATH=%t/cache OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom --json cache list | FileCheck --check-prefix=OPTIONS %s
// SHARED: offloom: cannot open `{{.*}}/refused`
// SHARED-COUNT-2: {{^}}main() cache.cpp:{{.*}} shared {{.*}} KiB
// SHARED-STATS: absent: 0 files, 0 B of 1.0 GiB, not used: OFFLOOM_JIT_CACHE_MODE=off
// SHARED-STATS: shared: 2 files
// SHARED-JSON: "files": 0,
// SHARED-JSON: "mode": "off",
// SHARED-JSON: "shared_files": 2
// OPTIONS: "layer": "private"
// OPTIONS: "options": "{{.*}}fp=match
// OPTIONS: "layer": "shared"

// A program that only reads makes no cache, and misses none.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_MODE=ro OFFLOOM_JIT_CACHE_DIR=%t/none/cache OFFLOOM_JIT_CACHE_PATH=%t/cache %run_offload ./jit 2>&1 | FileCheck --check-prefix=WARM --implicit-check-not='compiled in' --implicit-check-not=none/cache %s
// RUN: not ls none
// RUN: not env OFFLOOM_JIT_CACHE_MODE=ro OFFLOOM_JIT_CACHE_DIR=%t/cache %offloom cache clear 2>&1 | FileCheck --check-prefix=ONLY-READ %s
// ONLY-READ: offloom: the cache `{{.*}}/cache` is only read, since OFFLOOM_JIT_CACHE_MODE is `ro`; set it to `rw` for this
// RUN: not env OFFLOOM_JIT_CACHE_DIR=%t/none %offloom cache verify 2>&1 | FileCheck --check-prefix=NO-CACHE %s
// RUN: not env OFFLOOM_JIT_CACHE_DIR=%t/none %offloom cache pack none.pack 2>&1 | FileCheck --check-prefix=NO-CACHE %s
// NO-CACHE: offloom: there is no cache in `{{.*}}/none`; OFFLOOM_JIT_CACHE_DIR says where it is
// RUN: not %{cache} pack none/pack 2>&1 | FileCheck --check-prefix=NOWHERE --implicit-check-not=.offloom- %s
// NOWHERE: offloom: cannot write `none/pack`: No such file or directory

// A pack serves another directory: nothing is compiled there.
// RUN: %{cache} pack pack | FileCheck --check-prefix=PACKED %s
// RUN: env OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache unpack pack | FileCheck --check-prefix=UNPACKED %s
// RUN: %{run} OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_CACHE_DIR=%t/other %run_offload ./jit 2>&1 | FileCheck --check-prefix=WARM --implicit-check-not='compiled in' %s
// PACKED: packed 2 files
// UNPACKED: unpacked 2 files
// WARM-COUNT-2: found in the cache
// Written to a link, the file that it leads to is the pack; what is no regular file stays; others may read a pack, if files of the user's are so.
// RUN: echo old > linked && ln -s linked link && ln -s /dev/null null
// RUN: bash -c "umask 022 && %{cache} pack link && %{cache} pack null"
// RUN: test -L link && test -L null && test -c /dev/null
// RUN: stat -c %%a linked | FileCheck --check-prefix=MODE %s
// RUN: env OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache unpack linked | FileCheck --check-prefix=UNPACKED %s
// MODE: 644
// RUN: bash -c "%{cache} pack /dev/stdout | grep -a ^OFFLOOMP | wc -l" | FileCheck --check-prefix=PIPED %s
// RUN: bash -c "%{cache} pack /dev/stdout 2> said | cat > piped" && FileCheck --check-prefix=PACKED --input-file=said %s
// RUN: cmp pack piped
// RUN: env OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache unpack piped | FileCheck --check-prefix=KNOWN %s
// KNOWN: unpacked 2 files, 2 of which were there already
// RUN: env OFFLOOM_JIT_CACHE_SIZE=1K OFFLOOM_JIT_CACHE_DIR=%t/small %offloom cache unpack pack | FileCheck --check-prefix=SMALL %s
// SMALL: unpacked 2 files; {{[01]}} of them are left, since OFFLOOM_JIT_CACHE_SIZE allows no more
// RUN: cat pack pack > joined
// RUN: not env OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache unpack joined 2>&1 | FileCheck --check-prefix=JOINED %s
// JOINED: offloom: `joined` goes on after the end of the pack
// PIPED: 1
// RUN: echo text > text
// RUN: not %{cache} unpack text 2>&1 | FileCheck --check-prefix=NO-PACK %s
// NO-PACK: offloom: `text` is not a whole pack

// A layer that cannot be looked at is not checked.
// RUN: mkdir -p strange && touch strange/v2
// RUN: not env OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_CACHE_PATH=%t/strange %offloom cache verify 2>&1 | FileCheck --check-prefixes=WHOLE,STRANGE %s
// RUN: not env OFFLOOM_JIT_CACHE_DIR=%t/cache OFFLOOM_JIT_CACHE_PATH=%t/missing %offloom cache verify 2>&1 | FileCheck --check-prefixes=WHOLE,MISSING %s
// STRANGE: offloom: {{.*}}/strange/v2
// MISSING: offloom: {{.*}}/missing

// RUN: python3 %S/../jit/Inputs/damage_files.py cache/v2
// RUN: not %{cache} verify 2>&1 | FileCheck --check-prefix=DAMAGED %s
// DAMAGED-DAG: 0 kernels, 0 failures, 2 damaged files
// DAMAGED-DAG: offloom: 2 damaged files
// RUN: %{cache} clear | FileCheck --check-prefix=CLEARED %s
// CLEARED: removed 2 files
// RUN: %{cache} stats | FileCheck --check-prefix=ANEW %s
// ANEW: 0 hits, 0 misses{{$}}
// RUN: env OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache prune --size 1K | FileCheck --check-prefix=PRUNED %s
// RUN: env OFFLOOM_JIT_CACHE_DIR=%t/other %offloom cache stats | FileCheck --check-prefix=NOTHING %s
// PRUNED: removed {{[0-9.]+}} KiB
// NOTHING: 0 files
// What is in settings does not control the terminal.
// RUN: bash -c "OFFLOOM_JIT_FP=$'\\e[31m' %{cache} stats" 2>&1 | FileCheck --check-prefix=CONTROL %s
// RUN: bash -c "OFFLOOM_JIT_FP=$'\\e[31m' %run_offload ./jit" 2>&1 | FileCheck --check-prefix=CONTROL %s
// CONTROL: OFFLOOM_JIT_FP=`\u{1b}[31m` is ignored
// RUN: not %offloom cache prune --size 1Q 2>&1 | FileCheck --check-prefix=BAD-SIZE %s
// BAD-SIZE: a number of bytes, or with K, M or G (KiB, MiB, GiB) behind it
#include <cstdio>

int main() {
  for (int n = 3; n < 6; n += 2) {
    int sum = 0;
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < n; ++i)
      sum += i * i % n;
    std::printf("%d\n", sum);
  }
}
