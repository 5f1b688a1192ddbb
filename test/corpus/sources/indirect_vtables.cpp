// ONLY: 22 (LLVM 19 has no entries for tables of virtual functions)
// Exercises: declare target indirect on classes: the device finds its own table of virtual functions by
// the host's pointer in an object that was made on the host, through single and multiple inheritance,
// templates, and an abstract base.
#include <cstdio>

#pragma omp begin declare target indirect
struct shape {
  int scale;
  explicit shape(int scale) : scale(scale) {}
  virtual int area() const = 0;
  virtual int sides() const { return 0; }
};
struct square : shape {
  explicit square(int scale) : shape(scale) {}
  int area() const override { return scale * scale; }
  int sides() const override { return 4; }
};
struct named {
  virtual int letters() const { return 7; }
};
struct circle : shape, named {
  explicit circle(int scale) : shape(scale) {}
  int area() const override { return 3 * scale * scale; }
  int letters() const override { return 6; }
};
template <int N> struct prism : square {
  explicit prism(int scale) : square(scale) {}
  int area() const override { return N * square::area(); }
};
#pragma omp end declare target

static void measure(const shape &object, int &area, int &sides) {
  area = object.area();
  sides = object.sides();
}
#pragma omp declare target to(measure)

int main() {
  square a(3);
  circle b(2);
  prism<5> c(4);
  int results[7] = {0};
#pragma omp target map(to : a, b, c) map(from : results)
  {
    measure(a, results[0], results[1]);
    measure(b, results[2], results[3]);
    measure(c, results[4], results[5]);
    const named &name = b;
    results[6] = name.letters();
  }
  for (int result : results)
    std::printf("%d ", result);
  std::printf("\n");
  return results[0] == 9 && results[1] == 4 && results[2] == 12 && results[3] == 0 && results[4] == 80 &&
                 results[5] == 4 && results[6] == 6
             ? 0
             : 1;
}
