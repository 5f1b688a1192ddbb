// Events: the kernels, each for the particles in one queue, and a whole history for the host's reference.
#include "transport.h"

#pragma omp declare target
static void advance(particle &p, const tally_bins &bins) {
  p.surface = -1;
  double to_surface = distance_to_surface(p), to_collision = distance_to_collision(p);
  p.distance = to_collision < to_surface ? to_collision : to_surface;
  if (to_collision < to_surface)
    p.surface = -1;
  for (int axis = 0; axis < 3; ++axis)
    p.position[axis] += p.distance * p.direction[axis];
  p.track += p.distance;
  score_track(p, p.distance, bins);
}

void follow_history(particle &p, uint64_t history, const table_point *tables, const tally_bins &bins) {
  start_history(p, history);
  while (p.end == MOVING) {
    p.here = look_up(tables, p.material, p.energy);
    advance(p, bins);
    if (p.surface < 0)
      collide(p, bins);
    else
      cross_surface(p);
  }
}

static void append(int *queue, int *length, int particle) {
  int at;
#pragma omp atomic capture
  {
    at = *length;
    *length += 1;
  }
  queue[at] = particle;
}
#pragma omp end declare target

void launch_start(particle *particles, int *queue, int count, uint64_t first_history) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    start_history(particles[i], first_history + i);
    queue[i] = i;
  }
}

void launch_look_up(particle *particles, const int *queue, int count, const table_point *tables) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    particle &p = particles[queue[i]];
    p.here = look_up(tables, p.material, p.energy);
  }
}

void launch_advance(particle *particles, const int *queue, int count, int *collision_queue, int *crossing_queue,
                    int *lengths, int64_t *track_length, int64_t *fission_neutrons) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    particle &p = particles[queue[i]];
    advance(p, {track_length, fission_neutrons});
    if (p.surface < 0)
      append(collision_queue, &lengths[0], queue[i]);
    else
      append(crossing_queue, &lengths[1], queue[i]);
  }
}

void launch_collide(particle *particles, const int *queue, int count, int *next_queue, int *lengths,
                    int64_t *track_length, int64_t *fission_neutrons) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    particle &p = particles[queue[i]];
    collide(p, {track_length, fission_neutrons});
    if (p.end == MOVING)
      append(next_queue, &lengths[2], queue[i]);
  }
}

void launch_cross(particle *particles, const int *queue, int count, int *next_queue, int *lengths) {
#pragma omp target teams distribute parallel for
  for (int i = 0; i < count; ++i) {
    particle &p = particles[queue[i]];
    cross_surface(p);
    if (p.end == MOVING)
      append(next_queue, &lengths[2], queue[i]);
  }
}
