// What the parts of the particle transport workload share. The functions marked so run on both sides.
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <cstdint>

enum boundary { VACUUM, REFLECTIVE };
enum { FUEL, MODERATOR, MATERIALS };
enum outcome { MOVING, LEAKED, ABSORBED, CAUSED_FISSION };

// Values of the whole run, globals of the device as in the code whose role this plays.
struct run_settings {
  int cells_x, cells_y, cells_z;  // lattice of square pins
  double pitch, height;           // of one cell
  double fuel_radius;
  int boundary_x, boundary_y, boundary_z;
  int grid_points;                // of each material's table
  int energy_groups;              // of the tally
  double lowest_energy, energy_span; // tables run over lowest * exp(span * [0, 1])
  double mass[MATERIALS];         // of the nucleus a particle scatters on
  double neutrons_per_fission;
  double cutoff_energy;           // below it a particle counts as absorbed
};

struct table_point {
  double energy;
  double total, scattering, fission;
};

struct cross_sections {
  double total, scattering, fission;
};

struct particle {
  double position[3], direction[3];
  double energy;
  double distance;      // to the next event
  double track;         // length travelled so far
  cross_sections here;  // in its material at its energy
  uint64_t history;     // which history this is: its random numbers depend on nothing else
  uint64_t draws;       // random numbers drawn so far
  int cell[3];
  int material;
  int surface;          // what the next event crosses: 0..5 a cell's face (2*axis + upper), 6 the pin, -1 none
  int collisions;
  int end;              // enum outcome
};

// What all histories together leave behind, in whole numbers: their order of arrival cannot matter.
struct tally_bins {
  int64_t *track_length;   // [cell][energy group], in units of TRACK_UNIT
  int64_t *fission_neutrons; // [cell], in units of NEUTRON_UNIT
};

#pragma omp declare target
const double TRACK_UNIT = 0x1p-24, NEUTRON_UNIT = 0x1p-16;
extern run_settings settings;

double draw(particle &p);

// geometry.cpp
void start_history(particle &p, uint64_t history);
double distance_to_surface(particle &p);
void cross_surface(particle &p);

// cross_sections.cpp
cross_sections look_up(const table_point *tables, int material, double energy);

// physics.cpp
double distance_to_collision(particle &p);
void collide(particle &p, const tally_bins &bins);

// tallies.cpp
void score_track(const particle &p, double length, const tally_bins &bins);
void score_fission(const particle &p, double neutrons, const tally_bins &bins);

// events.cpp: one history from its start to its end
void follow_history(particle &p, uint64_t history, const table_point *tables, const tally_bins &bins);
#pragma omp end declare target

// The kernels (events.cpp); all pointers are mapped already.
void launch_start(particle *particles, int *queue, int count, uint64_t first_history);
void launch_look_up(particle *particles, const int *queue, int count, const table_point *tables);
void launch_advance(particle *particles, const int *queue, int count, int *collision_queue, int *crossing_queue,
                    int *lengths, int64_t *track_length, int64_t *fission_neutrons);
void launch_collide(particle *particles, const int *queue, int count, int *next_queue, int *lengths,
                    int64_t *track_length, int64_t *fission_neutrons);
void launch_cross(particle *particles, const int *queue, int count, int *next_queue, int *lengths);

#endif
