/* tests/bench/instructions/counted_worker.c: a library for LD_PRELOAD. With it the
   controller starts the worker of rank 0 under callgrind, and Lua's tables have the same order in
   every run.

   Only that process is counted: valgrind supports too few system calls for a controller.
   COUNTED_PROGRAM is the executable, COUNTED_VALGRIND is valgrind's path, and COUNTED_OUTPUT is
   callgrind's file. For x86-64. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

typedef int Spawn(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const[], char* const[]);

int posix_spawn(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const args[], char* const env[]) {
  Spawn* next = (Spawn*)dlsym(RTLD_NEXT, "posix_spawn");
  const int is_worker = args[1] != NULL && strcmp(args[1], "--worker") == 0;
  if (!is_worker || strcmp(args[2], "0") != 0) {
    return next(pid, file, actions, attributes, args, env);
  }
  char output[4096];
  snprintf(output, sizeof(output), "--callgrind-out-file=%s", getenv("COUNTED_OUTPUT"));
  char* const counted[] = {"valgrind",
                           "-q",
                           "--tool=callgrind",
                           "--instr-atstart=no",
                           "--separate-threads=yes",
                           output,
                           getenv("COUNTED_PROGRAM"),
                           args[1],
                           args[2],
                           args[3],
                           NULL};
  return next(pid, getenv("COUNTED_VALGRIND"), actions, attributes, counted, env);
}

static long call_kernel(long number, const long a[6]) {
  long result = number;
  register long r10 __asm__("r10") = a[3];
  register long r8 __asm__("r8") = a[4];
  register long r9 __asm__("r9") = a[5];
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/* LuaJIT calls this function only to get the seed of its hashes from the kernel. */
long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_getrandom) {
    memset((void*)a[0], 1, (size_t)a[1]);
    return a[1];
  }
  const long result = call_kernel(number, a);
  if (result < 0 && result >= -4095) {
    errno = (int)-result;
    return -1;
  }
  return result;
}
