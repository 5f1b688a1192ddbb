// The process that compiles for a program, as the program sees it.
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <sstream>
#include <string>

static std::string contents(const std::string &file) {
  std::ifstream stream(file);
  // What is read may be of a process that ends meanwhile: then this is as much as there was.
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
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
