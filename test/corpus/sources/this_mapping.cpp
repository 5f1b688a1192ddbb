// Exercises: regions in member functions: this and single members mapped, implicit this, members
// through a base class, const members, and regions in constructors, destructors and operators.
#include <cstdio>

struct base {
  int shared = 2;
};

class grid : public base {
  int cells[12];
  int width;
  int *external;

public:
  static int destroyed;
  grid(int w, int *out) : width(w), external(out) {
#pragma omp target map(from : cells)
    for (int i = 0; i < 12; ++i)
      cells[i] = i;
  }
  ~grid() {
    int last = 0;
#pragma omp target map(from : last) map(to : cells)
    last = cells[11];
    destroyed += last;
  }
  void scale(int by) {
#pragma omp target
    for (int i = 0; i < 12; ++i)
      cells[i] *= by * shared;
  }
  int row(int r) const {
    int sum = 0;
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < width; ++i)
      sum += cells[r * width + i];
    return sum;
  }
  grid &operator+=(int amount) {
#pragma omp target map(tofrom : this->cells[0 : 6])
    for (int i = 0; i < 6; ++i)
      this->cells[i] += amount;
    return *this;
  }
  int operator()(int i) {
#pragma omp target map(tofrom : this[ : 1]) map(tofrom : external[0 : 1])
    external[0] = cells[i];
    return *external;
  }
  explicit operator bool() const {
    bool any = false;
#pragma omp target map(from : any)
    any = cells[0] != 0;
    return any;
  }
};
int grid::destroyed = 0;

int main() {
  int out = 0, first = 0, second = 0, called = 0;
  bool any = false;
  {
    grid g(4, &out);
    g.scale(3);
    g += 5;
    first = g.row(0);
    second = g.row(1);
    called = g(7);
    any = static_cast<bool>(g);
  }
  std::printf("%d %d %d %d %d %d\n", first, second, called, out, any, grid::destroyed);
  return first == 56 && second == 142 && called == 42 && out == 42 && any && grid::destroyed == 66
             ? 0
             : 1;
}
