// Docks a flexible molecule into a receptor given by grid maps, by a genetic algorithm with local search.
// Poses, energies and genetics are in files of their own. Most of a kernel's two dozen scalars never change,
// but the generation and the seed, and which candidate is best, are new at each launch.
// --size: candidates. Results: equal bits unless the device fuses multiply and add or computes sin and cos
// by other code; then the search soon takes another path, and only the checks remain.
#include "docking.h"
#include "workload.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

struct problem {
  std::vector<atom> atoms;
  std::vector<torsion> torsions;
  std::vector<atom_pair> pairs;
  std::vector<float> maps;
};

// A chain of atoms about 1.25 apart that turns at random, around the origin.
static void make_molecule(problem &p, int atoms, int torsions, int types) {
  double x = 0, y = 0, z = 0, centre[3] = {0, 0, 0};
  for (int i = 0; i < atoms; ++i) {
    double turn = 0.9 * i + workload_uniform(1, i);
    x += 0.6, y += 1.1 * cos(turn), z += 1.1 * sin(turn);
    p.atoms.push_back({{(float)x, (float)y, (float)z}, (int)(workload_random(2, i) % types),
                       (float)(0.6 * (workload_uniform(3, i) - 0.5))});
    centre[0] += x / atoms, centre[1] += y / atoms, centre[2] += z / atoms;
  }
  for (atom &a : p.atoms)
    a.place = {a.place.x - (float)centre[0], a.place.y - (float)centre[1], a.place.z - (float)centre[2]};
  for (int k = 0; k < torsions; ++k) {
    int begin = (int)((k + 0.5) * (atoms - 2) / torsions);
    p.torsions.push_back({begin, begin + 1, begin + 2});
  }
  for (int i = 0; i < atoms; ++i)
    for (int j = i + 4; j < atoms; ++j) {
      int index = i * atoms + j, bond = workload_uniform(4, index) < 0.2;
      float depth = (float)(0.1 + 0.2 * workload_uniform(5, index)), at = (float)(2.5 + workload_uniform(6, index));
      float repulsion = depth * powf(at, 12) * (bond ? 5 : 1);
      float attraction = depth * powf(at, bond ? 10 : 6) * (bond ? 6 : 2);
      p.pairs.push_back({i, j, repulsion, attraction, bond});
    }
}

// Maps of a receptor of random atoms around a pocket in the middle, softened where they clash.
static void make_maps(problem &p, int types, int nx, int ny, int nz, double spacing, int receptor_atoms) {
  double size[3] = {(nx - 1) * spacing, (ny - 1) * spacing, (nz - 1) * spacing};
  std::vector<double> places, charges;
  for (int i = 0; (int)charges.size() < receptor_atoms; ++i) {
    double at[3], off = 0;
    for (int axis = 0; axis < 3; ++axis) {
      at[axis] = workload_uniform(7, 3 * i + axis) * size[axis];
      off += pow((at[axis] - size[axis] / 2) / (0.35 * size[axis]), 2);
    }
    if (off < 1)
      continue;
    places.insert(places.end(), at, at + 3);
    charges.push_back(0.8 * (workload_uniform(8, i) - 0.5));
  }
  p.maps.assign((size_t)(types + 2) * nx * ny * nz, 0.0f);
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x) {
        double near[2] = {0, 0}, electric = 0, covered = 0; // near: inverse 6th and 12th powers
        for (int i = 0; i < receptor_atoms; ++i) {
          double dx = x * spacing - places[3 * i], dy = y * spacing - places[3 * i + 1];
          double dz = z * spacing - places[3 * i + 2], square = dx * dx + dy * dy + dz * dz + 1;
          near[0] += 1 / (square * square * square);
          near[1] += 1 / (square * square * square * square * square * square);
          electric += charges[i] / square;
          covered += exp(-square / 20);
        }
        size_t here = ((size_t)z * ny + y) * nx + x, map = (size_t)nx * ny * nz;
        for (int type = 0; type < types; ++type) {
          double radius6 = pow(2.8 + 0.3 * type, 6);
          double value = 0.2 * (radius6 * radius6 * near[1] - 2 * radius6 * near[0]);
          p.maps[type * map + here] = (float)(value > 0 ? 50 * tanh(value / 50) : value);
        }
        p.maps[types * map + here] = (float)(10 * electric);
        p.maps[(types + 1) * map + here] = (float)(0.02 * covered);
      }
}

// ---- the reference: the same energy in double; `size` is how large its terms are together

typedef std::vector<std::vector<double>> matrix_rows;

