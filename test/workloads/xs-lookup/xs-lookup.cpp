// Macroscopic cross-section lookups of a Monte Carlo neutron transport code, memory-bound: each lookup draws
// an energy and a material, finds its place in an energy grid and sums five interpolated reaction channels
// over the material's nuclides. As in the published proxy the kernel has no scalar argument: everything is
// read through two structs mapped `to`.
// --size: thousands of lookups a launch. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <algorithm>
#include <vector>

enum { CHANNELS = 5, MATERIALS = 12 };

struct inputs {
  long lookups;
  int nuclides;
  int points_per_nuclide;
  int unionized; // 1: one energy grid for all nuclides; 0: a search in each nuclide's grid
  int nuclides_per_material;
  uint64_t seed;
};

struct grid_point {
  double energy;
  double channel[CHANNELS];
};

struct simulation_data {
  int *nuclide_counts;        // of each material
  int *material_nuclides;     // [material][nuclides_per_material]
  double *concentrations;     // likewise
  double *material_share;     // cumulative probability of each material
  grid_point *grid;           // [nuclide][points_per_nuclide], by energy
  double *unionized_energies; // all energies of all nuclides, by energy
  int *unionized_index;       // [unionized energy][nuclide]: last point not above it
};

struct answer {
  double largest;
  int64_t channel;
};

#pragma omp declare target
// The last of `count` energies, `step` doubles apart, that is not above `energy`; at most count - 2.
static long last_not_above(const double *energies, long count, long step, double energy) {
  long low = 0, high = count - 1;
  while (high - low > 1) {
    long middle = low + (high - low) / 2;
    if (energies[middle * step] > energy)
      high = middle;
    else
      low = middle;
  }
  return low;
}

static void add_nuclide(const inputs &in, const simulation_data &data, double energy, long place, int nuclide,
                        double concentration, double *channel) {
  const grid_point *points = data.grid + (long)nuclide * in.points_per_nuclide;
  long low = in.unionized ? data.unionized_index[place * in.nuclides + nuclide]
                          : last_not_above(&points->energy, in.points_per_nuclide,
                                           sizeof(grid_point) / sizeof(double), energy);
  const grid_point &below = points[low], &above = points[low + 1];
  double fraction = (above.energy - energy) / (above.energy - below.energy);
  for (int i = 0; i < CHANNELS; ++i)
    channel[i] += concentration * (above.channel[i] - fraction * (above.channel[i] - below.channel[i]));
}

static int draw_material(const simulation_data &data, double roll) {
  int material = 0;
  while (material < MATERIALS - 1 && roll >= data.material_share[material])
    ++material;
  return material;
}

static answer look_up(const inputs &in, const simulation_data &data, long lookup) {
  double energy = workload_uniform(in.seed, 2 * lookup);
  int material = draw_material(data, workload_uniform(in.seed, 2 * lookup + 1));
  long place = in.unionized ? last_not_above(data.unionized_energies,
                                             (long)in.nuclides * in.points_per_nuclide, 1, energy)
                            : 0;
  double channel[CHANNELS] = {0, 0, 0, 0, 0};
  for (int i = 0; i < data.nuclide_counts[material]; ++i) {
    long slot = (long)material * in.nuclides_per_material + i;
    add_nuclide(in, data, energy, place, data.material_nuclides[slot], data.concentrations[slot], channel);
  }
  answer result = {channel[0], 0};
  for (int i = 1; i < CHANNELS; ++i)
    if (channel[i] > result.largest)
      result = {channel[i], i};
  return result;
}
#pragma omp end declare target

static void look_up_all(const inputs &in, const simulation_data &data, answer *answers) {
#pragma omp target teams distribute parallel for map(to : in, data) map(from : answers[0 : in.lookups])
  for (long lookup = 0; lookup < in.lookups; ++lookup)
    answers[lookup] = look_up(in, data, lookup);
}

// Owns what simulation_data points to.
struct storage {
  std::vector<int> nuclide_counts, material_nuclides, unionized_index;
  std::vector<double> concentrations, material_share, unionized_energies;
  std::vector<grid_point> grid;
};

static void make_materials(const inputs &in, storage &s) {
  // the fuel holds half of all nuclides, the others a few each; the fuel is drawn most often
  double total = 0;
  for (int material = 0; material < MATERIALS; ++material) {
    int count = material == 0 ? in.nuclides_per_material
                              : 4 + (int)(workload_random(11, material) % (in.nuclides_per_material - 3));
    s.nuclide_counts.push_back(count);
    int first = (int)(workload_random(12, material) % in.nuclides);
    for (int i = 0; i < in.nuclides_per_material; ++i) {
      s.material_nuclides.push_back((first + 7 * i) % in.nuclides);
      s.concentrations.push_back(workload_uniform(13, material * in.nuclides_per_material + i));
    }
    total += material == 0 ? 3 : workload_uniform(14, material);
    s.material_share.push_back(total);
  }
  for (double &share : s.material_share)
    share /= total;
}

