// Exercises: reduction with every predefined operator, on scalars of several types, and over teams
// and threads together.
#include <cstdio>

int main() {
  constexpr int n = 200;
  unsigned char bytes[n];
  for (int i = 0; i < n; ++i)
    bytes[i] = static_cast<unsigned char>(i * 7 + 1);

  long sum = 100;
  double half = 0;
  unsigned all_bits = ~0u, any_bits = 0, odd_bits = 0;
  bool every = true, some = false;
  int lowest = 1 << 20, highest = -1;
  unsigned long long product = 1;

#pragma omp target teams distribute parallel for map(to : bytes) reduction(+ : sum, half)          \
    reduction(& : all_bits) reduction(| : any_bits) reduction(^ : odd_bits)
  for (int i = 0; i < n; ++i) {
    sum += bytes[i];
    half += 0.5;
    all_bits &= bytes[i] | 0xf0u;
    any_bits |= bytes[i] & 0x3cu;
    odd_bits ^= bytes[i];
  }

#pragma omp target parallel for reduction(&& : every) reduction(|| : some)                         \
    reduction(min : lowest) reduction(max : highest) map(to : bytes)
  for (int i = 0; i < n; ++i) {
    every = every && bytes[i] + i >= i;
    some = some || bytes[i] == 99;
    lowest = bytes[i] < lowest ? bytes[i] : lowest;
    highest = bytes[i] > highest ? bytes[i] : highest;
  }

#pragma omp target teams distribute reduction(* : product)
  for (int i = 0; i < 40; ++i)
    product *= 2;

#pragma omp target parallel for reduction(- : sum) map(tofrom : sum)
  for (int i = 0; i < 10; ++i)
    sum -= 10;

  std::printf("sum %ld half %.1f bits %x %x %x every %d some %d range %d..%d product %llu\n", sum,
              half, all_bits, any_bits, odd_bits, every, some, lowest, highest, product);
  return sum == 24300 && half == 100.0 && all_bits == 0xf0 && odd_bits == 0xb0 && any_bits == 0x3c && every && some && lowest == 0 && highest == 255 &&
                 product == 1ull << 40
             ? 0
             : 1;
}