static void turn(double *p, const double *origin, const double *axis, double angle) {
  double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  double k[3] = {axis[0] / length, axis[1] / length, axis[2] / length};
  double v[3] = {p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]};
  double along = k[0] * v[0] + k[1] * v[1] + k[2] * v[2];
  double across[3] = {k[1] * v[2] - k[2] * v[1], k[2] * v[0] - k[0] * v[2], k[0] * v[1] - k[1] * v[0]};
  for (int i = 0; i < 3; ++i)
    p[i] = origin[i] + cos(angle) * v[i] + sin(angle) * across[i] + (1 - cos(angle)) * along * k[i];
}

static double plain_energy(const molecule &m, const genotype &g, double &size) {
  matrix_rows at;
  for (int i = 0; i < m.atom_count; ++i)
    at.push_back({m.atoms[i].place.x, m.atoms[i].place.y, m.atoms[i].place.z});
  for (int k = 0; k < m.torsion_count; ++k) {
    std::vector<double> from = at[m.torsions[k].begin], axis = at[m.torsions[k].end];
    for (int i = 0; i < 3; ++i)
      axis[i] -= from[i];
    for (int i = m.torsions[k].first_moved; i < m.atom_count; ++i)
      turn(at[i].data(), from.data(), axis.data(), g.genes[GENES_BEFORE_TORSIONS + k]);
  }
  double origin[3] = {0, 0, 0}, sum = 0;
  double axis[3] = {sin(g.genes[3]) * cos(g.genes[4]), sin(g.genes[3]) * sin(g.genes[4]), cos(g.genes[3])};
  auto add = [&](double term) { sum += term, size += fabs(term); };
  const int extents[3] = {m.size_x, m.size_y, m.size_z};
  size_t map_size = (size_t)m.size_x * m.size_y * m.size_z;
  for (int i = 0; i < m.atom_count; ++i) {
    turn(at[i].data(), origin, axis, g.genes[5]);
    double out = 0, part[3];
    int low[3];
    for (int k = 0; k < 3; ++k) {
      at[i][k] += g.genes[k];
      double place = at[i][k] * m.inverse_spacing;
      out += fmax(0, fmax(-place, place - (extents[k] - 1)));
      low[k] = (int)fmin(fmax(floor(place), 0), extents[k] - 2);
      part[k] = place - low[k];
    }
    if (out > 0) {
      add(100 + 10 * out);
      continue;
    }
    const int maps[3] = {m.atoms[i].type, m.types, m.types + 1};
    const double weights[3] = {1, m.atoms[i].charge, fabs(m.atoms[i].charge)};
    for (int which = 0; which < 3; ++which)
      for (int corner = 0; corner < 8; ++corner) {
        int x = low[0] + (corner & 1), y = low[1] + (corner >> 1 & 1), z = low[2] + (corner >> 2);
        double weight = (corner & 1 ? part[0] : 1 - part[0]) * (corner & 2 ? part[1] : 1 - part[1]) *
                        (corner & 4 ? part[2] : 1 - part[2]);
        add(weights[which] * weight * m.maps[maps[which] * map_size + ((size_t)z * m.size_y + y) * m.size_x + x]);
      }
  }
  for (int k = 0; k < m.pair_count; ++k) {
    const atom_pair &pair = m.pairs[k];
    double square = 0;
    for (int i = 0; i < 3; ++i)
      square += pow(at[pair.first][i] - at[pair.second][i], 2);
    if (square > (double)m.cutoff * m.cutoff)
      continue;
    double distance = fmax(sqrt(square), m.smoothing);
    add(pair.repulsion / pow(distance, 12));
    add(-pair.attraction / pow(distance, pair.hydrogen_bond ? 10 : 6));
    add((double)m.atoms[pair.first].charge * m.atoms[pair.second].charge * m.dielectric / (distance * distance));
  }
  return sum;
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "docking", 64, 1024);
  int atoms = (int)workload_setting(&run, "atoms", 4, 20, 32);
  int torsions = (int)workload_setting(&run, "torsions", 0, 4, 8);
  int types = (int)workload_setting(&run, "types", 1, 4, 5);
  int nx = (int)workload_setting(&run, "grid-x", 2, 24, 60);
  int ny = (int)workload_setting(&run, "grid-y", 2, 22, 56);
  int nz = (int)workload_setting(&run, "grid-z", 2, 20, 52);
  int generations = (int)workload_setting(&run, "generations", 1, 8, 100);
  int tries = (int)workload_setting(&run, "tries", 0, 4, 16);
  uint64_t seed = (uint64_t)workload_setting(&run, "seed", 0, 20201, 20201);
  double spacing = workload_real_setting(&run, "spacing", run.is_large ? 0.5 : 1.0);
  workload_settings_end(&run);
  if (atoms > MOST_ATOMS || torsions > MOST_TORSIONS || atoms < torsions + 2 || run.size < 2 || spacing <= 0) {
    fprintf(stderr, "docking: at most %d atoms and %d torsions, two candidates, a positive spacing\n", MOST_ATOMS,
            MOST_TORSIONS);
    return 2;
  }

  problem p;
  make_molecule(p, atoms, torsions, types);
  make_maps(p, types, nx, ny, nz, spacing, run.is_large ? 120 : 60);
  if (p.torsions.empty())
    p.torsions.push_back({0, 1, 2}); // nothing is mapped from an empty vector
  if (p.pairs.empty())
    p.pairs.push_back({0, 1, 0, 0, 0});
  int count = (int)run.size;
  std::vector<genotype> populations[2] = {std::vector<genotype>(count), std::vector<genotype>(count)};
  std::vector<float> energy_lists[2] = {std::vector<float>(count), std::vector<float>(count)};
  const double box[3] = {0.8 * nx * spacing, 0.8 * ny * spacing, 0.8 * nz * spacing};
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < MOST_GENES; ++k) {
      double from = k < 3 ? 0.2 : 0, to = k < 3 ? box[k] : 6.28;
      populations[0][i].genes[k] = (float)(from + (to - from) * workload_uniform(seed, (uint64_t)i * MOST_GENES + k));
    }
  float inverse_spacing = (float)(1 / spacing), cutoff = 8, smoothing = 0.8f, dielectric = 3;
  molecule m = {p.atoms.data(), p.torsions.data(), p.pairs.data(), p.maps.data(), atoms, torsions, (int)p.pairs.size(),
                types, nx, ny, nz, inverse_spacing, cutoff, smoothing, dielectric};
  genotype *parents = populations[0].data(), *children = populations[1].data();
  float *parent_energies = energy_lists[0].data(), *child_energies = energy_lists[1].data();
  const atom *all_atoms = m.atoms;
  const torsion *all_torsions = m.torsions;
  const atom_pair *all_pairs = m.pairs;
  const float *all_maps = m.maps;
  size_t map_points = p.maps.size(), pair_count = p.pairs.size(), torsion_count = p.torsions.size();

  workload_timer score = workload_timer_new("score"), generation_timer = workload_timer_new("generation");
  workload_timer search = workload_timer_new("search");
  std::vector<float> best_energies;
