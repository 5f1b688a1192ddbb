// Neutron histories through a lattice of fuel pins, event by event: particles wait in queues and each kernel
// advances all of one kind. Geometry, cross sections, physics and tallies are in files of their own, so most
// calls in a kernel leave its file; the values of the run are globals of the device. Each launch has another
// number of particles.
// --size: hundreds of histories a batch. Results: equal bits unless the device fuses multiply and add or
// computes log, exp, sin and cos by other code; tallies are whole numbers, so threads cannot change them.
#include "transport.h"
#include "workload.h"

#include <vector>

static std::vector<table_point> make_tables() {
  std::vector<table_point> tables;
  for (int material = 0; material < MATERIALS; ++material)
    for (int i = 0; i < settings.grid_points; ++i) {
      double place = (double)i / (settings.grid_points - 1);
      double energy = settings.lowest_energy * exp(settings.energy_span * place);
      double bumps = workload_uniform(31 + material, i) * workload_uniform(33 + material, i);
      double slow = 1 / sqrt(1 + 1000 * place); // about 1/v
      double scattering = material == FUEL ? 0.3 + 0.4 * bumps : 0.6 + 0.6 * slow;
      double fission = material == FUEL ? 0.02 + 0.5 * slow * (0.5 + bumps) : 0;
      double capture = material == FUEL ? 0.01 + 0.8 * bumps * bumps + 0.2 * slow : 0.004 + 0.02 * slow;
      tables.push_back({energy, scattering + fission + capture, scattering, fission});
    }
  return tables;
}

struct timers {
  workload_timer start = workload_timer_new("start"), look_up = workload_timer_new("look_up");
  workload_timer advance = workload_timer_new("advance"), collide = workload_timer_new("collide");
  workload_timer cross = workload_timer_new("cross");
};

template <typename launch_type> static void timed(workload_timer &timer, launch_type launch) {
  workload_timer_start(&timer);
  launch();
  workload_timer_stop(&timer);
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "transport", 5, 200);
  settings.cells_x = (int)workload_setting(&run, "cells-x", 1, 4, 17);
  settings.cells_y = (int)workload_setting(&run, "cells-y", 1, 4, 17);
  settings.cells_z = (int)workload_setting(&run, "cells-z", 1, 2, 10);
  settings.boundary_x = (int)workload_setting(&run, "reflect-x", 0, 1, 1);
  settings.boundary_y = (int)workload_setting(&run, "reflect-y", 0, 1, 1);
  settings.boundary_z = (int)workload_setting(&run, "reflect-z", 0, 0, 0);
  settings.grid_points = (int)workload_setting(&run, "grid-points", 2, 500, 20000);
  settings.energy_groups = (int)workload_setting(&run, "energy-groups", 1, 8, 8);
  uint64_t seed = (uint64_t)workload_setting(&run, "seed", 0, 7, 7);
  long batches = workload_setting(&run, "batches", 1, 2, 20);
  settings.pitch = workload_real_setting(&run, "pitch", 1.26);
  settings.height = workload_real_setting(&run, "height", 20);
  settings.fuel_radius = workload_real_setting(&run, "fuel-radius", 0.41);
  settings.neutrons_per_fission = workload_real_setting(&run, "neutrons-per-fission", 2.43);
  workload_settings_end(&run);
  if (settings.fuel_radius * 2 >= settings.pitch || settings.height <= 0 || settings.fuel_radius <= 0 ||
      run.size > INT32_MAX / 100) {
    fprintf(stderr, "transport: the pin does not fit its cell, or there are too many histories\n");
    return 2;
  }
  settings.lowest_energy = 1e-5;
  settings.energy_span = log(2e7 / settings.lowest_energy);
  settings.cutoff_energy = settings.lowest_energy;
  settings.mass[FUEL] = 236;
  settings.mass[MODERATOR] = 1.5;

  int count = (int)(run.size * 100);
  size_t cells = (size_t)settings.cells_x * settings.cells_y * settings.cells_z, bins = cells * settings.energy_groups;
  std::vector<table_point> table_points = make_tables();
  std::vector<particle> all(count);
  std::vector<int> queues[3] = {std::vector<int>(count), std::vector<int>(count), std::vector<int>(count)};
  std::vector<int64_t> track_bins(bins, 0), fission_bins(cells, 0), want_track(bins, 0), want_fission(cells, 0);
  table_point *tables = table_points.data();
  particle *particles = all.data();
  int *queue = queues[0].data(), *collisions = queues[1].data(), *crossings = queues[2].data();
  int64_t *track_length = track_bins.data(), *fission_neutrons = fission_bins.data();
  size_t points = table_points.size();
  int lengths[3] = {0, 0, 0}; // of the collision, the crossing and the next queue
  timers t;
  workload_check histories = workload_check_begin(&run, "histories");
  long ended[4] = {0, 0, 0, 0};
  double in_cells = 0, in_histories = 0;

