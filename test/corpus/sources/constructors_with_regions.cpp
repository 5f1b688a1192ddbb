// Exercises: regions in constructors and destructors of polymorphic base and derived classes (the
// region is named after the complete-object variant, C1 or D1), and in a local class. Virtual bases
// are left out: Clang then lists a second region on the host that the device module does not have.
#include <cstdio>

static int log_of_calls[8], calls = 0;

struct top {
  int value;
  explicit top(int v) : value(0) {
    int stored = 0;
#pragma omp target map(tofrom : stored)
    stored += v;
    value = stored;
  }
};
struct middle : top {
  explicit middle(int v = 100) : top(v) {
    int seen = 1;
#pragma omp target map(tofrom : seen)
    seen *= 3;
    log_of_calls[calls++] = seen + value;
  }
  virtual ~middle() {
    int seen = 7;
#pragma omp target map(tofrom : seen)
    seen = -seen;
    log_of_calls[calls++] = seen;
  }
};
struct lowest : middle {
  lowest() : middle(200) {}
};

int main() {
  struct local {
    int twice(int x) {
#pragma omp target map(tofrom : x)
      x *= 2;
      return x;
    }
  };
  {
    middle m;
    lowest l;
  }
  int twice = local().twice(21);
  for (int i = 0; i < calls; ++i)
    std::printf("%d ", log_of_calls[i]);
  std::printf("twice %d\n", twice);
  return calls == 4 && log_of_calls[0] == 103 && log_of_calls[1] == 203 && log_of_calls[3] == -7 &&
                 twice == 42
             ? 0
             : 1;
}
