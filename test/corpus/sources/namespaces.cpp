// Exercises: regions and declare target globals of the same name in nested, inline, anonymous and
// repeated namespaces.
#include <cstdio>

#pragma omp begin declare target
int level = 1;
namespace outer {
int level = 10;
namespace middle::inner {
int level = 100;
}
inline namespace version_one {
int newest = 5;
}
} // namespace outer
namespace {
int level_hidden = 1000;
namespace deeper {
int level_hidden = 10000;
}
} // namespace
#pragma omp end declare target

namespace outer {
int run() {
  int result = 0;
#pragma omp target map(from : result)
  result = level + ++newest;
  return result;
}
namespace middle::inner {
int run() {
  int result = 0;
#pragma omp target map(from : result)
  result = level + ::level;
  return result;
}
} // namespace middle::inner
} // namespace outer

namespace {
int run_hidden() {
  int result = 0;
#pragma omp target map(from : result)
  result = ++level_hidden + ++deeper::level_hidden;
  return result;
}
} // namespace

int run() {
  int result = 0;
#pragma omp target map(from : result)
  result = level++;
  return result;
}

int main() {
  int a = run(), b = outer::run(), c = outer::middle::inner::run(), d = run_hidden();
  std::printf("%d %d %d %d\n", a, b, c, d);
  return a == 1 && b == 16 && c == 102 && d == 11002 ? 0 : 1;
}
