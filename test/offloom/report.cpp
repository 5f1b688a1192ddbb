// `offloom report` makes a page about a run, which a browser shows: numbers, a timeline with bars for each thing that happened and for
// launches, a table for each kernel. It is one file, and the browser has no network.
//
// The page is made by a program that knows no LLVM: once is enough.
// REQUIRES: llvm-19, x86_64-device, browser
// RUN: %clangxx -O2 -B %dropin -foffload-lto -Xoffload-linker --jit %omp_compile %s -o %t %omp_link
// RUN: rm -rf %t-cache %t-stats %t-none.html
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t-cache OFFLOOM_JIT_STATS=%t-stats %run_offload %t
// RUN: %dist/bin/offloom report %t-stats | FileCheck %s --check-prefix=PLACE -DFILE=%t-stats.html
// RUN: bash %S/Inputs/browser.sh %t-stats.html narrow dark | FileCheck %s --check-prefixes=PAGE,COMPILED
//
// A second run finds the variants in the cache, and the page says so.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t-cache OFFLOOM_JIT_STATS=%t-stats %run_offload %t
// RUN: %dist/bin/offloom report %t-stats -o %t-page.html
// RUN: bash %S/Inputs/browser.sh %t-page.html narrow dark | FileCheck %s --check-prefixes=PAGE,CACHED
//
// Launches are shown where none runs a variant, too, and where some do.
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STATS=%t-stats %run_offload %t 0
// RUN: %dist/bin/offloom report %t-stats -o %t-page.html
// RUN: bash %S/Inputs/browser.sh %t-page.html | FileCheck %s --check-prefix=AHEAD
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=off OFFLOOM_JIT_STATS=%t-stats %run_offload %t 4
// RUN: %dist/bin/offloom report %t-stats -o %t-page.html
// RUN: bash %S/Inputs/browser.sh %t-page.html | FileCheck %s --check-prefix=MIXED
//
// Several processes are one page, with each of them and each kernel over all.
// RUN: rm -f %t-rank.*
// DEFINE: %{rank} = env OFFLOOM_JIT=sync OFFLOOM_JIT_RETIRE=0 OFFLOOM_JIT_CACHE_MODE=rw OFFLOOM_JIT_CACHE_DIR=%t-cache OFFLOOM_JIT_STATS=%t-rank.%%p %run_offload %t
// RUN: %{rank} && %{rank} && %{rank}
// RUN: bash -c "%dist/bin/offloom report %t-rank.* -o %t-page.html"
// RUN: bash %S/Inputs/browser.sh %t-page.html narrow | FileCheck %s --check-prefix=JOB
//
// What is no file of statistics, and a place that is not there, are said, and nothing is written.
// RUN: not %dist/bin/offloom report %s -o %t-none.html 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not %dist/bin/offloom report %t-stats -o %t-absent/page.html 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not %dist/bin/offloom --json report %t-stats -o %t-none.html 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: not ls %t-none.html
// RUN: cp %t-stats %t-same
// RUN: not %dist/bin/offloom report %t-same -o %t-same 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: cmp %t-stats %t-same
// RUN: bash -c "%dist/bin/offloom report %t-stats -o /dev/stdout 2> %t-said | cat > %t-piped.html"
// RUN: grep /dev/stdout %t-said
// RUN: not grep /dev/stdout %t-piped.html
//
// PLACE: {{^}}[[FILE]]{{$}}
// FORMAT: offloom: `{{.*}}report.cpp` holds no statistics of the JIT
// ABSENT: offloom: cannot write `{{.*}}page.html`
// SAME: offloom: `{{.*}}-same` holds the statistics: name another file for the page
// JSON: offloom: a report is an HTML page; leave out --json
//
// PAGE: shown: report.cpp.tmp: what became of its launches
// PAGE: verdict: 6 of 6 launches of 1 kernel ran variants; what that saved was not timed; compiling took {{[0-9.]+}} ms.
// PAGE: tile: ms saved, about not timed
// COMPILED: tile: compiled 2
// COMPILED: tile: found in the cache 0
// CACHED: tile: compiled 0
// CACHED: tile: found in the cache 2
// PAGE: tile: program {{.*}}report.cpp.tmp
// PAGE: tile: host {{.+}}
// PAGE: tile: date {{20[0-9-]+ [0-9:]+}} UTC
// PAGE: tile: settings {{.*}}OFFLOOM_JIT=sync{{.*}}OFFLOOM_JIT_RETIRE=0
// PAGE: bars: compile {{[02]}} cache {{[02]}} run 2 failed 0 ahead-of-time 0 of-variants 2
// The second variant is asked for by the second launch.
// PAGE: bar: 1 launch: 0 ahead of time, 1 of variants
// PAGE: bar: 5 launches: 0 ahead of time, 5 of variants
// AHEAD: bars: compile 0 cache 0 run 0 failed 0 ahead-of-time 1 of-variants 0
// AHEAD: bar: 6 launches: 6 ahead of time, 0 of variants
// AHEAD: picture: has colours of the timeline
// MIXED: bars: compile 2 cache 0 run 2 failed 0 ahead-of-time 1 of-variants 2
// MIXED: bar: 1 launch: 0 ahead of time, 1 of variants
// MIXED-COUNT-2: bar: 5 launches: 2 ahead of time, 3 of variants
// MIXED: picture: has colours of the timeline
// PAGE: kernel: scale() report.cpp:[[#]] 6 launches
// PAGE: row: 2 {{compiler|cache}}
// PAGE: outside: 0
// PAGE: picture: has colours of the timeline
// PAGE: narrow: fits
// PAGE: dark: is dark
// JOB: shown: report.cpp.tmp: what became of the launches of 3 processes
// JOB: verdict: 18 of 18 launches of 1 kernel ran variants;
// JOB: tile: launches of variants 18
// JOB: process: {{.*}}-rank.{{[0-9]+}} {{.+}} {{[0-9]+}} 0 6 0 2 0 0
// JOB: process: {{.*}}-rank.
// JOB: process: {{.*}}-rank.
// JOB: over all: scale() report.cpp:[[#]] 3 0 18 0 6 0 0
// JOB: narrow: fits
#include <cfenv>
#include <cstdio>
#include <cstdlib>

__attribute__((noinline)) void scale(double *data, int count, int degree) {
#pragma omp target map(tofrom : data[0 : count])
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < degree; ++k)
      data[i] = data[i] * 0.5 + k;
}

// Launches that round otherwise, as from the given one on, run ahead of time.
int main(int argc, char **argv) {
  const int first_rounding_otherwise = argc > 1 ? std::atoi(argv[1]) : 6;
  double data[64] = {};
  for (int launch = 0; launch < 6; ++launch) {
    if (launch == first_rounding_otherwise)
      std::fesetround(FE_DOWNWARD);
    scale(data, 64, launch % 2 ? 3 : 5);
  }
  std::printf("%g\n", data[0]);
}
