// Pools a batch of images: the greatest or the mean of each window. The kernel takes the extents, strides,
// padding, dilation and two switches as more than a dozen whole numbers, and takes a flat index apart.
// --size: rows and columns of an image. Results: equal bits always for the maximum; for the mean too (plain sums).
#include "workload.h"

#include <cfloat>
#include <vector>

struct shape {
  int images, channels, height, width;   // input
  int out_height, out_width;             // output
  int window_height, window_width;
  int stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
  int mean, count_padding; // mean: 0 takes the maximum
};

static void pool(const float *in, float *out, const shape &s) {
  int channels = s.channels, height = s.height, width = s.width, out_height = s.out_height, out_width = s.out_width;
  int window_height = s.window_height, window_width = s.window_width, stride_y = s.stride_y, stride_x = s.stride_x;
  int pad_y = s.pad_y, pad_x = s.pad_x, dilation_y = s.dilation_y, dilation_x = s.dilation_x;
  int mean = s.mean, count_padding = s.count_padding;
  int total = s.images * channels * out_height * out_width;
#pragma omp target teams distribute parallel for
  for (int i = 0; i < total; ++i) {
    int x = i % out_width;
    int y = i / out_width % out_height;
    int channel = i / out_width / out_height % channels;
    int image = i / out_width / out_height / channels;
    const float *plane = in + (image * channels + channel) * height * width;
    float value = mean ? 0.0f : -FLT_MAX;
    int counted = 0;
    for (int v = 0; v < window_height; ++v) {
      int from_y = y * stride_y - pad_y + v * dilation_y;
      if (from_y < 0 || from_y >= height)
        continue;
      for (int u = 0; u < window_width; ++u) {
        int from_x = x * stride_x - pad_x + u * dilation_x;
        if (from_x < 0 || from_x >= width)
          continue;
        float pixel = plane[from_y * width + from_x];
        value = mean ? value + pixel : pixel > value ? pixel : value;
        ++counted;
      }
    }
    out[i] = mean ? value / (float)(count_padding ? window_height * window_width : counted) : value;
  }
}

// The same by the definition, one output at a time and in double.
static double pooled(const std::vector<float> &in, const shape &s, size_t plane, long y, long x) {
  double value = s.mean ? 0 : -FLT_MAX;
  long counted = 0;
  for (long v = 0; v < s.window_height; ++v)
    for (long u = 0; u < s.window_width; ++u) {
      long from_y = y * s.stride_y + v * s.dilation_y - s.pad_y, from_x = x * s.stride_x + u * s.dilation_x - s.pad_x;
      bool inside = from_y >= 0 && from_y < s.height && from_x >= 0 && from_x < s.width;
      double pixel = inside ? in[(plane * s.height + from_y) * s.width + from_x] : 0;
      if (inside)
        value = s.mean ? value + pixel : pixel > value ? pixel : value;
      counted += inside || s.count_padding;
    }
  return s.mean ? value / counted : value;
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "pooling", 24, 112);
  shape s;
  s.images = (int)workload_setting(&run, "images", 1, 2, 4);
  s.channels = (int)workload_setting(&run, "channels", 1, 6, 32);
  s.height = s.width = (int)run.size;
  s.window_height = (int)workload_setting(&run, "window-height", 1, 3, 3);
  s.window_width = (int)workload_setting(&run, "window-width", 1, 3, 3);
  s.stride_y = (int)workload_setting(&run, "stride-y", 1, 2, 2);
  s.stride_x = (int)workload_setting(&run, "stride-x", 1, 2, 2);
  s.pad_y = (int)workload_setting(&run, "pad-y", 0, 1, 1);
  s.pad_x = (int)workload_setting(&run, "pad-x", 0, 1, 1);
  s.dilation_y = (int)workload_setting(&run, "dilation-y", 1, 1, 1);
  s.dilation_x = (int)workload_setting(&run, "dilation-x", 1, 1, 1);
  s.mean = (int)workload_setting(&run, "mean", 0, 0, 0);
  s.count_padding = (int)workload_setting(&run, "count-padding", 0, 0, 0);
  long launches = workload_setting(&run, "launches", 1, 10, 500);
  workload_settings_end(&run);

  long reach_y = (s.window_height - 1L) * s.dilation_y, reach_x = (s.window_width - 1L) * s.dilation_x;
  s.out_height = (int)((s.height + 2L * s.pad_y - reach_y - 1) / s.stride_y + 1);
  s.out_width = (int)((s.width + 2L * s.pad_x - reach_x - 1) / s.stride_x + 1);
  size_t planes = (size_t)s.images * s.channels;
  if (s.pad_y > reach_y / 2 || s.pad_x > reach_x / 2 || reach_y >= s.height || reach_x >= s.width ||
      planes * s.height * s.width > INT32_MAX) {
    fprintf(stderr, "pooling: the window does not fit the image, or there are too many pixels\n");
    return 2;
  }
  std::vector<float> inputs(planes * s.height * s.width), outputs(planes * s.out_height * s.out_width, 0.0f);
  workload_fill_float(inputs.data(), inputs.size(), 1, -1, 1);
  float *in = inputs.data(), *out = outputs.data();
  size_t in_count = inputs.size(), out_count = outputs.size();

  workload_timer timer = workload_timer_new("pool");
#pragma omp target data map(to : in[0 : in_count]) map(from : out[0 : out_count])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    pool(in, out, s);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "pixels");
  size_t step = workload_check_stride(&run, out_count);
  for (size_t at = 0; at < out_count; at += step) {
    long x = at % s.out_width, y = at / s.out_width % s.out_height;
    double want = pooled(inputs, s, at / s.out_width / s.out_height, y, x);
    workload_check_value(&check, at, outputs[at], want, s.mean ? 1e-5 : 0, s.mean ? 1e-5 : 0);
  }
  workload_check_end(&check);
  workload_checksum("pixels", out, out_count * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
