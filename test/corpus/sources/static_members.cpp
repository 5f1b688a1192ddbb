// Exercises: declare target on static data members (in-class inline, out of class, of class
// templates) and static member functions.
#include <cstdio>

#pragma omp begin declare target
class registry {
public:
  static int count;
  static inline int last = -1;
  static constexpr int limit = 5;
  static int add(int value) {
    if (count < limit) {
      ++count;
      last = value;
    }
    return count;
  }

private:
  static int hidden_sum;
  friend int sum_of_registry();
};
int registry::count = 0;
int registry::hidden_sum = 17;
int sum_of_registry() { return registry::hidden_sum++; }

template <typename T> struct per_type {
  static T value;
  static inline T twin = T(2);
  static T bump() { return value += twin; }
};
template <typename T> T per_type<T>::value = T(10);
template <> int per_type<int>::value = 1000;
#pragma omp end declare target

int main() {
  int added = 0, sum = 0, whole = 0;
  double real = 0;
#pragma omp target map(from : added, sum, whole, real)
  {
    for (int i = 0; i < 9; ++i)
      added = registry::add(i * i);
    sum = sum_of_registry() + sum_of_registry();
    per_type<int>::bump();
    whole = per_type<int>::bump();
    real = per_type<double>::bump();
  }
#pragma omp target update from(registry::count, registry::last)
  std::printf("added %d sum %d whole %d real %.1f count %d last %d\n", added, sum, whole, real,
              registry::count, registry::last);
  return added == 5 && sum == 35 && whole == 1004 && real == 12.0 && registry::count == 5 &&
                 registry::last == 16
             ? 0
             : 1;
}
