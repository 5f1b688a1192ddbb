// The process that compiles for a program, as the program sees it.
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <string>

static std::string contents(const std::string &file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The worker of this very program: its environment has the same folder.
static int worker() {
  const std::string mine = std::string("LD_LIBRARY_PATH=") + std::getenv("LD_LIBRARY_PATH");
  int found = 0;
  DIR *processes = opendir("/proc");
  while (dirent *entry = readdir(processes)) {
    const std::string folder = std::string("/proc/") + entry->d_name;
    if (contents(folder + "/comm") == "offloom-jit-wor\n" && contents(folder + "/environ").find(mine) != std::string::npos)
      found = std::atoi(entry->d_name);
  }
  closedir(processes);
  return found;
}
