/// \file Launches offload kernels from C and C++ that were made without Clang's OpenMP: what `#pragma omp
/// target` would emit, by hand.
///
/// C99 and C++11, no allocation, no lock. Links to nothing but `libomptarget`, which a program with a device
/// image needs anyway. `offloom/launch.hpp` puts types on top of it for C++. `docs/user/launch.md` has a
/// whole program.
///
/// ## Contract between a marked function and its launch
/// A host function `F` with the symbol name `S` that is marked as a kernel (`docs/dev/launch-contract.md` has
/// the details):
/// - its kernel is called `__omp_offloading_0_0_<S>_l0`: Clang's scheme with the device, file and line
///   numbers that no directive has, so that the name follows from `S` alone and is the same in the host and
///   in the device compile;
/// - its region id, the host address that identifies the kernel, is the symbol
///   `.__omp_offloading_0_0_<S>_l0.region_id`, which `OFFLOOM_REGION(S)` declares;
/// - its kernel takes one 8-byte argument for each parameter of `F`, after the implicit first one that the
///   runtime adds: pointers as device addresses, other parameters by value in the first bytes, the rest zero;
/// - `F` itself stays in the host program and is the fallback.
///
/// ## A launch
/// \code
/// void saxpy(float a, size_t n, const float *x, float *y);   // marked where it is defined
/// OFFLOOM_REGION(saxpy);
///
/// offloom_launch launch;
/// offloom_launch_init(&launch, OFFLOOM_REGION_OF(saxpy));
/// offloom_value(&launch, &a, sizeof a);                       // arguments, in the order of the parameters
/// offloom_value(&launch, &n, sizeof n);
/// offloom_map_to(&launch, x, n * sizeof *x);
/// offloom_map_tofrom(&launch, y, n * sizeof *y);
/// if (offloom_launch_run(&launch) != OFFLOOM_SUCCESS)
///   saxpy(a, n, x, y);
/// \endcode
///
/// ## What is the caller's promise
/// The arguments match the kernel's parameters in number, order and type; the kernel stays within the mapped
/// bytes; mapped memory is neither moved nor freed before the launch returns. Nobody can check these: a
/// kernel is found by an address.
///
/// ## What ends the program
/// libomptarget reports many errors by aborting: a region without an entry, a device image that lacks the
/// kernel, a map that extends a present one, out of memory on the device, and any offload failure under
/// `OMP_TARGET_OFFLOAD=mandatory`.
///
/// Source: `__tgt_target_kernel` and `__tgt_target_data_*_mapper` in `offload/libomptarget/interface.cpp`,
/// `KernelArgsTy` in `offload/include/Shared/APITypes.h`, `OpenMPOffloadMappingFlags` in
/// `llvm/Frontend/OpenMP/OMPConstants.h`; the same in LLVM 19 to 23, but
/// for the version of a launch's arguments.
#ifndef OFFLOOM_LAUNCH_H
#define OFFLOOM_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// The version of a launch's arguments that the program's libomptarget expects: 3 until LLVM 22, and 5 since
/// LLVM 23. Another compiler than Clang has to be told, where that is 5.
#ifndef OFFLOOM_ARGUMENTS_VERSION
#if defined(__clang_major__) && __clang_major__ >= 23
#define OFFLOOM_ARGUMENTS_VERSION 5
#else
#define OFFLOOM_ARGUMENTS_VERSION 3
#endif
#endif

/// Most arguments a launch can have. A program may define another number before it includes this file, the
/// same one everywhere.
#ifndef OFFLOOM_MAX_ARGUMENTS
#define OFFLOOM_MAX_ARGUMENTS 64
#endif

/// Stands for the default device (`omp_get_default_device()`) wherever a device number is wanted.
#define OFFLOOM_DEFAULT_DEVICE INT64_C(-1)

