// A great many launches of a kernel that does next to nothing, with a few scalars and pointers as
// arguments: what each launch costs is all there is. A regression guard.
// --size: launches. Results: equal bits always (whole numbers).
#include "workload.h"

#include <vector>

static void step(uint64_t *state, int count, uint64_t factor, uint64_t increment, int shift) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    uint64_t value = state[i] * factor + increment;
    state[i] = value ^ (value >> shift);
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "tiny-launches", 2000, 100000);
  int count = (int)workload_setting(&run, "elements", 1, 32, 32);
  int shift = (int)workload_setting(&run, "shift", 1, 29, 29);
  uint64_t factor = (uint64_t)workload_setting(&run, "factor", 1, 6364136223846793005, 6364136223846793005);
  uint64_t increment = (uint64_t)workload_setting(&run, "increment", 0, 1442695040888963407, 1442695040888963407);
  workload_settings_end(&run);

  std::vector<uint64_t> values(count), want(count);
  for (int i = 0; i < count; ++i)
    want[i] = values[i] = workload_random(1, i);
  uint64_t *state = values.data();

  workload_timer timer = workload_timer_new("step");
#pragma omp target data map(tofrom : state[0 : count])
  for (long launch = 0; launch < run.size; ++launch) {
    workload_timer_start(&timer);
    step(state, count, factor, increment, shift);
    workload_timer_stop(&timer);
  }

  size_t wrong = 0;
  for (int i = 0; i < count; ++i) {
    for (long launch = 0; launch < run.size; ++launch) {
      uint64_t value = want[i] * factor + increment;
      want[i] = value ^ (value >> shift);
    }
    wrong += want[i] != values[i];
  }
  workload_check_that(&run, "state", wrong == 0);
  workload_checksum("state", state, values.size() * sizeof(uint64_t));
  workload_timer_end(&timer);
  return workload_end(&run);
}
