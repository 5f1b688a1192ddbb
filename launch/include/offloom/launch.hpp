/// \file
/// Launches offload kernels from C++: `offloom/launch.h` with types, and data mapped for the length of a scope. C++11, no
/// allocation, no exceptions.
///
/// \code
/// extern "C" void saxpy(float a, std::size_t n, const float *x, float *y);   // marked where it is defined
/// OFFLOOM_REGION(saxpy);
///
/// offloom::launch(OFFLOOM_REGION_OF(saxpy))
///     .value(a).value(n).map_to(x, n).map_tofrom(y, n)
///     .run_or([&] { saxpy(a, n, x, y); });
/// \endcode
///
/// What the caller promises and what ends the program is written at the top of `offloom/launch.h`.
#ifndef OFFLOOM_LAUNCH_HPP
#define OFFLOOM_LAUNCH_HPP

#include "launch.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace offloom {

/// Stands for the default device wherever a device number is wanted.
constexpr std::int64_t default_device = OFFLOOM_DEFAULT_DEVICE;

/// A launch that is being put together. Arguments are added in the order of the kernel's parameters; counts are numbers of
/// elements. May be run any number of times, from one thread at a time.
class launch {
public:
  /// A launch of `region` without arguments, on the default device, with one team: `#pragma omp target` without clauses.
  explicit launch(const offloom_region *region) { offloom_launch_init(&state, region); }

  /// Where to run, as in `device(n)`.
  launch &device(std::int64_t number) {
    state.device = number;
    return *this;
  }

  /// How many teams, as in `num_teams(n)`; 0: the runtime chooses.
  launch &teams(std::int32_t number) {
    state.num_teams = number;
    return *this;
  }

  /// Most threads of a team, as in `thread_limit(n)`; 0: the runtime chooses.
  launch &threads(std::int32_t limit) {
    state.thread_limit = limit;
    return *this;
  }

  /// Passes `value` by value. It must have exactly the parameter's type: no conversion happens.
  template <typename T> launch &value(const T &value) {
    static_assert(sizeof(T) <= 8, "larger than an argument: map it instead");
    static_assert(std::is_trivially_copyable<T>::value, "only plain bytes reach a device");
    static_assert(!std::is_pointer<T>::value, "a host address means nothing on a device: use map_... or device_pointer");
    offloom_value(&state, &value, sizeof value);
    return *this;
  }

  /// Passes an address that is valid on the device already, as `is_device_ptr` does.
  launch &device_pointer(const void *pointer) {
    offloom_device_pointer(&state, pointer);
    return *this;
  }

  /// `map(to: data[0:count])`: copied to the device before the kernel runs.
  template <typename T> launch &map_to(const T *data, std::size_t count) { return map(data, count, OFFLOOM_TO); }

  /// `map(from: data[0:count])`: copied back after the kernel has run. What the kernel does not write is unspecified afterwards.
  template <typename T> launch &map_from(T *data, std::size_t count) { return map_written(data, count, OFFLOOM_FROM); }

  /// `map(tofrom: data[0:count])`: copied both ways.
  template <typename T> launch &map_tofrom(T *data, std::size_t count) { return map_written(data, count, OFFLOOM_TOFROM); }

  /// `map(alloc: data[0:count])`: scratch memory on the device, nothing is copied.
  template <typename T> launch &map_alloc(T *data, std::size_t count) { return map_written(data, count, OFFLOOM_ALLOC); }

  /// Runs the kernel and waits for it. On anything but `OFFLOOM_SUCCESS` run the host version instead, or see `run_or`.
  offloom_status run() { return offloom_launch_run(&state); }

  /// Runs the kernel, or `host()` where it did not run. Returns why.
  template <typename Host> offloom_status run_or(Host &&host) {
    const offloom_status status = run();
    if (status != OFFLOOM_SUCCESS)
      host();
    return status;
  }

private:
  template <typename T> launch &map(const T *data, std::size_t count, offloom_map_type type) {
    static_assert(std::is_trivially_copyable<T>::value, "only plain bytes reach a device");
    offloom_map(&state, data, count * sizeof(T), type);
    return *this;
  }

