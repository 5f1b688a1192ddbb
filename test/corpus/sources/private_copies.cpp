// Exercises: private and firstprivate of scalars, arrays, classes with constructors and references.
#include <cstdio>

struct tracked {
  int value;
  tracked() : value(77) {}
  tracked(int v) : value(v) {}
  tracked(const tracked &other) : value(other.value + 1) {}
  ~tracked() { value = -1; }
};

int main() {
  int uninitialised = 5, first = 6, result = 0;
  int block[3] = {1, 2, 3};
  int &reference = first;
  const int constant = 8;
  tracked object(20);

#pragma omp target private(uninitialised) firstprivate(first, block) map(from : result)
  {
    uninitialised = 1;
    first += uninitialised;
    block[0] += first;
    result = block[0] + block[2] + constant;
  }
  std::printf("%d %d %d %d\n", uninitialised, first, block[0], result);
  bool good = uninitialised == 5 && first == 6 && block[0] == 1 && result == 19;

#pragma omp target firstprivate(reference) map(from : result)
  {
    reference += 100;
    result = reference;
  }
  std::printf("%d %d\n", reference, result);
  good = good && reference == 6 && result == 106;

#pragma omp target private(object) map(from : result)
  result = object.value;
  std::printf("%d %d\n", object.value, result);
  good = good && object.value == 20 && result == 77;

#pragma omp target map(from : result)
#pragma omp parallel for firstprivate(object) num_threads(1) lastprivate(result)
  for (int i = 0; i < 4; ++i)
    result = object.value + i;
  std::printf("%d\n", result);
  good = good && result == 24;
  return good ? 0 : 1;
}
