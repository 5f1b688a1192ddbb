// What the parts of the docking workload share. The functions marked so run on both sides.
#ifndef DOCKING_H
#define DOCKING_H

#include <cstdint>

enum { MOST_ATOMS = 128, MOST_TORSIONS = 16, GENES_BEFORE_TORSIONS = 6 };
enum { MOST_GENES = GENES_BEFORE_TORSIONS + MOST_TORSIONS };

struct point {
  float x, y, z;
};

struct atom {
  point place; // in the molecule's own frame
  int type;
  float charge;
};

// Turns all atoms from `first_moved` on around the bond from `begin` to `end`.
struct torsion {
  int begin, end, first_moved;
};

// Two atoms of the molecule that feel each other.
struct atom_pair {
  int first, second;
  float repulsion, attraction; // of the 12-6 or, where `hydrogen_bond`, the 12-10 potential
  int hydrogen_bond;
};

// One candidate: where the molecule is (0..2), how it is turned (3..5: axis by two angles, angle), and its
// torsions.
struct genotype {
  float genes[MOST_GENES];
};

#pragma omp declare target
// pose.cpp: where the atoms of a candidate are
void place_atoms(const genotype &candidate, const atom *atoms, int atom_count, const torsion *torsions,
                 int torsion_count, point *places);

// energy.cpp
float grid_energy(const float *maps, const atom *atoms, const point *places, int atom_count, int types, int size_x,
                  int size_y, int size_z, float inverse_spacing);
float inner_energy(const atom *atoms, const point *places, const atom_pair *pairs, int pair_count, float cutoff,
                   float smoothing, float dielectric);
#pragma omp end declare target

// genetics.cpp; all pointers are mapped already. What the kernels know of the problem:
struct molecule {
  const atom *atoms;
  const torsion *torsions;
  const atom_pair *pairs;
  const float *maps; // [type, then electrostatic, then desolvation][z][y][x]
  int atom_count, torsion_count, pair_count, types, size_x, size_y, size_z;
  float inverse_spacing, cutoff, smoothing, dielectric;
};

void launch_score(const molecule &m, const genotype *candidates, float *energies, int candidate_count);
void launch_generation(const molecule &m, const genotype *parents, const float *parent_energies, genotype *children,
                       float *child_energies, int candidate_count, int best, uint64_t seed, int generation,
                       float crossover_rate, float mutation_rate, float mutation_step);
void launch_search(const molecule &m, genotype *candidates, float *energies, int candidate_count, uint64_t seed,
                   int generation, int tries, float step);

#endif