/// LLVM's `ident_t`: where in the source a construct stands, for the runtime's messages.
typedef struct offloom_source_location {
  int32_t reserved_1; ///< 0
  int32_t flags;      ///< 2: made by a compiler
  int32_t reserved_2; ///< 0
  int32_t length;     ///< bytes of `text` without the terminating zero
  const char *text;   ///< `;file;name;line;column;;`
} offloom_source_location;

/// A kernel, as the host knows it.
typedef struct offloom_region {
  const void *id;                   ///< region id: the address that the kernel's offload entry holds
  offloom_source_location location; ///< where the region was declared
} offloom_region;

/// Declares the region of the marked function whose *symbol* is `function`, at file scope. In C++ that is an
/// `extern "C"` function; for another one see `OFFLOOM_REGION_OF_KERNEL`.
#define OFFLOOM_REGION(function) OFFLOOM_REGION_OF_KERNEL(function, "__omp_offloading_0_0_" #function "_l0")

/// Declares the region of the kernel called `kernel` (a string literal) under the identifier `name`, at file
/// scope. For functions whose symbol is not an identifier of the source (C++:
/// `"__omp_offloading_0_0__Z5saxpyfmPKfPf_l0"`) and for kernels that have a name of Clang's scheme already.
#define OFFLOOM_REGION_OF_KERNEL(name, kernel)                                                                                   \
  extern const char offloom_region_id_##name __asm__("." kernel ".region_id");                                                   \
  static const offloom_region offloom_region_##name = {                                                                          \
      &offloom_region_id_##name, {0, 2, 0, sizeof(OFFLOOM_LOCATION_TEXT(name)) - 1, OFFLOOM_LOCATION_TEXT(name)}}

/// Pointer to the region that `OFFLOOM_REGION(name)` declared.
#define OFFLOOM_REGION_OF(name) (&offloom_region_##name)

#define OFFLOOM_LOCATION_TEXT(name) ";" __FILE__ ";" #name ";" OFFLOOM_STRING(__LINE__) ";0;;"
#define OFFLOOM_STRING(x) OFFLOOM_STRING_OF(x)
#define OFFLOOM_STRING_OF(x) #x

/// How a call ended. Everything but `OFFLOOM_SUCCESS` means that nothing ran and nothing was copied.
typedef enum offloom_status {
  OFFLOOM_SUCCESS = 0,            ///< done; for a launch: the kernel has run on the device and mapped data is back
  OFFLOOM_NOT_OFFLOADED = 1,      ///< offloading is disabled, or the device is the host: run the host version
  OFFLOOM_TOO_MANY_ARGUMENTS = 2, ///< more than `OFFLOOM_MAX_ARGUMENTS`
  OFFLOOM_VALUE_TOO_LARGE = 3,    ///< a by-value argument of more than 8 bytes: map it instead
  OFFLOOM_NO_SUCH_DEVICE = 4      ///< the device number is neither a device nor the host
} offloom_status;

/// What happens to mapped memory. Bits of LLVM's map types.
typedef enum offloom_map_type {
  OFFLOOM_ALLOC = 0, ///< nothing is copied
  OFFLOOM_TO = 1,    ///< copied to the device before
  OFFLOOM_FROM = 2,  ///< copied back afterwards
  OFFLOOM_TOFROM = 3 ///< both
} offloom_map_type;

/// A launch that is being put together. Set the three fields in the middle directly; `offloom_launch_init`
/// fills in what `#pragma omp target` without clauses means. May be run any number of times, from one thread
/// at a time.
typedef struct offloom_launch {
  const offloom_region *region; ///< what to run

  int64_t device;       ///< as in `device(n)`; `OFFLOOM_DEFAULT_DEVICE` at first
  int32_t num_teams;    ///< as in `num_teams(n)`; 0: the runtime chooses; -1, at first: one team, no `teams` construct
  int32_t thread_limit; ///< as in `thread_limit(n)`; 0, at first: the runtime chooses

  uint32_t argument_count;                  ///< arguments so far
  offloom_status status;                    ///< the first mistake made while adding arguments, or `OFFLOOM_SUCCESS`
  void *values[OFFLOOM_MAX_ARGUMENTS + 1];  ///< host address, or the bytes of a by-value argument
  int64_t sizes[OFFLOOM_MAX_ARGUMENTS + 1]; ///< bytes
  int64_t types[OFFLOOM_MAX_ARGUMENTS + 1]; ///< LLVM's map types
  void *names[OFFLOOM_MAX_ARGUMENTS + 1];   ///< `;expression;file;line;column;;` for the runtime's messages, or null
  const char *next_name;                    ///< the name of the argument that is added next, or null
} offloom_launch;

