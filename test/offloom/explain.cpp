// What `offloom explain` says of a real program: launches, why and to what its kernel was specialised, what was megamorphic, and what
// could not be made.
// REQUIRES: x86_64-device
// DEFINE: %{run} = env OFFLOOM_JIT=sync OFFLOOM_JIT_STATS=stats OFFLOOM_JIT_THRESHOLD=1
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link

// RUN: %{run} OFFLOOM_JIT_RETIRE=0 %run_offload ./jit
// RUN: %offloom explain stats | FileCheck --implicit-check-not='-0.00' %s
// CHECK: Process {{[0-9]+}}, Offloom {{[0-9.]+}}, LLVM {{19|21|22|23}}.
// CHECK: {{^}}main() explain.cpp:[[#]]{{$}}
// CHECK-NEXT: 9 launches: 0 ahead of time, 9 of variants; a variant was asked for 3 times
// CHECK-NEXT: argument what good for variants caused now
// CHECK-NEXT: 1 value {{.*loop bound.*}} 2 not specialised: it changes too often
// CHECK-NEXT: specialised to {{.*}}compile ms {{.*}}verdict
// CHECK-NEXT: argument 1 = 3 (i32) compiler {{.*}} 1 kept
// CHECK-NEXT: argument 1 = 4 (i32) compiler {{.*}} 1 kept
// CHECK-NEXT: any launch compiler {{.*}} 7 kept
// CHECK-NEXT: compiling took {{[0-9.]+}} ms, variants saved about 0.00 ms
// CHECK: Never launched:
// CHECK-NEXT: {{^ *}}never_called() explain.cpp:[[#]]{{$}}

// Timed launches.
// RUN: %{run} OFFLOOM_JIT_RETIRE=1 %run_offload ./jit many
// RUN: %offloom --json explain stats > json
// RUN: python3 %S/Inputs/timed.py json

// A program that ends while what it asked for is being made, which takes for ever here.
// RUN: mkdir -p lib libexec/offloom && cp %dist/lib/liboffloom_jit.so lib
// RUN: printf '#!/bin/sh\nexec sleep 9\n' > libexec/offloom/offloom-jit-worker && chmod +x libexec/offloom/offloom-jit-worker
// RUN: env OFFLOOM_JIT=async OFFLOOM_JIT_STATS=short OFFLOOM_JIT_LIBRARY=%t/lib/liboffloom_jit.so %run_offload ./jit
// RUN: %offloom explain short | FileCheck --check-prefix=SHORT %s
// SHORT: 9 launches: 9 ahead of time, 0 of variants; a variant was asked for {{once|[2-9] times}}
// SHORT: the program ended before one was made; a run with OFFLOOM_JIT=sync waits for each, and the cache keeps them

