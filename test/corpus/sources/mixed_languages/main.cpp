// Exercises: C and C++ units in one program, device functions and globals that one defines and the
// other uses, extern "C" names, and overloads next to them.
#include "both.h"
#include <cstdio>

#pragma omp begin declare target
message shared_message = {1, "shared"};
static int same_name(int x) { return x * 2; }
static long same_name(long x) { return x * 3; }
int in_cplusplus(int x) { return same_name(x) + static_cast<int>(same_name(1L)) + shared_counter; }
#pragma omp end declare target

int main() {
  int result = 0;
  int from_c = region_in_c(10);
#pragma omp target map(from : result)
  {
    result = in_c(20);
    shared_message.number = shared_counter;
  }
#pragma omp target update from(shared_message, shared_counter)
  std::printf("%d %d %s %d %d\n", from_c, result, shared_message.text, shared_message.number,
              shared_counter);
  return from_c == 28 && result == 27 && shared_message.text[0] == 'C' && shared_counter == 6 ? 0
                                                                                               : 1;
}
