// One launch of a program, dumped and run by itself: the same bits from both codes; a variant that is wrong is noticed; dumps that
// are damaged are refused.
// REQUIRES: x86_64-device
// DEFINE: %{dump} = env OFFLOOM_JIT_DUMP_DIR=%t/dumps OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off OMP_NUM_THREADS=2
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: %{dump} %run_offload ./jit | FileCheck --check-prefix=PROGRAM %s
// PROGRAM: 2 launches
// Two kernels, two values of a scalar: three variants.
// RUN: ls dumps | count 3
// RUN: not %offloom replay dumps 2>&1 | FileCheck --check-prefix=MANY %s
// MANY: offloom: `dumps` is no dump, but a folder of them: name one that is in it, such as `dumps/__omp_offloading_
// RUN: mv dumps/*list*-0 first && mv dumps/*list*-2 second && mv dumps/*pure* third

// RUN: %offloom replay first 2> first.err | FileCheck --check-prefixes=SAME,FIRST %s
// RUN: FileCheck --check-prefix=PRINTED --input-file=first.err %s
// RUN: %offloom replay second 2> second.err | FileCheck --check-prefixes=SAME,SECOND %s
// SAME: __omp_offloading_{{.*}}walk_list
// FIRST-NEXT: specialised to {{.*}} = 3 (i64)
// SECOND-NEXT: specialised to {{.*}} = 5 (i64)
// SAME-NEXT: compared {{[1-9][0-9]*}} bytes: the same bits
// SAME-NEXT: fastest of {{[1-9][0-9]*}} runs: ahead of time {{[0-9.]+}} ms, variant {{[0-9.]+}} ms
// SAME-NEXT: compiled in {{[0-9.]+}} ms, {{[1-9][0-9]*}} bytes
// The global's state is that of the launch, every time the kernel runs.
// PRINTED: call 1, sum {{[0-9]+}}
// PRINTED-NOT: call 2

// A variant for other values than those of the launch.
// RUN: sed 's/i64:0x7/i64:0x8/' third/launch.json > changed && cp changed third/launch.json
// RUN: not %offloom replay third > wrong 2> wrong.err
// RUN: FileCheck --check-prefix=WRONG --input-file=wrong %s
// RUN: FileCheck --check-prefix=WRONG-ERROR --input-file=wrong.err %s
// WRONG: words of 8 bytes differ
// WRONG-NEXT: argument {{[0-9]+}} + 0x0: 0x{{[0-9a-f]+}} ahead of time, 0x{{[0-9a-f]+}} by the variant
// WRONG-ERROR: offloom: the variant leaves other bits than the ahead-of-time code in {{[0-9]+}} words
// RUN: not %offloom --json replay third 2> wrong.err > json
// RUN: python3 -m json.tool json | FileCheck --check-prefix=JSON %s
// JSON: "different_words": {{[1-9]}}

// RUN: cp -r first torn && truncate -s -1 torn/memory && not %offloom replay torn 2>&1 | FileCheck --check-prefix=TORN %s
// TORN: offloom: `torn/memory` is damaged: it is not what the launch was dumped with
// RUN: not %offloom replay absent 2>&1 | FileCheck --check-prefix=ABSENT %s
// ABSENT: offloom: cannot read `absent/launch.json`: No such file or directory
// RUN: sed 's/"kernel": "/"kernel": "other/' first/launch.json > torn/launch.json && cp first/memory torn/memory
// RUN: not %offloom replay torn 2>&1 | FileCheck --check-prefix=KERNEL %s
// KERNEL: offloom: cannot replay `torn`: the bundle has no kernel `other__omp_offloading
// RUN: sed 's/"descriptor": "kernel=/"descriptor": "/' first/launch.json > torn/launch.json
// RUN: not %offloom replay torn 2>&1 | FileCheck --check-prefix=DESCRIPTOR %s
// DESCRIPTOR: offloom: cannot replay `torn`: there is no variant:

// A program whose path is not UTF-8 is dumped too.
// RUN: bash -c "mkdir $'\\xff' && cp jit $'\\xff' && %{dump} OFFLOOM_JIT_DUMP_DIR=%t/others $'\\xff/jit'" | FileCheck --check-prefix=PROGRAM %s
// RUN: ls others | count 3

