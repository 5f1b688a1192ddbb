// Cross sections: a search in a material's table and linear interpolation.
#include "transport.h"

#pragma omp declare target
cross_sections look_up(const table_point *tables, int material, double energy) {
  const table_point *table = tables + (long)material * settings.grid_points;
  int low = 0, high = settings.grid_points - 1;
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (table[middle].energy > energy)
      high = middle;
    else
      low = middle;
  }
  const table_point &below = table[low], &above = table[low + 1];
  double fraction = (energy - below.energy) / (above.energy - below.energy);
  fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
  return {below.total + fraction * (above.total - below.total),
          below.scattering + fraction * (above.scattering - below.scattering),
          below.fission + fraction * (above.fission - below.fission)};
}
#pragma omp end declare target
