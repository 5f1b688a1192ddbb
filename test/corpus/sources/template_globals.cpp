// Exercises: static members of class templates, inline variables and explicit instantiations under declare target.
#include <cstdio>

#pragma omp begin declare target
template <typename T> struct bounds {
  static T limit;
};
template <typename T> T bounds<T>::limit = T(100);
template <> short bounds<short>::limit = 7;
template <typename T, int N> struct pool {
  T slots[N];
};
pool<long, 4> storage = {{1, 2, 3, 4}};
inline int inline_global = 21;
inline constexpr int inline_constant = 6;
template <typename T> T clamp(T x) { return x < bounds<T>::limit ? x : bounds<T>::limit; }
template int clamp<int>(int);
extern template float clamp<float>(float);
template float clamp<float>(float);
#pragma omp end declare target

int main() {
  int whole = 0, small = 0, stored = 0;
  float real = 0;
#pragma omp target map(from : whole, small, stored, real)
  {
    whole = clamp(250) + inline_global * inline_constant;
    small = clamp<short>(50);
    bounds<float>::limit = 1.5f;
    real = clamp(2.0f);
    storage.slots[3] += storage.slots[2];
    stored = static_cast<int>(storage.slots[3]);
    inline_global = 1;
  }
#pragma omp target update from(inline_global)
  std::printf("whole %d small %d stored %d real %.1f inline %d\n", whole, small, stored, real,
              inline_global);
  return whole == 226 && small == 7 && stored == 7 && real == 1.5f && inline_global == 1 ? 0 : 1;
}
