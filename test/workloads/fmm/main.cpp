// The potential of many charges by the fast multipole method for Laplace's equation: expansions in spherical
// harmonics of run-time order, and a dual walk of the tree that decides which cells see each other how.
// --size: thousands of particles. Results: equal bits unless the device fuses multiply and add.
#include "fmm.h"
#include "workload.h"

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "fmm", 2, 60);
  int terms = (int)workload_setting(&run, "terms", 1, 5, 5);
  int most_in_leaf = (int)workload_setting(&run, "most-in-leaf", 1, 32, 64);
  long rounds = workload_setting(&run, "rounds", 1, 2, 5);
  double opening = workload_real_setting(&run, "opening", 0.6);
  double softening = workload_real_setting(&run, "softening", 0);
  workload_settings_end(&run);
  if (terms > MOST_TERMS || opening <= 0 || opening >= 1 || run.size > 1000000) {
    fprintf(stderr, "fmm: at most %d terms, opening in (0, 1), at most 10^9 particles\n", MOST_TERMS);
    return 2;
  }

  size_t count = (size_t)run.size * 1000;
  particles all = {std::vector<double>(count), std::vector<double>(count), std::vector<double>(count),
                   std::vector<double>(count)};
  workload_fill(all.x.data(), count, 1, 0, 1);
  workload_fill(all.y.data(), count, 2, 0, 1);
  workload_fill(all.z.data(), count, 3, 0, 1);
  workload_fill(all.charge.data(), count, 4, 0.5, 1.5);
  tree t = build_tree(all, most_in_leaf, opening);

  size_t length = (size_t)(terms + 1) * (terms + 1), cell_count = t.cells.size(), numbers = cell_count * length;
  size_t leaf_count = t.leaves.size(), far_count = t.far.cells.size(), near_count = t.near.cells.size();
  std::vector<double> result(count, 0.0);
  std::vector<complex_number> multipole_numbers(numbers), local_numbers(numbers);
  complex_number *multipoles = multipole_numbers.data(), *locals = local_numbers.data();
  const double *x = all.x.data(), *y = all.y.data(), *z = all.z.data(), *charge = all.charge.data();
  double *potential = result.data();
  const cell *cells = t.cells.data();
  const int *leaves = t.leaves.data(), *far_begin = t.far.begin.data(), *far_cells = t.far.cells.data();
  const int *near_begin = t.near.begin.data(), *near_cells = t.near.cells.data();
  int levels = (int)t.level_begin.size() - 1;

  workload_timer up = workload_timer_new("multipoles"), across = workload_timer_new("far_fields");
  workload_timer down = workload_timer_new("locals"), last = workload_timer_new("potentials");
#pragma omp target data map(to : x[0 : count], y[0 : count], z[0 : count], charge[0 : count])                     \
    map(to : cells[0 : cell_count], leaves[0 : leaf_count], far_begin[0 : cell_count + 1])                        \
    map(to : far_cells[0 : far_count], near_begin[0 : cell_count + 1], near_cells[0 : near_count])                \
    map(alloc : multipoles[0 : numbers], locals[0 : numbers]) map(from : potential[0 : count])
  for (long round = 0; round < rounds; ++round) {
    workload_timer_start(&up);
    multipoles_of_leaves(cells, leaves, (int)leaf_count, x, y, z, charge, multipoles, terms);
    for (int level = levels - 2; level >= 0; --level)
      multipoles_of_level(cells, t.level_begin[level], t.level_begin[level + 1], multipoles, terms);
    workload_timer_stop(&up);
    workload_timer_start(&across);
    far_fields(cells, (int)cell_count, far_begin, far_cells, multipoles, locals, terms);
    workload_timer_stop(&across);
    workload_timer_start(&down);
    for (int level = 1; level < levels; ++level)
      locals_of_level(cells, t.level_begin[level], t.level_begin[level + 1], locals, terms);
    workload_timer_stop(&down);
    workload_timer_start(&last);
    potentials(cells, leaves, (int)leaf_count, near_begin, near_cells, x, y, z, charge, locals, potential, terms,
               softening);
    workload_timer_stop(&last);
  }

  // Against the direct sum. What the series leave out shrinks with each term by `opening` at least twice
  // (seen from 1 to 10 terms; the sizes of the cells bound it by half of that).
  workload_check check = workload_check_begin(&run, "potentials");
  double tolerance = 0.03 * pow(opening, 2 * (terms - 1)) + softening;
  for (size_t i = 0; i < count; i += run.is_large ? count / 199 : 1) {
    double want = 0;
    for (size_t j = 0; j < count; ++j) {
      double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      want += i == j ? 0 : charge[j] / sqrt(dx * dx + dy * dy + dz * dz + softening * softening);
    }
    workload_check_value(&check, i, potential[i], want, tolerance, 0);
  }
  workload_check_end(&check);
  workload_checksum("potentials", potential, count * sizeof(double));
  workload_timer_end(&up);
  workload_timer_end(&across);
  workload_timer_end(&down);
  workload_timer_end(&last);
  return workload_end(&run);
}
