// Tallies: what a history leaves behind, added up in whole numbers.
#include "transport.h"

#include <cmath>

#pragma omp declare target
static int cell_index(const particle &p) {
  return (p.cell[2] * settings.cells_y + p.cell[1]) * settings.cells_x + p.cell[0];
}

static int energy_group(double energy) {
  double place = std::log(energy / settings.lowest_energy) / settings.energy_span;
  int group = (int)(place * settings.energy_groups);
  return group < 0 ? 0 : group < settings.energy_groups ? group : settings.energy_groups - 1;
}

void score_track(const particle &p, double length, const tally_bins &bins) {
  int64_t units = (int64_t)(length / TRACK_UNIT + 0.5);
  int64_t *bin = bins.track_length + (long)cell_index(p) * settings.energy_groups + energy_group(p.energy);
#pragma omp atomic update
  *bin += units;
}

void score_fission(const particle &p, double neutrons, const tally_bins &bins) {
  int64_t units = (int64_t)(neutrons / NEUTRON_UNIT + 0.5);
  int64_t *bin = bins.fission_neutrons + cell_index(p);
#pragma omp atomic update
  *bin += units;
}
#pragma omp end declare target
