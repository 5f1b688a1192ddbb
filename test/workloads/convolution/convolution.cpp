// Convolves an image with a square filter of run-time radius, one row a thread; beyond the edge its pixels
// repeat. A known radius unrolls both inner loops.
// --size: rows and columns. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <algorithm>
#include <vector>

static void convolve(const float *image, float *out, const float *filter, int height, int width, int radius) {
  int pitch = width + 2 * radius; // the image has a margin of `radius` on each side
  int side = 2 * radius + 1;
#pragma omp target teams distribute parallel for
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      float sum = 0;
      for (int v = 0; v < side; ++v)
        for (int u = 0; u < side; ++u)
          sum += filter[v * side + u] * image[(y + v) * pitch + x + u];
      out[y * width + x] = sum;
    }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "convolution", 160, 2048);
  int radius = (int)workload_setting(&run, "radius", 0, 2, 2);
  long launches = workload_setting(&run, "launches", 1, 5, 100);
  workload_settings_end(&run);

  long extent = run.size, pitch = extent + 2 * radius, side = 2 * radius + 1;
  std::vector<float> plain(extent * extent), padded(pitch * pitch), weights(side * side), outputs(extent * extent);
  workload_fill_float(plain.data(), plain.size(), 1, 0, 1);
  workload_fill_float(weights.data(), weights.size(), 2, -1, 1);
  auto pixel = [&](long y, long x) {
    return plain[std::clamp(y, 0L, extent - 1) * extent + std::clamp(x, 0L, extent - 1)];
  };
  for (long y = 0; y < pitch; ++y)
    for (long x = 0; x < pitch; ++x)
      padded[y * pitch + x] = pixel(y - radius, x - radius);
  float *image = padded.data(), *filter = weights.data(), *out = outputs.data();

  workload_timer timer = workload_timer_new("convolve");
#pragma omp target data map(to : image[0 : pitch * pitch], filter[0 : side * side])                              \
    map(from : out[0 : extent * extent])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    convolve(image, out, filter, (int)extent, (int)extent, radius);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "pixels");
  size_t step = workload_check_stride(&run, outputs.size());
  for (size_t at = 0; at < outputs.size(); at += step) {
    long y = at / extent, x = at % extent;
    double want = 0;
    for (long v = -radius; v <= radius; ++v)
      for (long u = -radius; u <= radius; ++u)
        want += (double)weights[(v + radius) * side + u + radius] * pixel(y + v, x + u);
    workload_check_value(&check, at, outputs[at], want, 1e-4, 1e-6 * side * side);
  }
  workload_check_end(&check);
  workload_checksum("pixels", out, outputs.size() * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
