// Exercises: std::complex, std::array, std::pair, std::tuple, initializer lists and algorithms on
// device data.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdio>
#include <numeric>
#include <tuple>
#include <utility>

int main() {
  std::array<int, 16> numbers{};
  std::complex<double> z(1, 2), w(0.5, -1);
  std::complex<float> list[4] = {{1, 1}, {2, 0}, {0, 3}, {-1, 0}};
  std::pair<int, double> pair(3, 0.5);
  std::tuple<char, short, long> tuple('a', 2, 3);
  int largest = 0, sum = 0;

#pragma omp target map(tofrom : numbers, z, list, pair, tuple) map(from : largest, sum)
  {
    for (unsigned i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<int>(i * 7 % 16);
    std::sort(numbers.begin(), numbers.end());
    std::reverse(numbers.begin(), numbers.begin() + 4);
    largest = *std::max_element(numbers.begin(), numbers.end());
    sum = std::accumulate(numbers.begin(), numbers.end(), 0);
    z += w * std::complex<double>(2, 0);
    for (auto &value : list)
      value += std::conj(list[0]);
    pair.first = std::max({pair.first, 8, 5});
    std::get<2>(tuple) *= 14;
  }
#pragma omp target teams distribute parallel for map(tofrom : numbers)
  for (int i = 0; i < 16; ++i)
    numbers[i] = numbers[i] * numbers[i];

  std::printf("largest %d sum %d first %d z %.1f%+.1fi list %.1f%+.1fi pair %d tuple %ld\n", largest,
              sum, numbers[0], z.real(), z.imag(), list[2].real(), list[2].imag(), pair.first,
              std::get<2>(tuple));
  return largest == 15 && sum == 120 && numbers[0] == 9 && z == std::complex<double>(2, 0) &&
                 pair.first == 8 && std::get<2>(tuple) == 42
             ? 0
             : 1;
}
