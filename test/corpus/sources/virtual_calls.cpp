// Exercises: virtual functions of objects made on the device: single, multiple and virtual
// inheritance, pure functions, calls through base pointers and references, and dynamic_cast-free
// type switches. The device module gets its own virtual tables.
#include <cstdio>

#pragma omp begin declare target
struct shape {
  virtual int area() const = 0;
  virtual int sides() const { return 0; }
  virtual ~shape() {}
};
struct square : shape {
  int side;
  explicit square(int s) : side(s) {}
  int area() const override { return side * side; }
  int sides() const override { return 4; }
};
struct named {
  virtual int name() const { return 'n'; }
  int tag = 7;
};
struct labelled final : square, named {
  using square::square;
  int name() const override { return 'l' + tag; }
};
struct root {
  int id = 1;
  virtual int value() const { return id; }
};
struct left : virtual root {
  int value() const override { return id + 10; }
};
struct right : virtual root {};
struct bottom : left, right {
  int value() const override { return left::value() * 2; }
};
int area_of(const shape &s) { return s.area() * 10 + s.sides(); }
int name_of(const named *n) { return n->name(); }
#pragma omp end declare target

int main() {
  int results[5] = {0};
#pragma omp target map(from : results)
  {
    square plain(3);
    labelled both(5);
    bottom diamond;
    results[0] = area_of(plain);
    results[1] = area_of(both);
    results[2] = name_of(&both);
    const root &r = static_cast<const right &>(diamond);
    results[3] = r.value();
    named base;
    results[4] = name_of(&base);
  }
  for (int result : results)
    std::printf("%d ", result);
  std::printf("\n");
  return results[0] == 94 && results[1] == 254 && results[2] == 'l' + 7 && results[3] == 22 &&
                 results[4] == 'n'
             ? 0
             : 1;
}
