// What the program has open is not open in the process that compiles, also where the system cannot close it in one go; and what was closed when
// the program was started stays closed, so that nothing it prints ends in what the library has open.
// REQUIRES: x86_64-device
// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: %clangxx -O2 -B %dropin %omp_compile -foffload-lto -Xoffload-linker --jit %s -o jit %omp_link
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STRICT=1 %run_offload ./jit pipe 2>&1 | FileCheck --check-prefix=PIPE %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STRICT=1 %run_offload ./jit old-system 2>&1 | FileCheck --check-prefix=PIPE %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STRICT=1 %run_offload ./jit no-list 2>&1 | FileCheck --check-prefix=PIPE %s
// RUN: env OFFLOOM_JIT=sync OFFLOOM_JIT_LOG=1 OFFLOOM_JIT_STRICT=1 %run_offload ./jit closed 2>&1 | FileCheck --check-prefix=CLOSED %s
// PIPE: compiled in
// PIPE: the other end of the pipe is closed
// CLOSED-COUNT-2: compiled in
// CLOSED: standard input is closed, standard output is closed
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Has a system call fail as one that the system does not have.
static bool take_away(unsigned call) {
  sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {4, instructions};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static int launch(int count) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < count; ++i)
    sum += i * i % count;
  return sum;
}

static const char *state(int descriptor) { return fcntl(descriptor, F_GETFD) < 0 ? "closed" : "open"; }

// As in a program that was started with `<&- >&-`.
static int without_standard_streams() {
  close(STDIN_FILENO);
  close(STDOUT_FILENO);
  const int first = launch(10);
  // To nowhere.
  std::puts("no request");
  std::fflush(stdout);
  const bool right = first == 45 && launch(20) == 130;
  std::fprintf(stderr, "standard input is %s, standard output is %s\n", state(STDIN_FILENO), state(STDOUT_FILENO));
  return right ? 0 : 1;
}

int main(int, char **arguments) {
  const char *mode = arguments[1];
  if (std::strcmp(mode, "closed") == 0)
    return without_standard_streams();
  if (std::strcmp(mode, "pipe") != 0 && !take_away(SYS_close_range))
    return std::perror("close_range"), 1;
  if (std::strcmp(mode, "no-list") == 0 && !take_away(SYS_getdents64))
    return std::perror("getdents64"), 1;
  // One end has a high number.
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0 || fcntl(ends[1], F_DUPFD, 700) != 700)
    return std::perror("pipe"), 1;
  const int sum = launch(10);
  close(ends[1]);
  close(700);
  char byte;
  const bool closed = read(ends[0], &byte, 1) == 0;
  std::fprintf(stderr, "the other end of the pipe is %s\n", closed ? "closed" : "open elsewhere");
  return sum != 45;
}