// Of several processes each has a line.
// RUN: cp stats first && %{run} OFFLOOM_JIT_RETIRE=0 %run_offload ./jit
// RUN: %offloom explain first stats | FileCheck --check-prefix=SEVERAL %s
// SEVERAL: Launches and variants of 2 processes
// SEVERAL-NEXT: file ahead of time of variants compiled from the cache fetched failed compile ms saved ms
// SEVERAL-NEXT: first {{[0-9]+ [0-9]+}} 3 0 0 0 {{[0-9.]+ -?[0-9.]+}}
// SEVERAL-NEXT: stats 0 9 3 0 0 0 {{[0-9.]+}} 0.00
// SEVERAL-NEXT: all {{[0-9]+ [0-9]+}} 6 0 0 0 {{[0-9.]+ -?[0-9.]+}}
// RUN: %offloom --json explain first stats > both && %offloom --json explain stats > one
// RUN: python3 -c 'import json; a, b = json.load(open("both")); assert a != b == json.load(open("one"))'
// A child's file holds what its parent counted before the fork, which is not counted twice; and no name in a file makes lines of its own.
// RUN: python3 %S/Inputs/as_child.py stats child
// RUN: %offloom explain first child stats | FileCheck --check-prefix=FORKED %s
// RUN: %offloom --json explain child | FileCheck --check-prefix=FORKED-JSON %s
// RUN: %offloom explain child | FileCheck --check-prefix=NAME --implicit-check-not='{{^}}forged' %s
// FORKED: Launches and variants of 3 processes
// FORKED: child (forked from {{[0-9]+}}) 18446744073709551615 18446744073709551615
// FORKED: all but 1 forked {{[0-9]+ [0-9]+}} 6 0 0 0
// FORKED-NEXT: Not in the sums: 1 forked from others of these{{.*$}}
// FORKED-EMPTY:
// FORKED-NEXT: Kernels, in all of these processes together
// FORKED-NEXT: kernel processes ahead of time
// FORKED-NEXT: main() explain.cpp:[[#]] 2 {{[0-9]+ [0-9]+}} 6 0 0 0 {{[0-9.]+ -?[0-9.]+$}}
// FORKED-NOT: {{.}}
// A process of that number on another machine is not its parent.
// RUN: sed 's/"host": *"[^"]*"/"host": "elsewhere"/' child > far && not cmp child far
// RUN: %offloom explain first far stats | FileCheck --check-prefix=ELSEWHERE %s
// ELSEWHERE: {{^}}all 18446744073709551615 18446744073709551615 {{.*$}}
// ELSEWHERE-EMPTY:
// ELSEWHERE-NEXT: Kernels, in all
// RUN: %offloom explain first child child | FileCheck --check-prefix=ORPHANS %s
// ORPHANS: {{^}}all {{[0-9]+}}
// ORPHANS-NEXT: 2 were forked from process {{[0-9]+}}, of which there is no file: {{.*}} 2 times
// ORPHANS-EMPTY:
// ORPHANS-NEXT: Kernels, in all
// FORKED-JSON: "duration_us": {{[0-9]+}}
// FORKED-JSON: "forked_from": {{[0-9]+}}
// FORKED-JSON: "offloom": "{{[0-9.]+}}"
// NAME: \nforged
// NAME-NEXT: 18446744073709551615 launches
// RUN: not %offloom explain stats absent 2>&1 | FileCheck --check-prefix=ABSENT %s
// RUN: not %offloom explain %s 2>&1 | FileCheck --check-prefix=OTHER %s
// OTHER: offloom: `{{.*}}explain.cpp` holds no statistics of the JIT: expected value at line 1 column 1; OFFLOOM_JIT_STATS=FILE
// What is named or in a file does not control the terminal.
// RUN: not bash -c "%offloom explain $'\\e[31mred'" 2>&1 | FileCheck --check-prefix=CONTROL %s
// CONTROL: offloom: cannot read `\u{1b}[31mred`
// RUN: not %offloom explain absent 2>&1 | FileCheck --check-prefix=ABSENT %s
// ABSENT: offloom: cannot read `absent`: No such file {{.*}} OFFLOOM_JIT_STATS {{.*}}; `No file of statistics` in troubleshooting.md
// RUN: not %offloom explain . 2>&1 | FileCheck --check-prefix=FOLDER %s
// FOLDER: offloom: cannot read `.`: Is a directory
// RUN: not timeout 60 %offloom explain /dev/zero 2>&1 | FileCheck --check-prefix=ENDLESS %s
// ENDLESS: offloom: `/dev/zero` holds no statistics of the JIT: expected value at line 1 column 1
#include <cstdio>

int never_called(int n) {
#pragma omp target map(tofrom : n)
  n *= n;
  return n;
}

int main(int argc, char **) {
  long total = 0;
  for (int launch = 0; launch < (argc > 1 ? 200 : 9); ++launch) {
    int n = 3 + launch, sum = 0;
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < n; ++i)
      sum += i * i % n;
    total += sum;
  }
  std::printf("%ld\n", total);
}