// Variables that fill whole pages, whose memory the system joins with what lies next to the image's, and one that alone leads to other memory.
// RUN: %clangxx -O2 -DPAGES -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o pages %omp_link
// RUN: env OFFLOOM_JIT_DUMP_DIR=%t/pages.dump OFFLOOM_JIT=sync OFFLOOM_JIT_STRICT=1 OFFLOOM_JIT_CACHE_MODE=off %run_offload ./pages
// RUN: mv pages.dump/*sum* summed
// RUN: python3 %S/Inputs/regions-in-image.py summed/launch.json | FileCheck --check-prefix=REGIONS %s
// REGIONS: {{^}}0 of {{[1-9]}}
// RUN: %offloom replay summed | FileCheck --check-prefix=PAGES %s
// PAGES: compared {{[1-9][0-9]*}} bytes: the same bits

// A folder that cannot be written is said, and the program runs on.
// RUN: touch file && env OFFLOOM_JIT_DUMP_DIR=%t/file OFFLOOM_JIT=sync %run_offload ./jit 2> log | FileCheck --check-prefix=PROGRAM %s
// RUN: FileCheck --check-prefix=CANNOT --input-file=log %s
// CANNOT: offloom-jit: __omp_offloading_{{.*}}: a launch is not dumped: cannot write `{{.*}}/file`: not a directory
#include <cstdint>
#include <cstdio>
#include <vector>

#ifdef PAGES
#include <omp.h>

#pragma omp declare target
int pages[48 << 10];
int *reached;
#pragma omp end declare target

static int sum_of_all(int by) {
  int sum = 0;
#pragma omp target map(tofrom : sum) firstprivate(by)
  for (int i = 0; i < 48 << 10; ++i) {
    pages[i] += reached[i] / by;
    sum += pages[i];
  }
  return sum;
}

int main() {
  const size_t size = sizeof pages;
  int *memory = static_cast<int *>(omp_target_alloc(size, omp_get_default_device()));
#pragma omp target is_device_ptr(memory)
  {
    reached = memory;
    for (int i = 0; i < 48 << 10; ++i) {
      pages[i] = i;
      reached[i] = 2 * i;
    }
  }
  std::printf("sum %d\n", sum_of_all(7));
  omp_target_free(memory, omp_get_default_device());
}
#else

struct Element {
  int64_t value;
  Element *next;
};

#pragma omp declare target
int calls = 0;
int64_t twice(int64_t value) { return 2 * value; }
int64_t (*change)(int64_t) = twice;
#pragma omp end declare target

// Pointers within mapped memory, and from there to the image's variables and functions.
static int64_t walk_list(std::vector<Element> &elements, int64_t by) {
  int64_t sum = 0;
  Element *list = elements.data();
  const int count = elements.size();
#pragma omp target map(tofrom : sum) map(tofrom : list[0 : count])
  {
    ++calls;
    for (int i = 0; i + 1 < count; ++i)
      list[i].next = &list[i + 1];
    for (Element *element = list; element; element = element->next) {
      element->value = change(element->value) % by;
      sum += element->value;
    }
    std::printf("call %d, sum %ld\n", calls, long(sum));
    for (int i = 0; i + 1 < count; ++i)
      list[i].next = nullptr;
  }
  return sum;
}

static void pure(int64_t *values, int64_t by) {
#pragma omp target teams distribute parallel for map(tofrom : values[0 : 100])
  for (int i = 0; i < 100; ++i)
    values[i] = values[i] * 31 / by;
}

int main() {
  std::vector<Element> elements(100);
  for (int i = 0; i < 100; ++i)
    elements[i].value = i + 1;
  int launches = 0;
  int64_t values[100];
  for (int i = 0; i < 100; ++i)
    values[i] = i + 1000;
  for (int64_t by : {3, 5}) {
    walk_list(elements, by);
    pure(values, 7);
    ++launches;
  }
  std::printf("%d launches\n", launches);
}
#endif
