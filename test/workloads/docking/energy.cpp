// Energies: of the molecule in the receptor's grid maps, and of its atoms among each other.
#include "docking.h"

#include <cmath>

#pragma omp declare target
static float at_corner(const float *map, int x, int y, int z, int size_x, int size_y) {
  return map[(z * size_y + y) * size_x + x];
}

// Trilinear interpolation in one map.
static float in_map(const float *map, int x, int y, int z, float u, float v, float w, int size_x, int size_y) {
  float near_low =
      at_corner(map, x, y, z, size_x, size_y) * (1 - u) + at_corner(map, x + 1, y, z, size_x, size_y) * u;
  float near_high =
      at_corner(map, x, y + 1, z, size_x, size_y) * (1 - u) + at_corner(map, x + 1, y + 1, z, size_x, size_y) * u;
  float far_low =
      at_corner(map, x, y, z + 1, size_x, size_y) * (1 - u) + at_corner(map, x + 1, y, z + 1, size_x, size_y) * u;
  float far_high = at_corner(map, x, y + 1, z + 1, size_x, size_y) * (1 - u) +
                   at_corner(map, x + 1, y + 1, z + 1, size_x, size_y) * u;
  return (near_low * (1 - v) + near_high * v) * (1 - w) + (far_low * (1 - v) + far_high * v) * w;
}

float grid_energy(const float *maps, const atom *atoms, const point *places, int atom_count, int types, int size_x,
                  int size_y, int size_z, float inverse_spacing) {
  long map_size = (long)size_x * size_y * size_z;
  float sum = 0;
  for (int i = 0; i < atom_count; ++i) {
    float x = places[i].x * inverse_spacing, y = places[i].y * inverse_spacing, z = places[i].z * inverse_spacing;
    float out = 0; // how far outside of the maps
    out += x < 0 ? -x : x > size_x - 1 ? x - (size_x - 1) : 0;
    out += y < 0 ? -y : y > size_y - 1 ? y - (size_y - 1) : 0;
    out += z < 0 ? -z : z > size_z - 1 ? z - (size_z - 1) : 0;
    if (out > 0) {
      sum += 100 + 10 * out;
      continue;
    }
    int low_x = (int)x < size_x - 2 ? (int)x : size_x - 2, low_y = (int)y < size_y - 2 ? (int)y : size_y - 2;
    int low_z = (int)z < size_z - 2 ? (int)z : size_z - 2;
    float u = x - low_x, v = y - low_y, w = z - low_z;
    float charge = atoms[i].charge, size = charge < 0 ? -charge : charge;
    sum += in_map(maps + atoms[i].type * map_size, low_x, low_y, low_z, u, v, w, size_x, size_y);
    sum += charge * in_map(maps + types * map_size, low_x, low_y, low_z, u, v, w, size_x, size_y);
    sum += size * in_map(maps + (types + 1) * map_size, low_x, low_y, low_z, u, v, w, size_x, size_y);
  }
  return sum;
}

float inner_energy(const atom *atoms, const point *places, const atom_pair *pairs, int pair_count, float cutoff,
                   float smoothing, float dielectric) {
  float sum = 0;
  for (int k = 0; k < pair_count; ++k) {
    point a = places[pairs[k].first], b = places[pairs[k].second];
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    float distance = std::sqrt(dx * dx + dy * dy + dz * dz);
    if (distance > cutoff)
      continue;
    distance = distance < smoothing ? smoothing : distance;
    float inverse = 1 / distance, square = inverse * inverse, sixth = square * square * square;
    float falling = pairs[k].hydrogen_bond ? sixth * square * square : sixth;
    sum += pairs[k].repulsion * sixth * sixth - pairs[k].attraction * falling;
    sum += atoms[pairs[k].first].charge * atoms[pairs[k].second].charge * dielectric * square;
  }
  return sum;
}
#pragma omp end declare target
