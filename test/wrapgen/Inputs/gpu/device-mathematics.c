/* In the place of AMD's device library, which Debian's LLVM comes without. Images are linked with it, and none is run. */
static volatile int offloom_unknown;

double __ocml_cbrt_f64(double x) { return x * offloom_unknown; }
double __ocml_cos_f64(double x) { return x - offloom_unknown; }
double __ocml_log_f64(double x) { return x + offloom_unknown; }
double __ocml_sin_f64(double x) { return x / offloom_unknown; }
float __ocml_cos_f32(float x) { return x - offloom_unknown; }
float __ocml_sin_f32(float x) { return x / offloom_unknown; }
