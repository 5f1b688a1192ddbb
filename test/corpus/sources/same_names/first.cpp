// Exercises: static functions, anonymous namespaces and device globals of the same name in several
// files; the regions stand on the same line of each file, so only the file's id tells them apart.
#include "names.h"
#pragma omp begin declare target
static int state = 1;
namespace {
int helper(int x) { return x + state; }
} // namespace
#pragma omp end declare target
static int work(int x) {
#pragma omp target map(tofrom : x)
  x = helper(x) + ++state;
  return x;
}
int run_first(int x) { return work(x); }
