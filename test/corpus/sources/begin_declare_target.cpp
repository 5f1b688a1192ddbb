// Exercises: begin/end declare target and the unpaired declare target, nested, around types,
// variables, functions, function templates and using-declarations.
#include <cstdio>

#pragma omp begin declare target
namespace shapes {
struct box {
  int width, height;
  int area() const { return width * height; }
};
int made = 0;
#pragma omp begin declare target
inline box make(int w, int h) {
  ++made;
  return {w, h};
}
#pragma omp end declare target
template <typename T> T larger(T a, T b) { return a < b ? b : a; }
} // namespace shapes
using shapes::box;
box standing = {2, 3};
#pragma omp end declare target

#pragma omp declare target
static int uses = 0;
static int counted_area(const box &b) {
  ++uses;
  return b.area();
}
#pragma omp end declare target

int main() {
  int area = 0, device_uses = 0;
  double largest = 0;
#pragma omp target map(from : area, device_uses, largest)
  {
    box b = shapes::make(4, 5);
    standing.width = shapes::larger(b.width, standing.width);
    area = counted_area(b) + counted_area(standing);
    largest = shapes::larger(1.5, 2.5);
    device_uses = uses;
  }
#pragma omp target update from(standing, shapes::made)
  std::printf("area %d uses %d largest %.1f standing %d made %d\n", area, device_uses, largest,
              standing.width, shapes::made);
  return area == 32 && device_uses == 2 && largest == 2.5 && standing.width == 4 &&
                 shapes::made == 1
             ? 0
             : 1;
}
