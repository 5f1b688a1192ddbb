// Convolves an image of several channels, one pixel of the result a thread. Extents, filter, stride and
// channels come at run time. Known values remove the divisions, and unroll the three inner loops.
// --size: rows and columns of the image. Results: equal bits unless the device fuses multiply and add.
#include "workload.h"

#include <vector>

static void convolve(const float *image, const float *filter, float *out, int height, int width, int channels,
                     int filter_height, int filter_width, int stride, int out_height, int out_width) {
#pragma omp target teams distribute parallel for collapse(2)
  for (int y = 0; y < out_height; ++y)
    for (int x = 0; x < out_width; ++x) {
      float sum = 0;
      for (int channel = 0; channel < channels; ++channel)
        for (int v = 0; v < filter_height; ++v)
          for (int u = 0; u < filter_width; ++u)
            sum += filter[(channel * filter_height + v) * filter_width + u] *
                   image[((long)channel * height + y * stride + v) * width + x * stride + u];
      out[(long)y * out_width + x] = sum;
    }
}

int main(int argc, char **argv) {
  workload run = workload_begin(argc, argv, "convolution-2d", 48, 1024);
  int channels = (int)workload_setting(&run, "channels", 1, 3, 3);
  int filter_height = (int)workload_setting(&run, "filter-height", 1, 3, 3);
  int filter_width = (int)workload_setting(&run, "filter-width", 1, 3, 3);
  int stride = (int)workload_setting(&run, "stride", 1, 1, 1);
  long launches = workload_setting(&run, "launches", 1, 5, 100);
  workload_settings_end(&run);
  long extent = run.size;
  if (filter_height > extent || filter_width > extent || extent > 32768) {
    fprintf(stderr, "convolution-2d: no image of this size with this filter\n");
    return 2;
  }
  long out_height = (extent - filter_height) / stride + 1, out_width = (extent - filter_width) / stride + 1;

  std::vector<float> pixels(channels * extent * extent), weights(channels * filter_height * filter_width);
  std::vector<float> outputs(out_height * out_width, 0.0f);
  workload_fill_float(pixels.data(), pixels.size(), 1, 0, 1);
  workload_fill_float(weights.data(), weights.size(), 2, -1, 1);
  float *image = pixels.data(), *filter = weights.data(), *out = outputs.data();
  size_t sizes[3] = {pixels.size(), weights.size(), outputs.size()};

  workload_timer timer = workload_timer_new("convolve");
#pragma omp target data map(to : image[0 : sizes[0]], filter[0 : sizes[1]]) map(from : out[0 : sizes[2]])
  for (long launch = 0; launch < launches; ++launch) {
    workload_timer_start(&timer);
    convolve(image, filter, out, (int)extent, (int)extent, channels, filter_height, filter_width, stride,
             (int)out_height, (int)out_width);
    workload_timer_stop(&timer);
  }

  workload_check check = workload_check_begin(&run, "pixels");
  size_t step = workload_check_stride(&run, outputs.size());
  for (size_t at = 0; at < outputs.size(); at += step) {
    long y = at / out_width, x = at % out_width;
    double want = 0;
    for (size_t tap = 0; tap < weights.size(); ++tap) {
      long u = tap % filter_width, v = tap / filter_width % filter_height;
      long channel = tap / filter_width / filter_height;
      want += (double)weights[tap] * pixels[(channel * extent + y * stride + v) * extent + x * stride + u];
    }
    workload_check_value(&check, at, outputs[at], want, 1e-5, 1e-6 * weights.size());
  }
  workload_check_end(&check);
  workload_checksum("pixels", out, outputs.size() * sizeof(float));
  workload_timer_end(&timer);
  return workload_end(&run);
}