#pragma omp target update to(settings)
#pragma omp target data map(to : tables[0 : points])                                                               \
    map(tofrom : track_length[0 : bins], fission_neutrons[0 : cells])                                             \
    map(alloc : particles[0 : count], queue[0 : count], collisions[0 : count], crossings[0 : count])              \
    map(alloc : lengths)
  for (long batch = 0; batch < batches; ++batch) {
    uint64_t first_history = (seed * batches + batch) * count;
    timed(t.start, [&] { launch_start(particles, queue, count, first_history); });
    for (int moving = count; moving > 0;) {
      lengths[0] = lengths[1] = lengths[2] = 0;
#pragma omp target update to(lengths)
      timed(t.look_up, [&] { launch_look_up(particles, queue, moving, tables); });
      timed(t.advance, [&] {
        launch_advance(particles, queue, moving, collisions, crossings, lengths, track_length, fission_neutrons);
      });
#pragma omp target update from(lengths)
      timed(t.collide, [&] {
        launch_collide(particles, collisions, lengths[0], queue, lengths, track_length, fission_neutrons);
      });
      timed(t.cross, [&] { launch_cross(particles, crossings, lengths[1], queue, lengths); });
#pragma omp target update from(lengths)
      moving = lengths[2];
    }
#pragma omp target update from(particles[0 : count])

    // The same histories one after the other on the host: all of a small run, some of a large one's last batch.
    int step = (int)workload_check_stride(&run, count);
    for (int i = 0; i < count; ++i) {
      const particle &got = particles[i];
      ++ended[got.end & 3];
      in_histories += got.track;
      if (i % step || (run.is_large && batch + 1 < batches))
        continue;
      particle want = {};
      follow_history(want, first_history + i, tables, {want_track.data(), want_fission.data()});
      workload_check_value(&histories, i, got.end, want.end, 0, 0);
      workload_check_value(&histories, i, got.collisions, want.collisions, 0, 0);
      workload_check_value(&histories, i, got.track, want.track, 1e-6, 1e-6);
      workload_check_value(&histories, i, got.energy, want.energy, 1e-6, 0);
    }
  }

  workload_check_end(&histories);
  workload_check_that(&run, "all-histories-ended", ended[MOVING] == 0 && ended[LEAKED] > 0 && ended[ABSORBED] > 0);
  int64_t neutrons = 0;
  for (int64_t in_cell : fission_bins)
    neutrons += in_cell;
  double per_fission = settings.neutrons_per_fission;
  workload_check_that(&run, "fissions-are-counted",
                      neutrons == ended[CAUSED_FISSION] * (int64_t)(per_fission / NEUTRON_UNIT + 0.5));
  for (int64_t in_bin : track_bins)
    in_cells += (double)in_bin * TRACK_UNIT;
  workload_check_that(&run, "tracks-add-up", fabs(in_cells - in_histories) < 1e-6 * in_histories);
  if (!run.is_large) {
    workload_check check = workload_check_begin(&run, "tallies");
    for (size_t i = 0; i < bins; ++i)
      workload_check_value(&check, i, (double)track_bins[i], (double)want_track[i], 1e-6, 1000);
    for (size_t i = 0; i < cells; ++i)
      workload_check_value(&check, bins + i, (double)fission_bins[i], (double)want_fission[i], 0, 0);
    workload_check_end(&check);
  }
  workload_checksum("tracks", track_length, bins * sizeof(int64_t));
  workload_checksum("fissions", fission_neutrons, cells * sizeof(int64_t));
  workload_checksum("ends", ended, sizeof ended);
  for (workload_timer *timer : {&t.start, &t.look_up, &t.advance, &t.collide, &t.cross})
    workload_timer_end(timer);
  return workload_end(&run);
}
