// The kernels: scoring, a new generation, and a random local search. Each candidate draws its own random
// numbers from (seed, generation, its index), and a generation only reads the one before it.
#include "docking.h"
#include "workload.h"

#pragma omp declare target
struct dice {
  uint64_t seed, drawn;
};

static float roll(dice &d) { return (float)workload_uniform(d.seed, d.drawn++); }

static dice dice_of(uint64_t seed, int generation, int candidate) {
  return {workload_random(seed + (uint64_t)generation, (uint64_t)candidate), 0};
}

static float energy_of(const genotype &candidate, const atom *atoms, const torsion *torsions, const atom_pair *pairs,
                       const float *maps, int atom_count, int torsion_count, int pair_count, int types, int size_x,
                       int size_y, int size_z, float inverse_spacing, float cutoff, float smoothing,
                       float dielectric) {
  point places[MOST_ATOMS];
  place_atoms(candidate, atoms, atom_count, torsions, torsion_count, places);
  return grid_energy(maps, atoms, places, atom_count, types, size_x, size_y, size_z, inverse_spacing) +
         inner_energy(atoms, places, pairs, pair_count, cutoff, smoothing, dielectric);
}

// The better of two candidates drawn at random.
static int tournament(const float *energies, int count, dice &d) {
  int a = (int)(roll(d) * count), b = (int)(roll(d) * count);
  a = a < count ? a : count - 1;
  b = b < count ? b : count - 1;
  return energies[b] < energies[a] ? b : a;
}
#pragma omp end declare target

// The kernels take the problem as scalars and pointers of their own.
#define UNPACK(m)                                                                                                 \
  const atom *atoms = (m).atoms;                                                                                  \
  const torsion *torsions = (m).torsions;                                                                         \
  const atom_pair *pairs = (m).pairs;                                                                             \
  const float *maps = (m).maps;                                                                                   \
  int atom_count = (m).atom_count, torsion_count = (m).torsion_count, pair_count = (m).pair_count;                \
  int types = (m).types, size_x = (m).size_x, size_y = (m).size_y, size_z = (m).size_z;                           \
  float inverse_spacing = (m).inverse_spacing, cutoff = (m).cutoff, smoothing = (m).smoothing;                    \
  float dielectric = (m).dielectric

void launch_score(const molecule &m, const genotype *candidates, float *energies, int candidate_count) {
  UNPACK(m);
#pragma omp target teams distribute parallel for
  for (int i = 0; i < candidate_count; ++i)
    energies[i] = energy_of(candidates[i], atoms, torsions, pairs, maps, atom_count, torsion_count, pair_count, types,
                            size_x, size_y, size_z, inverse_spacing, cutoff, smoothing, dielectric);
}

void launch_generation(const molecule &m, const genotype *parents, const float *parent_energies, genotype *children,
                       float *child_energies, int candidate_count, int best, uint64_t seed, int generation,
                       float crossover_rate, float mutation_rate, float mutation_step) {
  UNPACK(m);
#pragma omp target teams distribute parallel for
  for (int i = 0; i < candidate_count; ++i) {
    if (i == 0) { // the best one lives on
      children[0] = parents[best];
      child_energies[0] = parent_energies[best];
      continue;
    }
    dice d = dice_of(seed, generation, i);
    int mother = tournament(parent_energies, candidate_count, d);
    int father = tournament(parent_energies, candidate_count, d);
    int genes = GENES_BEFORE_TORSIONS + torsion_count;
    genotype child = parents[mother];
    if (roll(d) < crossover_rate) {
      int begin = (int)(roll(d) * genes), end = (int)(roll(d) * genes);
      for (int k = begin < end ? begin : end; k < (begin < end ? end : begin); ++k)
        child.genes[k] = parents[father].genes[k];
    }
    for (int k = 0; k < genes; ++k)
      if (roll(d) < mutation_rate)
        child.genes[k] += mutation_step * (2 * roll(d) - 1);
    children[i] = child;
    child_energies[i] =
        energy_of(child, atoms, torsions, pairs, maps, atom_count, torsion_count, pair_count, types, size_x, size_y,
                  size_z, inverse_spacing, cutoff, smoothing, dielectric);
  }
}

void launch_search(const molecule &m, genotype *candidates, float *energies, int candidate_count, uint64_t seed,
                   int generation, int tries, float step) {
  UNPACK(m);
#pragma omp target teams distribute parallel for
  for (int i = 0; i < candidate_count; ++i) {
    dice d = dice_of(~seed, generation, i);
    genotype current = candidates[i];
    float lowest = energies[i], reach = step;
    for (int attempt = 0; attempt < tries; ++attempt) {
      genotype next = current;
      for (int k = 0; k < GENES_BEFORE_TORSIONS + torsion_count; ++k)
        next.genes[k] += reach * (2 * roll(d) - 1);
      float energy =
          energy_of(next, atoms, torsions, pairs, maps, atom_count, torsion_count, pair_count, types, size_x, size_y,
                    size_z, inverse_spacing, cutoff, smoothing, dielectric);
      if (energy < lowest) {
        current = next;
        lowest = energy;
        reach *= 1.5f;
      } else {
        reach *= 0.75f;
      }
    }
    candidates[i] = current;
    energies[i] = lowest;
  }
}
