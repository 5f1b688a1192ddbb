// Poses: from genes to the places of atoms.
#include "docking.h"

#include <cmath>

#pragma omp declare target
// Turns a point around an axis (a unit vector) through the origin.
static point turned(point p, point axis, float cosine, float sine) {
  float along = (axis.x * p.x + axis.y * p.y + axis.z * p.z) * (1 - cosine);
  return {p.x * cosine + (axis.y * p.z - axis.z * p.y) * sine + axis.x * along,
          p.y * cosine + (axis.z * p.x - axis.x * p.z) * sine + axis.y * along,
          p.z * cosine + (axis.x * p.y - axis.y * p.x) * sine + axis.z * along};
}

void place_atoms(const genotype &candidate, const atom *atoms, int atom_count, const torsion *torsions,
                 int torsion_count, point *places) {
  const float *genes = candidate.genes;
  for (int i = 0; i < atom_count; ++i)
    places[i] = atoms[i].place;
  for (int k = 0; k < torsion_count; ++k) {
    point from = places[torsions[k].begin], to = places[torsions[k].end];
    point axis = {to.x - from.x, to.y - from.y, to.z - from.z};
    float inverse = 1 / std::sqrt(axis.x * axis.x + axis.y * axis.y + axis.z * axis.z);
    axis = {axis.x * inverse, axis.y * inverse, axis.z * inverse};
    float cosine = std::cos(genes[GENES_BEFORE_TORSIONS + k]), sine = std::sin(genes[GENES_BEFORE_TORSIONS + k]);
    for (int i = torsions[k].first_moved; i < atom_count; ++i) {
      point p = turned({places[i].x - from.x, places[i].y - from.y, places[i].z - from.z}, axis, cosine, sine);
      places[i] = {p.x + from.x, p.y + from.y, p.z + from.z};
    }
  }
  point axis = {std::sin(genes[3]) * std::cos(genes[4]), std::sin(genes[3]) * std::sin(genes[4]), std::cos(genes[3])};
  float cosine = std::cos(genes[5]), sine = std::sin(genes[5]);
  for (int i = 0; i < atom_count; ++i) {
    point p = turned(places[i], axis, cosine, sine);
    places[i] = {p.x + genes[0], p.y + genes[1], p.z + genes[2]};
  }
}
#pragma omp end declare target
