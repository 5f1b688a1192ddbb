// Macroscopic cross sections, one sample a thread: a search in an energy grid, then interpolation for each
// nuclide of a material. `xs-lookup` reads its extents from structs; here they are arguments. Known values
// unroll the loops over channels and over steps of the search.
// --size: hundreds of samples. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <algorithm>
#include <vector>

static void look_up(const double *energies, const double *sections, const int *materials, double *totals,
                    int points, int steps, int in_material, int channels, int kinds, uint64_t seed,
                    long samples) {
#pragma omp target teams distribute parallel for
  for (long sample = 0; sample < samples; ++sample) {
    double energy = workload_uniform(seed, 2 * sample);
    const int *material = materials + workload_random(seed, 2 * sample + 1) % kinds * in_material;
    for (int channel = 0; channel < channels; ++channel)
      totals[sample * channels + channel] = 0;
    for (int i = 0; i < in_material; ++i) {
      int nuclide = material[i];
      const double *grid = energies + (long)nuclide * points;
      int low = 0, length = points - 1; // the point at `low` is not above the energy
      for (int step = 0; step < steps; ++step) {
        int half = length / 2;
        bool is_above = grid[low + half] <= energy;
        low = is_above ? low + half : low;
        length = is_above ? length - half : half;
      }
      double along = (energy - grid[low]) / (grid[low + 1] - grid[low]);
      const double *values = sections + ((long)nuclide * points + low) * channels;
      for (int channel = 0; channel < channels; ++channel)
        totals[sample * channels + channel] +=
            values[channel] + along * (values[channels + channel] - values[channel]);
    }
  }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "nuclide-lookup", 5, 2000);
  long nuclides = workload_setting(&run, "nuclides", 1, 12, 68);
  long points = workload_setting(&run, "points", 2, 200, 4000);
  long in_material = workload_setting(&run, "in-material", 1, 6, 12);
  long kinds = workload_setting(&run, "materials", 1, 4, 12);
  long channels = workload_setting(&run, "channels", 1, 5, 5);
  long seed = workload_setting(&run, "seed", 0, 42, 42);
  long launches = workload_setting(&run, "launches", 1, 3, 8);
  workload_settings_end(&run);
  int steps = 0; // halvings until one interval is left
  for (long length = points - 1; length > 1; length -= length / 2)
    ++steps;

  long samples = run.size * 100;
  std::vector<double> grids(nuclides * points), values(nuclides * points * channels), sums(samples * channels);
  std::vector<int> recipes(kinds * in_material);
  workload_fill(values.data(), values.size(), 2, 0, 10);
  for (long nuclide = 0; nuclide < nuclides; ++nuclide)
    for (long point = 0; point < points; ++point) { // rising, from 0 to 1
      double between = (point + workload_uniform(3 + nuclide, point) * 0.9) / (points + 1);
      grids[nuclide * points + point] = point == 0 ? 0 : point + 1 == points ? 1 : between;
    }
  for (size_t i = 0; i < recipes.size(); ++i)
    recipes[i] = (int)(workload_random(1, i) % nuclides);
  double *energies = grids.data(), *sections = values.data(), *totals = sums.data();
  int *materials = recipes.data();
  size_t sizes[4] = {grids.size(), values.size(), recipes.size(), sums.size()};

  workload_timer timer = workload_timer_new("look_up");
#pragma omp target data map(to : energies[0 : sizes[0]], sections[0 : sizes[1]], materials[0 : sizes[2]])         \
    map(from : totals[0 : sizes[3]])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    look_up(energies, sections, materials, totals, (int)points, steps, (int)in_material, (int)channels, (int)kinds,
            (uint64_t)seed, samples);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "totals");
  size_t step = workload_check_stride(&run, samples);
  for (long sample = 0; sample < samples; sample += step) {
    double energy = workload_uniform(seed, 2 * sample);
    const int *material = materials + workload_random(seed, 2 * sample + 1) % kinds * in_material;
    for (long channel = 0; channel < channels; ++channel) {
      double want = 0;
      for (long i = 0; i < in_material; ++i) {
        const double *grid = energies + material[i] * points;
        long above = std::upper_bound(grid, grid + points - 1, energy) - grid, below = above - 1;
        double along = (energy - grid[below]) / (grid[above] - grid[below]);
        const double *of = sections + material[i] * points * channels + channel;
        want += of[below * channels] * (1 - along) + of[above * channels] * along;
      }
      long at = sample * channels + channel;
      workload_check_value(&check, at, totals[at], want, 1e-9, 1e-12);
    }
  }
  workload_check_end(&check);
  workload_checksum("totals", totals, sums.size() * sizeof(double));
  workload_timer_end(&timer);
  return workload_end(&run);
}