  template <typename T> launch &map_written(T *data, std::size_t count, offloom_map_type type) {
    static_assert(!std::is_const<T>::value, "a kernel writes to it");
    return map(data, count, type);
  }

  offloom_launch state;
};

/// Data that stays mapped on a device as long as this lives: OpenMP's `target data`. Launches that map the same data copy
/// nothing.
///
/// Use it on one device by number, or leave the default device unchanged meanwhile. Where offloading is disabled it does nothing.
template <typename T> class mapped {
  static_assert(std::is_trivially_copyable<T>::value, "only plain bytes reach a device");

public:
  /// Maps `data[0:count]` on `device`, copying it there with `OFFLOOM_TO` and `OFFLOOM_TOFROM`.
  mapped(T *data, std::size_t count, offloom_map_type type, std::int64_t device = default_device)
      : data(data), bytes(count * sizeof(T)), type(type), device(device),
        begin_status(offloom_data_begin(device, data, bytes, type)) {}

  /// Ends the mapping, copying it back with `OFFLOOM_FROM` and `OFFLOOM_TOFROM`.
  ~mapped() {
    if (begin_status == OFFLOOM_SUCCESS)
      offloom_data_end(device, data, bytes, type);
  }

  mapped(const mapped &) = delete;
  mapped &operator=(const mapped &) = delete;

  /// `OFFLOOM_SUCCESS`, or `OFFLOOM_NO_SUCH_DEVICE`: then nothing is mapped.
  offloom_status status() const { return begin_status; }

  /// `target update to(data)`: copies it to the device now.
  void update_to() { update(OFFLOOM_TO); }

  /// `target update from(data)`: copies it to the host now.
  void update_from() {
    static_assert(!std::is_const<T>::value, "it would be written to");
    update(OFFLOOM_FROM);
  }

private:
  void update(offloom_map_type direction) {
    if (begin_status == OFFLOOM_SUCCESS)
      offloom_data_update(device, data, bytes, direction);
  }

  T *const data;
  const std::size_t bytes;
  const offloom_map_type type;
  const std::int64_t device;
  const offloom_status begin_status;
};

/// A variable that is marked `link`, mapped on a device as long as this lives: only then can kernels use it.
///
/// `OFFLOOM_LINK(table);` at file scope, then `offloom::mapped_link there(OFFLOOM_LINK_OF(table), table, OFFLOOM_TO);`
class mapped_link {
public:
  /// Maps `variable`, all of it, on `device`, copying it there with `OFFLOOM_TO` and `OFFLOOM_TOFROM`.
  template <typename T>
  mapped_link(void **link, const T &variable, offloom_map_type type, std::int64_t device = default_device)
      : link(link), bytes(sizeof variable), type(type), device(device),
        begin_status(offloom_link_begin(device, link, bytes, type)) {
    static_assert(std::is_trivially_copyable<T>::value, "only plain bytes reach a device");
  }

  /// Ends the mapping, copying it back with `OFFLOOM_FROM` and `OFFLOOM_TOFROM`.
  ~mapped_link() {
    if (begin_status == OFFLOOM_SUCCESS)
      offloom_link_end(device, link, bytes, type);
  }

  mapped_link(const mapped_link &) = delete;
  mapped_link &operator=(const mapped_link &) = delete;

  /// `OFFLOOM_SUCCESS`, or `OFFLOOM_NO_SUCH_DEVICE`: then nothing is mapped.
  offloom_status status() const { return begin_status; }

  /// `target update to(variable)`: copies it to the device now.
  void update_to() { update(OFFLOOM_TO); }

  /// `target update from(variable)`: copies it to the host now.
  void update_from() { update(OFFLOOM_FROM); }

private:
  void update(offloom_map_type direction) {
    if (begin_status == OFFLOOM_SUCCESS)
      offloom_data_update(device, *link, bytes, direction);
  }

  void **const link;
  const std::size_t bytes;
  const offloom_map_type type;
  const std::int64_t device;
  const offloom_status begin_status;
};

} // namespace offloom

#endif
