// Exercises: metadirective choosing target directives by implementation, architecture and user condition.
#include <cstdio>

template <bool parallel> int run(const int *values, int n) {
  int sum = 0;
#pragma omp metadirective when(                                                                    \
        implementation = {vendor(llvm)} : target teams distribute parallel for reduction(+ : sum)  \
            map(to : values[0 : n])) default(target map(tofrom : sum) map(to : values[0 : n]))
  for (int i = 0; i < n; ++i)
    sum += values[i];
  return sum;
}

int main() {
  int values[100], other = 0, nothing = 0;
  for (int i = 0; i < 100; ++i)
    values[i] = i;
  int first = run<true>(values, 100), second = run<false>(values, 10);

#pragma omp metadirective when(device = {arch(ppc)} : parallel for reduction(+ : other))           \
    default(target simd reduction(+ : other))
  for (int i = 0; i < 100; ++i)
    other += 1;

#pragma omp metadirective when(user = {condition(sizeof(int) == 2)} : target) default(nothing)
  nothing += 3;

  std::printf("first %d second %d other %d nothing %d\n", first, second, other, nothing);
  return first == 4950 && second == 45 && other == 100 && nothing == 3 ? 0 : 1;
}
