// Exercises: begin/end declare variant by architecture and kind, overriding functions that regions
// call; the mangled variants carry a suffix of their own.
#include <cstdio>

#pragma omp begin declare target
int kind() { return 1; }
int shared_name(int x) { return x; }

#pragma omp begin declare variant match(device = {arch(nvptx64, amdgcn)})
int kind() { return 2; }
#pragma omp end declare variant

#pragma omp begin declare variant match(device = {kind(cpu)}, implementation = {vendor(llvm)})
int shared_name(int x) { return x + 1000; }
template <typename T> T generic(T x) { return x + T(1); }
#pragma omp end declare variant
template <typename T> T doubled(T x) { return x * T(2); }
#pragma omp end declare target

int main() {
  int on_device = 0, named = 0;
#pragma omp target map(from : on_device, named)
  {
    on_device = kind();
    named = shared_name(5) + doubled(4);
  }
  std::printf("kind %d %d named %d %d\n", kind(), on_device, shared_name(5), named);
  return on_device == 1 && named == 1013 ? 0 : 1;
}
