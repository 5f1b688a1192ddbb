// Exercises: declare target device_type(host|nohost|any) on functions and variables.
// Which version of `where` a region calls is chosen by declare variant, so both sides link.
#include <cstdio>

#pragma omp begin declare target device_type(nohost)
int only_device(int x) { return x + 100; }
#pragma omp end declare target

#pragma omp begin declare target device_type(host)
int only_host(int x) { return x + 100; }
#pragma omp end declare target

#pragma omp begin declare target device_type(any)
int anywhere = 3;
#pragma omp declare variant(only_device) match(device = {kind(nohost)})
#pragma omp declare variant(only_host) match(device = {kind(host)})
int where(int x) { return x; }
#pragma omp end declare target

int scaled(int x);
#pragma omp declare target to(scaled) device_type(any)
int scaled(int x) { return x * anywhere; }

int main() {
  int result = 0;
#pragma omp target map(from : result)
  {
    anywhere += 1;
    result = scaled(5);
  }
#pragma omp target update from(anywhere)
  int on_host = only_host(1);
  std::printf("result %d anywhere %d host %d\n", result, anywhere, on_host);
  return result == 20 && anywhere == 4 && on_host == 101 ? 0 : 1;
}