/// For functions whose own place in this file would tell a reader of the runtime's messages nothing.
#ifdef __clang__
#define OFFLOOM_NO_LOCATION __attribute__((nodebug))
#else
#define OFFLOOM_NO_LOCATION
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The runtime's record of a launch. The runtime writes into it, so each launch gets a fresh one.
typedef struct offloom_kernel_arguments {
  uint32_t version;         ///< `OFFLOOM_ARGUMENTS_VERSION`
  uint32_t argument_count;  ///< length of the arrays; of version 3 the runtime adds one
  void **base_pointers;     ///< host base addresses, or by-value bytes
  void **pointers;          ///< host addresses of the first mapped byte, or by-value bytes
  int64_t *sizes;           ///< bytes
  int64_t *types;           ///< map types
  void **names;             ///< source names for messages, or null
  void **mappers;           ///< user-defined mappers, or null
  uint64_t trip_count;      ///< iterations of the kernel's loop; 0: unknown
  uint64_t flags;           ///< bit 0: `nowait`
  uint32_t num_teams[3];    ///< teams in each dimension; the runtime normalises them
  uint32_t thread_limit[3]; ///< threads in each dimension; the runtime normalises them
  uint32_t dynamic_memory;  ///< bytes of memory shared by a team
} offloom_kernel_arguments;

int __tgt_target_kernel(void *location, int64_t device, int32_t num_teams, int32_t thread_limit, void *region_id,
                        void *arguments);
void __tgt_target_data_begin_mapper(void *location, int64_t device, int32_t count, void **base_pointers, void **pointers,
                                    int64_t *sizes, int64_t *types, void **names, void **mappers);
void __tgt_target_data_end_mapper(void *location, int64_t device, int32_t count, void **base_pointers, void **pointers,
                                  int64_t *sizes, int64_t *types, void **names, void **mappers);
void __tgt_target_data_update_mapper(void *location, int64_t device, int32_t count, void **base_pointers, void **pointers,
                                     int64_t *sizes, int64_t *types, void **names, void **mappers);
int omp_get_num_devices(void);

#ifdef __cplusplus
}
#endif

/// Starts a launch of `region` without arguments, on the default device.
static inline void offloom_launch_init(offloom_launch *launch, const offloom_region *region) {
  launch->region = region;
  launch->device = OFFLOOM_DEFAULT_DEVICE;
  launch->num_teams = -1;
  launch->thread_limit = 0;
  launch->argument_count = 0;
  launch->status = OFFLOOM_SUCCESS;
  launch->next_name = 0;
}

/// Gives the argument that is added next the name by which the runtime's messages call it:
/// `OFFLOOM_MAP_NAME`, or a string of that form that lives as long as the launch. In C the functions that add
/// an argument do so by themselves. Returns `launch`.
static inline offloom_launch *offloom_name_next(offloom_launch *launch, const char *name) {
  launch->next_name = name;
  return launch;
}

/// The name of an argument: the expression and its place in the source, as Clang writes them.
#define OFFLOOM_MAP_NAME(expression) ";" #expression ";" __FILE__ ";" OFFLOOM_STRING(__LINE__) ";0;;"

