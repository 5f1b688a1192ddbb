// Exercises: declare target globals with constructors and destructors, arrays of such objects,
// dynamic initialisation from a function, and their order on the device.
#include <cstdio>

#pragma omp begin declare target
int order = 0;

struct resource {
  int value;
  int position;
  explicit resource(int v) : value(v), position(++order) {}
  resource() : resource(40) {}
  ~resource() { value = 0; }
};

int computed_start(int x) { return x * x; }

resource first(7);
resource several[3];
int dynamic = computed_start(9);
static resource hidden(dynamic + 1);
namespace {
const resource nested_constant(5);
}
#pragma omp end declare target

int main() {
  int values[6] = {0}, positions[6] = {0};
#pragma omp target map(from : values, positions)
  {
    const resource *all[6] = {&first, &several[0], &several[1], &several[2], &hidden,
                              &nested_constant};
    for (int i = 0; i < 6; ++i) {
      values[i] = all[i]->value;
      positions[i] = all[i]->position;
    }
    values[3] += dynamic;
  }
  bool good = true;
  for (int i = 0; i < 6; ++i) {
    std::printf("%d:%d ", positions[i], values[i]);
    good = good && positions[i] == i + 1;
  }
  std::printf("\n");
  return good && values[0] == 7 && values[1] == 40 && values[3] == 121 && values[4] == 82 &&
                 values[5] == 5
             ? 0
             : 1;
}