static void make_grids(const inputs &in, storage &s) {
  long points = in.points_per_nuclide;
  s.grid.resize(in.nuclides * points);
  for (int nuclide = 0; nuclide < in.nuclides; ++nuclide) {
    grid_point *first = &s.grid[nuclide * points];
    for (long i = 0; i < points; ++i) {
      uint64_t index = (nuclide * points + i) * 8;
      first[i].energy = workload_uniform(21, index);
      for (int channel = 0; channel < CHANNELS; ++channel)
        first[i].channel[channel] = workload_uniform(21, index + 1 + channel);
    }
    first[0].energy = 0; // each grid covers every energy that is drawn
    first[points - 1].energy = 1;
    std::sort(first, first + points, [](const grid_point &a, const grid_point &b) { return a.energy < b.energy; });
  }
  if (!in.unionized) {
    s.unionized_energies.resize(1); // nothing is mapped from an empty vector
    s.unionized_index.resize(1);
    return;
  }
  for (const grid_point &point : s.grid)
    s.unionized_energies.push_back(point.energy);
  std::sort(s.unionized_energies.begin(), s.unionized_energies.end());
  std::vector<int> last(in.nuclides, 0);
  s.unionized_index.reserve(s.unionized_energies.size() * in.nuclides);
  for (double energy : s.unionized_energies)
    for (int nuclide = 0; nuclide < in.nuclides; ++nuclide) {
      while (last[nuclide] < points - 2 && s.grid[nuclide * points + last[nuclide] + 1].energy <= energy)
        ++last[nuclide];
      s.unionized_index.push_back(last[nuclide]);
    }
}

// The same lookup by plain search through each nuclide's own grid.
static answer straightforward(const inputs &in, const storage &s, long lookup) {
  double energy = workload_uniform(in.seed, 2 * lookup), roll = workload_uniform(in.seed, 2 * lookup + 1);
  size_t material = std::upper_bound(s.material_share.begin(), s.material_share.end(), roll) - s.material_share.begin();
  material = std::min<size_t>(material, MATERIALS - 1);
  double channel[CHANNELS] = {0, 0, 0, 0, 0};
  for (int i = 0; i < s.nuclide_counts[material]; ++i) {
    size_t slot = material * in.nuclides_per_material + i;
    auto first = s.grid.begin() + (long)s.material_nuclides[slot] * in.points_per_nuclide;
    auto above = std::upper_bound(first + 1, first + in.points_per_nuclide - 1, energy,
                                  [](double value, const grid_point &point) { return value < point.energy; });
    auto below = above - 1;
    double weight = (energy - below->energy) / (above->energy - below->energy);
    for (int c = 0; c < CHANNELS; ++c)
      channel[c] += s.concentrations[slot] * ((1 - weight) * below->channel[c] + weight * above->channel[c]);
  }
  double *largest = std::max_element(channel, channel + CHANNELS);
  return {*largest, largest - channel};
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "xs-lookup", 5, 600);
  inputs in;
  in.lookups = run.size * 1000;
  in.nuclides = (int)workload_setting(&run, "nuclides", 8, 24, 68);
  in.points_per_nuclide = (int)workload_setting(&run, "points-per-nuclide", 4, 200, 10000);
  in.unionized = (int)workload_setting(&run, "unionized", 0, 1, 1);
  in.nuclides_per_material = in.nuclides / 2;
  in.seed = (uint64_t)workload_setting(&run, "seed", 0, 42, 42);
  long launches = workload_setting(&run, "launches", 1, 3, 5);
  workload_settings_end(&run);

  storage s;
  make_materials(in, s);
  make_grids(in, s);
  simulation_data data = {s.nuclide_counts.data(),     s.material_nuclides.data(), s.concentrations.data(),
                          s.material_share.data(),     s.grid.data(),              s.unionized_energies.data(),
                          s.unionized_index.data()};
  std::vector<answer> answers(in.lookups);
  answer *results = answers.data();
  size_t slots = s.material_nuclides.size(), points = s.grid.size();
  size_t energies = s.unionized_energies.size(), indices = s.unionized_index.size();

  workload_timer timer = workload_timer_new("look_up_all");
#pragma omp target enter data map(to : data) map(alloc : results[0 : in.lookups])
#pragma omp target enter data map(                                                                                \
        to : data.nuclide_counts[0 : MATERIALS], data.material_nuclides[0 : slots],                               \
            data.concentrations[0 : slots], data.material_share[0 : MATERIALS], data.grid[0 : points],            \
            data.unionized_energies[0 : energies], data.unionized_index[0 : indices])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    look_up_all(in, data, results);
    workload_timer_stop(&timer);
  }
#pragma omp target exit data map(from : results[0 : in.lookups])
#pragma omp target exit data map(                                                                                 \
        delete : data.nuclide_counts[0 : MATERIALS], data.material_nuclides[0 : slots],                           \
            data.concentrations[0 : slots], data.material_share[0 : MATERIALS], data.grid[0 : points],            \
            data.unionized_energies[0 : energies], data.unionized_index[0 : indices])
#pragma omp target exit data map(delete : data)

  workload_check values = workload_check_begin(&run, "largest-channels");
  size_t step = workload_check_stride(&run, answers.size());
  for (size_t i = 0; i < answers.size(); i += step) {
    answer want = straightforward(in, s, (long)i);
    workload_check_value(&values, i, answers[i].largest, want.largest, 1e-11, 0);
    workload_check_value(&values, i, (double)answers[i].channel, (double)want.channel, 0, 0);
  }
  workload_check_end(&values);
  workload_checksum("answers", results, answers.size() * sizeof(answer));
  workload_timer_end(&timer);
  return workload_end(&run);
}
