// A remote store, with a real Redis server, with a folder and with a web server: what one machine has compiled others run; what is altered, moved or
// signed by somebody else, or by a wrong clock, is compiled again; what one has timed others do not time; and a store that is killed, restarted, full, slow, forgets or answers garbage costs
// nothing but that. Of 64 processes on eight machines one or two compile each kernel. `Inputs/remote_cache.py` has the cases.
// REQUIRES: x86_64-device, redis
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 %omp_compile %s -o stock %omp_link
// RUN: %run_offload ./stock > stock.out
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto=thin -Xoffload-linker --jit %S/remembered.cpp -o judged %omp_link
// RUN: %clang -O1 -shared -fPIC %S/Inputs/wrong_clock.c -o wrong_clock.so
// RUN: env %run_offload OMP_NUM_THREADS=1 python3 %S/Inputs/remote_cache.py %offloom ./jit stock.out redis %t/wrong_clock.so ./judged
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

int main() {
  int values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = i;
  for (int factor : {3, 5, 7, 11, 13}) {
    int *data = values;
#pragma omp target teams distribute parallel for map(tofrom : data[:16]) firstprivate(factor)
    for (int i = 0; i < 16; ++i)
      data[i] = data[i] * factor % 1000003 + i % factor;
    std::printf("%d\n", values[15]);
  }
  // Threads, open sockets, and kilobytes of memory that is no file's, at the end.
  if (const char *count = std::getenv("COUNT")) {
    int threads = 0, sockets = 0;
    for (auto &thread : std::filesystem::directory_iterator("/proc/self/task"))
      threads += !thread.path().empty();
    for (auto &file : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      sockets += std::filesystem::read_symlink(file.path(), error).string().rfind("socket:", 0) == 0;
    }
    long memory = -1;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      std::sscanf(line.c_str(), "RssAnon: %ld", &memory);
    std::FILE *file = std::fopen(count, "w");
    std::fprintf(file, "%d %d %ld\n", threads, sockets, memory);
    std::fclose(file);
  }
  return 0;
}
