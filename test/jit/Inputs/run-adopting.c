// Runs a program, adopts the processes that it leaves behind, and prints, when all have ended, what they took:
// "program SECONDS orphans SECONDS", processor time. Exits with the program's exit code, 1 for a signal, 127 if it cannot be run.
//
// The JIT's worker is nobody's child by intention, and a program that would adopt it gets none. So its parent does.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time) { return time.tv_sec + time.tv_usec / 1e6; }

int main(int argc, char **argv) {
  if (argc < 2 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
    return 127;
  const pid_t program = fork();
  if (program == 0) {
    execv(argv[1], argv + 1);
    _exit(127);
  }
  double of_program = 0, of_orphans = 0;
  int result = 127, status;
  struct rusage usage;
  for (pid_t ended; (ended = wait4(-1, &status, 0, &usage)) > 0;) {
    const double time = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (ended == program) {
      of_program = time;
      result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    } else {
      of_orphans += time;
    }
  }
  printf("program %.6f orphans %.6f\n", of_program, of_orphans);
  return result;
}