/// Adds an argument as the runtime sees it: `type` has every bit but the one that makes it a kernel argument.
static inline void offloom_add_argument(offloom_launch *launch, void *value, size_t bytes, int64_t type) {
  const int64_t kernel_argument = 0x20;
  const uint32_t index = launch->argument_count;
  if (launch->status != OFFLOOM_SUCCESS)
    return;
  if (index >= OFFLOOM_MAX_ARGUMENTS) {
    launch->status = OFFLOOM_TOO_MANY_ARGUMENTS;
    return;
  }
  launch->values[index] = value;
  launch->sizes[index] = (int64_t)bytes;
  launch->types[index] = type | kernel_argument;
  launch->names[index] = (void *)(uintptr_t)launch->next_name;
  launch->next_name = 0;
  launch->argument_count = index + 1;
}

/// Passes the `bytes` bytes at `value` by value: at most 8. The rest of the argument is zero.
static inline void offloom_value(offloom_launch *launch, const void *value, size_t bytes) {
  const int64_t by_value = 0x100;
  void *argument = 0;
  if (bytes > sizeof argument) {
    if (launch->status == OFFLOOM_SUCCESS)
      launch->status = OFFLOOM_VALUE_TOO_LARGE;
    return;
  }
  memcpy(&argument, value, bytes);
  offloom_add_argument(launch, argument, bytes, by_value);
}

/// Passes an address that is valid on the device already (`omp_target_alloc`, `omp_get_mapped_ptr`), as
/// `is_device_ptr` does.
static inline void offloom_device_pointer(offloom_launch *launch, const void *pointer) {
  offloom_value(launch, &pointer, sizeof pointer);
}

/// Maps `bytes` bytes at the host address `pointer` and passes their device address. Memory that is mapped
/// already, by `offloom_data_begin` or a `target data` construct, is not copied again.
static inline void offloom_map(offloom_launch *launch, const void *pointer, size_t bytes, offloom_map_type type) {
  offloom_add_argument(launch, (void *)(uintptr_t)pointer, bytes, type);
}

/// `map(to: pointer[0:bytes])`: copied to the device before the kernel runs.
static inline void offloom_map_to(offloom_launch *launch, const void *pointer, size_t bytes) {
  offloom_map(launch, pointer, bytes, OFFLOOM_TO);
}

/// `map(from: pointer[0:bytes])`: copied back after the kernel has run. What the kernel does not write is
/// unspecified afterwards.
static inline void offloom_map_from(offloom_launch *launch, void *pointer, size_t bytes) {
  offloom_map(launch, pointer, bytes, OFFLOOM_FROM);
}

/// `map(tofrom: pointer[0:bytes])`: copied both ways.
static inline void offloom_map_tofrom(offloom_launch *launch, void *pointer, size_t bytes) {
  offloom_map(launch, pointer, bytes, OFFLOOM_TOFROM);
}

/// `map(alloc: pointer[0:bytes])`: scratch memory on the device, nothing is copied.
static inline void offloom_map_alloc(offloom_launch *launch, void *pointer, size_t bytes) {
  offloom_map(launch, pointer, bytes, OFFLOOM_ALLOC);
}

// In C++ an argument may have commas that the preprocessor would split at: there names are given by hand.
#ifndef __cplusplus
#define offloom_value(launch, value, bytes) offloom_value(offloom_name_next(launch, OFFLOOM_MAP_NAME(value)), value, bytes)
#define offloom_device_pointer(launch, pointer)                                                                                  \
  offloom_device_pointer(offloom_name_next(launch, OFFLOOM_MAP_NAME(pointer)), pointer)
#define offloom_map(launch, pointer, bytes, type)                                                                                \
  offloom_map(offloom_name_next(launch, OFFLOOM_MAP_NAME(pointer)), pointer, bytes, type)
#define offloom_map_to(launch, pointer, bytes)                                                                                   \
  offloom_map_to(offloom_name_next(launch, OFFLOOM_MAP_NAME(pointer)), pointer, bytes)