#pragma omp target data map(to : all_atoms[0 : atoms], all_torsions[0 : torsion_count], all_pairs[0 : pair_count])  \
    map(to : all_maps[0 : map_points]) map(tofrom : parents[0 : count], parent_energies[0 : count])               \
    map(tofrom : children[0 : count], child_energies[0 : count])
  {
    workload_timer_start(&score);
    launch_score(m, parents, parent_energies, count);
    workload_timer_stop(&score);
    for (int generation = 0; generation < generations; ++generation) {
#pragma omp target update from(parent_energies[0 : count])
      int best = (int)(std::min_element(parent_energies, parent_energies + count) - parent_energies);
      best_energies.push_back(parent_energies[best]);
      workload_timer_start(&generation_timer);
      launch_generation(m, parents, parent_energies, children, child_energies, count, best, seed, generation, 0.8f,
                        0.05f, 0.5f);
      workload_timer_stop(&generation_timer);
      uint64_t search_seed = workload_random(seed, (uint64_t)generation);
      workload_timer_start(&search);
      launch_search(m, children, child_energies, count, search_seed, generation, tries, 0.2f);
      workload_timer_stop(&search);
      std::swap(parents, children);
      std::swap(parent_energies, child_energies);
    }
  }

  best_energies.push_back(*std::min_element(parent_energies, parent_energies + count));
  workload_check energies = workload_check_begin(&run, "energies");
  for (int i = 0; i < count; i += run.is_large ? count / 64 + 1 : 1) {
    double size = 0, want = plain_energy(m, parents[i], size);
    workload_check_value(&energies, i, parent_energies[i], want, 0, 1e-3 * size + 0.01);
  }
  workload_check_end(&energies);
  workload_check_that(&run, "best-energy-never-rises",
                      std::is_sorted(best_energies.begin(), best_energies.end(), std::greater<float>()));
  workload_check_that(&run, "search-finds-better", best_energies.back() < best_energies.front());
  workload_checksum("energies", parent_energies, count * sizeof(float));
  workload_checksum("candidates", parents, count * sizeof(genotype));
  workload_checksum("best-energies", best_energies.data(), best_energies.size() * sizeof(float));
  workload_timer_end(&score);
  workload_timer_end(&generation_timer);
  workload_timer_end(&search);
  return workload_end(&run);
}
