// Geometry: a lattice of square cells, each with a round fuel pin along z in its middle.
#include "transport.h"
#include "workload.h"

#include <cmath>

#pragma omp declare target
run_settings settings;

double draw(particle &p) { return workload_uniform(p.history, p.draws++); }

static double width(int axis) { return axis == 2 ? settings.height : settings.pitch; }

static int cells_along(int axis) {
  return axis == 0 ? settings.cells_x : axis == 1 ? settings.cells_y : settings.cells_z;
}

static int boundary_along(int axis) {
  return axis == 0 ? settings.boundary_x : axis == 1 ? settings.boundary_y : settings.boundary_z;
}

// Position across the pin, from its axis.
static double from_pin(const particle &p, int axis) {
  return p.position[axis] - (p.cell[axis] + 0.5) * settings.pitch;
}

// A particle of fission energy somewhere in a pin.
void start_history(particle &p, uint64_t history) {
  p.history = history;
  p.draws = 0;
  p.collisions = 0;
  p.track = 0;
  p.end = MOVING;
  for (int axis = 0; axis < 3; ++axis) {
    p.cell[axis] = (int)(draw(p) * cells_along(axis));
    p.position[axis] = (p.cell[axis] + 0.5) * width(axis);
  }
  double radius = settings.fuel_radius * std::sqrt(draw(p)), angle = 6.2831853071795865 * draw(p);
  p.position[0] += radius * std::cos(angle);
  p.position[1] += radius * std::sin(angle);
  p.position[2] += (draw(p) - 0.5) * settings.height;
  double up = 2 * draw(p) - 1, turn = 6.2831853071795865 * draw(p), side = std::sqrt(1 - up * up);
  p.direction[0] = side * std::cos(turn);
  p.direction[1] = side * std::sin(turn);
  p.direction[2] = up;
  p.energy = settings.lowest_energy * std::exp(settings.energy_span * (0.8 + 0.2 * draw(p)));
  p.material = FUEL;
}

// How far it is to the nearest surface ahead; notes which one that is.
double distance_to_surface(particle &p) {
  double nearest = 1e30;
  for (int axis = 0; axis < 3; ++axis) {
    double direction = p.direction[axis];
    if (direction == 0)
      continue;
    int upper = direction > 0;
    double distance = ((p.cell[axis] + upper) * width(axis) - p.position[axis]) / direction;
    if (distance < nearest) {
      nearest = distance;
      p.surface = 2 * axis + upper;
    }
  }
  double x = from_pin(p, 0), y = from_pin(p, 1);
  double a = p.direction[0] * p.direction[0] + p.direction[1] * p.direction[1];
  double k = x * p.direction[0] + y * p.direction[1];
  double c = x * x + y * y - settings.fuel_radius * settings.fuel_radius;
  double discriminant = k * k - a * c;
  if (a > 0 && discriminant > 0) { // outwards from the fuel, inwards from the moderator
    double root = std::sqrt(discriminant);
    double distance = p.material == FUEL ? (-k + root) / a : (-k - root) / a;
    if (p.material == FUEL ? distance < nearest : k < 0 && distance > 0 && distance < nearest) {
      nearest = distance;
      p.surface = 6;
    }
  }
  return nearest > 0 ? nearest : 0;
}

void cross_surface(particle &p) {
  if (p.surface == 6) {
    p.material = p.material == FUEL ? MODERATOR : FUEL;
    return;
  }
  int axis = p.surface / 2, upper = p.surface % 2;
  int next = p.cell[axis] + (upper ? 1 : -1);
  if (next >= 0 && next < cells_along(axis)) {
    p.cell[axis] = next;
  } else if (boundary_along(axis) == REFLECTIVE) {
    p.direction[axis] = -p.direction[axis];
  } else {
    p.end = LEAKED;
    return;
  }
  p.position[axis] = (p.cell[axis] + (p.direction[axis] > 0 ? 0 : 1)) * width(axis); // exactly on the face
  p.material = axis == 2 ? p.material : MODERATOR;
}
#pragma omp end declare target