#define offloom_map_from(launch, pointer, bytes)                                                                                 \
  offloom_map_from(offloom_name_next(launch, OFFLOOM_MAP_NAME(pointer)), pointer, bytes)
#define offloom_map_tofrom(launch, pointer, bytes)                                                                               \
  offloom_map_tofrom(offloom_name_next(launch, OFFLOOM_MAP_NAME(pointer)), pointer, bytes)
#define offloom_map_alloc(launch, pointer, bytes)                                                                                \
  offloom_map_alloc(offloom_name_next(launch, OFFLOOM_MAP_NAME(pointer)), pointer, bytes)
#endif

/// Whether `device` is one that the runtime accepts. It would abort the program over another number.
static inline int offloom_device_exists(int64_t device) {
  int devices;
  if (device == OFFLOOM_DEFAULT_DEVICE)
    return 1;
  if (device < 0)
    return 0;
  // The number after the last device is the host. No devices at all: offloading is disabled, and every number
  // means the host.
  devices = omp_get_num_devices();
  return devices == 0 || device <= devices;
}

/// Runs the kernel and waits for it. On anything but `OFFLOOM_SUCCESS` run the host version instead.
static inline offloom_status offloom_launch_run(offloom_launch *launch) {
  offloom_kernel_arguments arguments;
  if (launch->status != OFFLOOM_SUCCESS)
    return launch->status;
  if (!offloom_device_exists(launch->device))
    return OFFLOOM_NO_SUCH_DEVICE;
  memset(&arguments, 0, sizeof arguments);
  arguments.version = OFFLOOM_ARGUMENTS_VERSION;
  arguments.argument_count = launch->argument_count;
#if OFFLOOM_ARGUMENTS_VERSION >= 5
  // Behind the others comes the launch environment, a null pointer by value.
  launch->values[launch->argument_count] = 0;
  launch->sizes[launch->argument_count] = 0;
  launch->types[launch->argument_count] = 0x120;
  launch->names[launch->argument_count] = 0;
  ++arguments.argument_count;
#endif
  // No array section here starts behind its base pointer, so one array serves for both.
  arguments.base_pointers = launch->values;
  arguments.pointers = launch->values;
  arguments.sizes = launch->sizes;
  arguments.types = launch->types;
  arguments.names = launch->names;
  arguments.num_teams[0] = (uint32_t)launch->num_teams;
  arguments.thread_limit[0] = (uint32_t)launch->thread_limit;
  return __tgt_target_kernel((void *)(uintptr_t)&launch->region->location, launch->device, launch->num_teams,
                             launch->thread_limit, (void *)(uintptr_t)launch->region->id, &arguments) == 0
             ? OFFLOOM_SUCCESS
             : OFFLOOM_NOT_OFFLOADED;
}

/// Begins to map `bytes` bytes at `pointer` on `device` until the matching `offloom_data_end`, as `target
/// enter data` does; with `OFFLOOM_TO` and `OFFLOOM_TOFROM` they are copied to the device. Launches that map
/// the same memory then copy nothing. Does nothing where offloading is disabled. Gives `OFFLOOM_SUCCESS` or
/// `OFFLOOM_NO_SUCH_DEVICE`, as the next two do.
OFFLOOM_NO_LOCATION static inline offloom_status offloom_data_begin(int64_t device, const void *pointer, size_t bytes,
                                                                    offloom_map_type type) {
  void *address = (void *)(uintptr_t)pointer;
  int64_t size = (int64_t)bytes, types = type;
  if (!offloom_device_exists(device))
    return OFFLOOM_NO_SUCH_DEVICE;
  __tgt_target_data_begin_mapper(0, device, 1, &address, &address, &size, &types, 0, 0);
  return OFFLOOM_SUCCESS;
}

