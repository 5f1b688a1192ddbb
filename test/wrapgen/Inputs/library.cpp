// A function with a target region of its own, and device code that other files call.
#pragma omp declare target
int library_counter = 40;
int library_step(int by) {
  library_counter += by;
  return library_counter;
}
#pragma omp end declare target

int library_run(int by) {
  int result = 0;
#pragma omp target map(from : result)
  result = library_step(by);
  return result;
}
