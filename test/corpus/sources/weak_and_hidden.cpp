// Exercises: linkage and visibility attributes on declare target globals and functions: weak,
// hidden, protected, used, section, alignment, and an unused one.
#include <cstdio>

#pragma omp begin declare target
__attribute__((weak)) int weak_global = 6;
__attribute__((visibility("hidden"))) int hidden_global = 60;
__attribute__((visibility("protected"))) int protected_global = 600;
__attribute__((used)) static int kept = 6000;
__attribute__((section("special"))) int placed = 5;
alignas(128) char aligned_bytes[3] = {1, 2, 3};
int never_used = 99;
__attribute__((weak)) int weak_function() { return weak_global; }
__attribute__((visibility("hidden"), noinline)) int hidden_function() { return hidden_global; }
__attribute__((always_inline)) inline int inlined() { return protected_global; }
#pragma omp end declare target

int main() {
  int sum = 0;
  bool aligned = false;
#pragma omp target map(from : sum, aligned)
  {
    sum = weak_function() + hidden_function() + inlined() + kept + placed;
    aligned = reinterpret_cast<unsigned long>(aligned_bytes) % 128 == 0;
    aligned_bytes[1] = 20;
    ++weak_global;
    ++hidden_global;
    ++protected_global;
  }
#pragma omp target update from(weak_global, protected_global, aligned_bytes)
  std::printf("sum %d aligned %d weak %d protected %d bytes %d\n", sum, aligned, weak_global,
              protected_global, aligned_bytes[1]);
  return sum == 6671 && aligned && weak_global == 7 && protected_global == 601 &&
                 aligned_bytes[1] == 20
             ? 0
             : 1;
}
