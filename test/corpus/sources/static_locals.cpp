// Exercises: static locals in device functions, in templates and inline functions, with constant and
// dynamic initialisation, static const tables, and static locals in a region.
#include <cstdio>

#pragma omp begin declare target
int next() {
  static int counter = 100;
  return counter++;
}
template <typename T> int visits() {
  static int seen = 0;
  return ++seen;
}
inline int lookup(int i) {
  static const int table[5] = {3, 1, 4, 1, 5};
  static constexpr int offset = 1000;
  return table[i] + offset;
}
int start(int x) { return x * 7; }
int lazily() {
  static int value = start(6);
  return value++;
}
static inline int in_static() {
  static int counter = 5;
  static struct {
    int a, b;
  } pair = {1, 2};
  pair.a += pair.b;
  return counter++ + pair.a;
}
#pragma omp end declare target

int main() {
  int results[8] = {0};
#pragma omp target map(from : results)
  {
    results[0] = next() + next();
    visits<int>();
    results[1] = visits<int>() * 10 + visits<char>();
    results[2] = lookup(2);
    results[3] = lazily() + lazily();
    results[4] = in_static();
    static const short local[3] = {9, 8, 7};
    results[5] = local[results[1] % 3];
  }
#pragma omp target map(tofrom : results)
  {
    results[6] = next();
    results[7] = in_static() + visits<int>();
  }
  for (int result : results)
    std::printf("%d ", result);
  std::printf("\n");
  return results[0] == 201 && results[1] == 21 && results[2] == 1004 && results[3] == 85 &&
                 results[4] == 8 && results[5] == 9 && results[6] == 102 && results[7] == 14
             ? 0
             : 1;
}
