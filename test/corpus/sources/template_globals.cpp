// Exercises: variable templates, inline variables and explicit instantiations under declare target.
#include <cstdio>

#pragma omp begin declare target
template <typename T> T limit = T(100);
template <> inline short limit<short> = 7;
template <typename T, int N> struct pool {
  T slots[N];
};
template <typename T> pool<T, 4> storage = {{T(1), T(2), T(3), T(4)}};
inline int inline_global = 21;
inline constexpr int inline_constant = 6;
template <typename T> T clamp(T x) { return x < limit<T> ? x : limit<T>; }
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
    limit<float> = 1.5f;
    real = clamp(2.0f);
    storage<long>.slots[3] += storage<long>.slots[2];
    stored = static_cast<int>(storage<long>.slots[3]);
    inline_global = 1;
  }
#pragma omp target update from(inline_global)
  std::printf("whole %d small %d stored %d real %.1f inline %d\n", whole, small, stored, real,
              inline_global);
  return whole == 226 && small == 7 && stored == 7 && real == 1.5f && inline_global == 1 ? 0 : 1;
}
