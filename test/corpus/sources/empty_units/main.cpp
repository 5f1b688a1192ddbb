// Exercises: units without regions next to one with them: only declare target functions, only a
// declare target global, nothing of OpenMP at all, and an empty region.
#include <cstdio>

#pragma omp begin declare target
int function_of_unit(int x);
extern "C" int global_of_unit;
#pragma omp end declare target
extern "C" int plain_host(int x);

int main() {
  int result = 0;
#pragma omp target
  {
  }
#pragma omp target map(tofrom : result)
  result = function_of_unit(global_of_unit);
#pragma omp target if (false)
  ;
  int host = plain_host(result);
  std::printf("%d %d\n", result, host);
  return result == 34 && host == 68 ? 0 : 1;
}
