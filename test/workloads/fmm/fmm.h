// What the parts of the fast multipole workload share.
#ifndef FMM_H
#define FMM_H

#include <vector>

enum { MOST_TERMS = 10 };

struct complex_number {
  double real, imaginary;
};

struct cell {
  double centre[3];
  double half;             // half the edge
  int first, count;        // its particles
  int first_child, children; // cells of the next level; none: a leaf
  int parent;              // -1: the root
};

// Particles in the order of the leaves.
struct particles {
  std::vector<double> x, y, z, charge;
};

// For each cell a list of other cells: entries [begin[i], begin[i+1]) of `cells`.
struct cell_lists {
  std::vector<int> begin, cells;
};

struct tree {
  std::vector<cell> cells;       // level by level, the root first
  std::vector<int> level_begin;  // first cell of each level, and the number of cells
  std::vector<int> leaves;
  cell_lists far, near;          // sources seen through their multipoles; sources seen one by one (of leaves)
};

// Sorts the particles into an octree whose leaves hold at most `most_in_leaf`, and walks it against itself:
// a pair of cells is far if (sum of the radii) < opening * distance, else the larger one is opened.
tree build_tree(particles &all, int most_in_leaf, double opening);

// The kernels; all pointers are mapped already. An expansion of `terms` orders takes (terms+1)^2 numbers.
void multipoles_of_leaves(const cell *cells, const int *leaves, int leaf_count, const double *x, const double *y,
                          const double *z, const double *charge, complex_number *multipoles, int terms);
void multipoles_of_level(const cell *cells, int begin, int end, complex_number *multipoles, int terms);
void far_fields(const cell *cells, int cell_count, const int *far_begin, const int *far_cells,
                const complex_number *multipoles, complex_number *locals, int terms);
void locals_of_level(const cell *cells, int begin, int end, complex_number *locals, int terms);
void potentials(const cell *cells, const int *leaves, int leaf_count, const int *near_begin, const int *near_cells,
                const double *x, const double *y, const double *z, const double *charge,
                const complex_number *locals, double *potential, int terms, double softening);

#endif