/// Ends what `offloom_data_begin` began with the same arguments; with `OFFLOOM_FROM` and `OFFLOOM_TOFROM` the
/// last end copies the bytes back.
OFFLOOM_NO_LOCATION static inline offloom_status offloom_data_end(int64_t device, const void *pointer, size_t bytes,
                                                                  offloom_map_type type) {
  void *address = (void *)(uintptr_t)pointer;
  int64_t size = (int64_t)bytes, types = type;
  if (!offloom_device_exists(device))
    return OFFLOOM_NO_SUCH_DEVICE;
  __tgt_target_data_end_mapper(0, device, 1, &address, &address, &size, &types, 0, 0);
  return OFFLOOM_SUCCESS;
}

/// Declares, at file scope, that this file maps the variable that is marked `link` and has this name: see
/// `offloom_link_begin`.
#define OFFLOOM_LINK(variable) extern void *offloom_link_##variable __asm__(#variable "_decl_tgt_ref_ptr")

/// What `offloom_link_begin` and `offloom_link_end` call the variable that `OFFLOOM_LINK(variable)` declared.
#define OFFLOOM_LINK_OF(variable) (&offloom_link_##variable)

/// The map type of an object that something on the device points to.
#define OFFLOOM_POINTED_TO 0x10

/// Maps a variable that is marked `link`, `bytes` bytes of it, until the matching `offloom_link_end`, as
/// `target enter data` does: only then can kernels use it. The rest is as for `offloom_data_begin`.
OFFLOOM_NO_LOCATION static inline offloom_status offloom_link_begin(int64_t device, void **link, size_t bytes,
                                                                    offloom_map_type type) {
  void *address = *link, *reference = link;
  int64_t size = (int64_t)bytes, types = type | OFFLOOM_POINTED_TO;
  if (!offloom_device_exists(device))
    return OFFLOOM_NO_SUCH_DEVICE;
  __tgt_target_data_begin_mapper(0, device, 1, &reference, &address, &size, &types, 0, 0);
  return OFFLOOM_SUCCESS;
}

/// Ends what `offloom_link_begin` began with the same arguments.
OFFLOOM_NO_LOCATION static inline offloom_status offloom_link_end(int64_t device, void **link, size_t bytes,
                                                                  offloom_map_type type) {
  void *address = *link, *reference = link;
  int64_t size = (int64_t)bytes, types = type | OFFLOOM_POINTED_TO;
  if (!offloom_device_exists(device))
    return OFFLOOM_NO_SUCH_DEVICE;
  __tgt_target_data_end_mapper(0, device, 1, &reference, &address, &size, &types, 0, 0);
  return OFFLOOM_SUCCESS;
}

/// Copies mapped memory to the device (`OFFLOOM_TO`) or back (`OFFLOOM_FROM`) now, as `target update` does.
/// Memory that is not mapped is left alone.
OFFLOOM_NO_LOCATION static inline offloom_status offloom_data_update(int64_t device, const void *pointer, size_t bytes,
                                                                     offloom_map_type direction) {
  void *address = (void *)(uintptr_t)pointer;
  int64_t size = (int64_t)bytes, types = direction;
  if (!offloom_device_exists(device))
    return OFFLOOM_NO_SUCH_DEVICE;
  __tgt_target_data_update_mapper(0, device, 1, &address, &address, &size, &types, 0, 0);
  return OFFLOOM_SUCCESS;
}

/// One sentence about `status`, without a full stop. Never null.
static inline const char *offloom_status_message(offloom_status status) {
  switch (status) {
  case OFFLOOM_SUCCESS:
    return "done";
  case OFFLOOM_NOT_OFFLOADED:
    return "not offloaded: offloading is disabled or the device is the host";
  case OFFLOOM_TOO_MANY_ARGUMENTS:
    return "too many kernel arguments: define OFFLOOM_MAX_ARGUMENTS larger";
  case OFFLOOM_VALUE_TOO_LARGE:
    return "a by-value kernel argument has more than 8 bytes: map it instead";
  case OFFLOOM_NO_SUCH_DEVICE:
    return "no such device: the number is larger than omp_get_num_devices()";
  }
  return "unknown status";
}

#endif
