// The host's part: the octree and the dual walk that lists which cells see each other how.
#include "fmm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

// Splits a cell's particles by octant, keeping their order, and appends the children that hold any.
static void split(tree &t, int parent, particles &all, std::vector<int> &octant, particles &scratch) {
  cell above = t.cells[parent];
  int counts[8] = {0, 0, 0, 0, 0, 0, 0, 0}, at[8];
  for (int i = above.first; i < above.first + above.count; ++i) {
    octant[i] = all.x[i] >= above.centre[0];
    octant[i] += 2 * (all.y[i] >= above.centre[1]) + 4 * (all.z[i] >= above.centre[2]);
    ++counts[octant[i]];
  }
  std::exclusive_scan(counts, counts + 8, at, above.first);
  t.cells[parent].first_child = (int)t.cells.size();
  for (int o = 0; o < 8; ++o) {
    if (!counts[o])
      continue;
    cell child = {{0, 0, 0}, above.half / 2, at[o], counts[o], 0, 0, parent};
    for (int axis = 0; axis < 3; ++axis)
      child.centre[axis] = above.centre[axis] + (o >> axis & 1 ? child.half : -child.half);
    t.cells.push_back(child);
    ++t.cells[parent].children;
  }
  auto reorder = [&](std::vector<double> &values, std::vector<double> &spare) {
    int to[8];
    std::copy(at, at + 8, to);
    for (int i = above.first; i < above.first + above.count; ++i)
      spare[to[octant[i]]++] = values[i];
    std::copy(spare.begin() + above.first, spare.begin() + above.first + above.count, values.begin() + above.first);
  };
  reorder(all.x, scratch.x);
  reorder(all.y, scratch.x);
  reorder(all.z, scratch.x);
  reorder(all.charge, scratch.x);
}

struct walk {
  const std::vector<cell> &cells;
  double opening;
  std::vector<std::vector<int>> far, near;

  void pair(int target, int source) {
    const cell &a = cells[target], &b = cells[source];
    double square = 0;
    for (int axis = 0; axis < 3; ++axis)
      square += (a.centre[axis] - b.centre[axis]) * (a.centre[axis] - b.centre[axis]);
    if ((a.half + b.half) * std::sqrt(3.0) < opening * std::sqrt(square)) {
      far[target].push_back(source);
    } else if (!a.children && !b.children) {
      near[target].push_back(source);
    } else if (!b.children || (a.children && a.half >= b.half)) {
      for (int child = a.first_child; child < a.first_child + a.children; ++child)
        pair(child, source);
    } else {
      for (int child = b.first_child; child < b.first_child + b.children; ++child)
        pair(target, child);
    }
  }
};

static cell_lists flatten(const std::vector<std::vector<int>> &lists) {
  cell_lists flat;
  flat.begin.push_back(0);
  for (const std::vector<int> &list : lists) {
    flat.cells.insert(flat.cells.end(), list.begin(), list.end());
    flat.begin.push_back((int)flat.cells.size());
  }
  if (flat.cells.empty())
    flat.cells.push_back(0); // nothing is mapped from an empty vector
  return flat;
}

tree build_tree(particles &all, int most_in_leaf, double opening) {
  tree t;
  int count = (int)all.x.size();
  std::vector<int> octant(count);
  particles scratch;
  scratch.x.resize(count);
  t.cells.push_back({{0.5, 0.5, 0.5}, 0.5, 0, count, 0, 0, -1});
  t.level_begin = {0};
  for (int begin = 0, end = 1; begin < end; begin = end, end = (int)t.cells.size()) {
    t.level_begin.push_back(end);
    for (int i = begin; i < end; ++i)
      if (t.cells[i].count > most_in_leaf && t.level_begin.size() < 20)
        split(t, i, all, octant, scratch);
  }
  for (int i = 0; i < (int)t.cells.size(); ++i)
    if (!t.cells[i].children)
      t.leaves.push_back(i);
  walk w = {t.cells, opening, std::vector<std::vector<int>>(t.cells.size()),
            std::vector<std::vector<int>>(t.cells.size())};
  w.pair(0, 0);
  t.far = flatten(w.far);
  t.near = flatten(w.near);
  return t;
}
