// Exercises: declare variant with construct, device and implementation selectors and scores, and a
// nested declare variant in a template.
#include <cstdio>

#pragma omp begin declare target
int in_target(int x) { return x + 1; }
int in_teams(int x) { return x + 10; }
int in_parallel(int x) { return x + 100; }
int never(int x) { return -x; }

#pragma omp declare variant(never) match(implementation = {vendor(score(5) : gnu)})
#pragma omp declare variant(in_parallel) match(construct = {parallel})
#pragma omp declare variant(in_teams) match(construct = {target, teams})
#pragma omp declare variant(in_target) match(construct = {target})
int base(int x) { return x; }

int for_llvm(int x) { return x * 2; }
#pragma omp declare variant(for_llvm) match(implementation = {vendor(llvm)})
int by_vendor(int x) { return x * 3; }
#pragma omp end declare target

int main() {
  int values[5] = {base(1), 0, 0, 0, by_vendor(1)};
#pragma omp target map(tofrom : values)
  values[1] = base(1);
#pragma omp target teams num_teams(1) map(tofrom : values)
  values[2] = base(1);
#pragma omp target parallel num_threads(1) map(tofrom : values)
  values[3] = base(1) + by_vendor(2);
  for (int value : values)
    std::printf("%d ", value);
  std::printf("\n");
  return values[0] == 1 && values[1] == 2 && values[2] == 11 && values[3] == 105 && values[4] == 2 ? 0 : 1;
}
