// One scalar argument that is new at each launch, among others that stay: the shape of 552.pep. Each
// launch draws its own stretch of pairs from one linear congruential sequence (x -> 5^13 x mod 2^46),
// makes Gaussian deviates of those inside the unit circle and counts them by square ring. A regression
// guard: whoever makes a variant for each value of `offset` never stops compiling.
// --size: launches. Results: counts equal always, sums equal bits unless the device fuses multiply and add
// or computes log and sqrt by other code.
#include "workload.h"

#include <cmath>
#include <vector>

enum { RINGS = 10 };

struct partial {
  double sum_x, sum_y;
  int64_t counts[RINGS];
};

#pragma omp declare target
static inline uint64_t power_of_multiplier(uint64_t multiplier, uint64_t exponent, uint64_t mask) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, multiplier = multiplier * multiplier & mask)
    if (exponent & 1)
      result = result * multiplier & mask;
  return result;
}

static inline partial draw(int64_t first_pair, int pairs, uint64_t seed, uint64_t multiplier, int bits) {
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  double scale = 1.0 / (double)((uint64_t)1 << bits);
  uint64_t state = seed * power_of_multiplier(multiplier, 2 * (uint64_t)first_pair, mask) & mask;
  partial sums = {};
  for (int pair = 0; pair < pairs; ++pair) {
    state = state * multiplier & mask;
    double u = 2 * ((double)state * scale) - 1;
    state = state * multiplier & mask;
    double v = 2 * ((double)state * scale) - 1;
    double square = u * u + v * v;
    if (square <= 1 && square > 0) {
      double stretch = std::sqrt(-2 * std::log(square) / square);
      double x = std::fabs(u * stretch), y = std::fabs(v * stretch);
      int ring = (int)(x > y ? x : y);
      sums.counts[ring < RINGS ? ring : RINGS - 1] += 1;
      sums.sum_x += u * stretch;
      sums.sum_y += v * stretch;
    }
  }
  return sums;
}
#pragma omp end declare target

static void draw_batch(partial *sums, int batches, int pairs, int64_t offset, uint64_t seed, uint64_t multiplier,
                       int bits) {
#pragma omp target teams distribute parallel for
  for (int batch = 0; batch < batches; ++batch)
    sums[batch] = draw(offset + (int64_t)batch * pairs, pairs, seed, multiplier, bits);
}

static void add(partial &total, const partial &more) {
  total.sum_x += more.sum_x;
  total.sum_y += more.sum_y;
  for (int ring = 0; ring < RINGS; ++ring)
    total.counts[ring] += more.counts[ring];
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "changing-scalar", 40, 3000);
  int batches = (int)workload_setting(&run, "batches", 1, 16, 64);
  int pairs = (int)workload_setting(&run, "pairs", 1, 256, 1024);
  int bits = (int)workload_setting(&run, "bits", 8, 46, 46);
  uint64_t multiplier = (uint64_t)workload_setting(&run, "multiplier", 1, 1220703125, 1220703125);
  uint64_t seed = (uint64_t)workload_setting(&run, "seed", 1, 271828183, 271828183);
  workload_settings_end(&run);
  if (bits > 62) {
    fprintf(stderr, "changing-scalar: setting bits must be at most 62\n");
    return 2;
  }

  std::vector<partial> parts(batches);
  partial *sums = parts.data(), total = {}, want = {};
  int64_t per_launch = (int64_t)batches * pairs;
  workload_timer timer = workload_timer_new("draw_batch");
#pragma omp target enter data map(alloc : sums[0 : batches])
  for (long launch = 0; launch < run.size; ++launch) {
    workload_timer_start(&timer);
    draw_batch(sums, batches, pairs, launch * per_launch, seed, multiplier, bits);
    workload_timer_stop(&timer);
#pragma omp target update from(sums[0 : batches])
    partial of_launch = {};
    for (const partial &part : parts)
      add(of_launch, part);
    add(total, of_launch);
    if (!run.is_large || launch == run.size / 2) { // one launch of a large run is looked at alone
      partial alone = draw(launch * per_launch, (int)per_launch, seed, multiplier, bits);
      add(want, alone);
      if (run.is_large) {
        workload_check middle = workload_check_begin(&run, "middle-launch");
        workload_check_value(&middle, 0, of_launch.sum_x, alone.sum_x, 0, 1e-8 * per_launch);
        for (int ring = 0; ring < RINGS; ++ring)
          workload_check_value(&middle, 1 + ring, of_launch.counts[ring], alone.counts[ring], 0, 0);
        workload_check_end(&middle);
      }
    }
  }
#pragma omp target exit data map(delete : sums[0 : batches])

  int64_t accepted = 0;
  for (int ring = 0; ring < RINGS; ++ring)
    accepted += total.counts[ring];
  double all = (double)per_launch * run.size, expected = all * 0.78539816339744831;
  workload_check_that(&run, "accepted-share", fabs(accepted - expected) < 6 * sqrt(all));
  if (!run.is_large) {
    workload_check check = workload_check_begin(&run, "sums");
    workload_check_value(&check, 0, total.sum_x, want.sum_x, 0, 1e-9 * all);
    workload_check_value(&check, 1, total.sum_y, want.sum_y, 0, 1e-9 * all);
    for (int ring = 0; ring < RINGS; ++ring)
      workload_check_value(&check, 2 + ring, total.counts[ring], want.counts[ring], 0, 0);
    workload_check_end(&check);
  }
  workload_checksum("counts", total.counts, sizeof total.counts);
  workload_checksum("sums", &total.sum_x, 2 * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
