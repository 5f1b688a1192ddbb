// Exercises: the second of the files with the same names. Its region is in the same function name
// and on the same line as the first file's. Here it means something else.
#include "names.h"
#pragma omp begin declare target
static int state = 100;
namespace {
int helper(int x) { return x * state; }
} // namespace
#pragma omp end declare target
static int work(int x) {
#pragma omp target map(tofrom : x)
  x = helper(x) - --state;
  return x;
}
int run_second(int x) { return work(x); }
namespace nested::second {
int run(int x) { return work(x) + ::work(1); }
} // namespace nested::second
