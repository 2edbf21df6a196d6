// packaging/glibc/newer.c: what rtrain and the libraries linked into it call of glibc and 2.28 does
// not have.
//
// Linked into each library that packaging/glibc/make_stubs has restricted; its symbols stay inside.
// Where the C library of the machine has the function, that one is called. Includes no header that
// declares what it defines.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#define INSIDE __attribute__((visibility("hidden")))
#define STAT_VERSION 1

long syscall(long number, ...);

// --- since 2.33: before, they were macros over these
// ---------------------------------------------------------------------

int __xstat(int version, const char* path, void* out);
int __lxstat(int version, const char* path, void* out);
int __fxstat(int version, int fd, void* out);
int __fxstatat(int version, int folder, const char* path, void* out, int flags);

INSIDE int stat(const char* path, void* out) { return __xstat(STAT_VERSION, path, out); }
INSIDE int lstat(const char* path, void* out) { return __lxstat(STAT_VERSION, path, out); }
INSIDE int fstat(int fd, void* out) { return __fxstat(STAT_VERSION, fd, out); }
INSIDE int fstatat(int folder, const char* path, void* out, int flags) {
  return __fxstatat(STAT_VERSION, folder, path, out, flags);
}
INSIDE int stat64(const char* path, void* out) { return stat(path, out); }
INSIDE int lstat64(const char* path, void* out) { return lstat(path, out); }
INSIDE int fstat64(int fd, void* out) { return fstat(fd, out); }
INSIDE int fstatat64(int folder, const char* path, void* out, int flags) {
  return fstatat(folder, path, out, flags);
}

// --- system calls
// --------------------------------------------------------------------------------------------------------

INSIDE int gettid(void) { return (int)syscall(SYS_gettid); }

// Open descriptors of this process from `first` on: their number, or -1. `on_each` gets each.
static int each_descriptor(unsigned first, unsigned last, int (*on_each)(void* what, int fd),
                           void* what) {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) return -1;
  int result = 0;
  for (struct dirent* entry; result == 0 && (entry = readdir(folder)) != NULL;) {
    char* end;
    const unsigned long fd = strtoul(entry->d_name, &end, 10);
    if (*end != '\0' || end == entry->d_name || fd < first || fd > last || (int)fd == dirfd(folder))
      continue;
    result = on_each(what, (int)fd);
  }
  closedir(folder);
  return result;
}

int close(int fd);
enum { kCloseOnExec = 4 };

static int close_one(void* flags, int fd) {
  if (*(int*)flags & kCloseOnExec) return fcntl(fd, F_SETFD, FD_CLOEXEC);
  close(fd);
  return 0;
}

// Kernels before 5.9 do not know the call.
INSIDE int close_range(unsigned first, unsigned last, int flags) {
  const long done = syscall(SYS_close_range, first, last, flags);
  if (done == 0 || errno != ENOSYS) return (int)done;
  return each_descriptor(first, last, close_one, &flags);
}

typedef int (*AddCloseFrom)(void* actions, int from);
int posix_spawn_file_actions_addclose(void* actions, int fd);

// Without the C library's: those that are open now.
INSIDE int posix_spawn_file_actions_addclosefrom_np(void* actions, int from) {
  const AddCloseFrom theirs =
      (AddCloseFrom)dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
  if (theirs != NULL) return theirs(actions, from);
  return each_descriptor((unsigned)from, ~0U >> 1, posix_spawn_file_actions_addclose, actions);
}

INSIDE uint32_t arc4random(void) {
  uint32_t random;
  while (syscall(SYS_getrandom, &random, sizeof random, 0) != (long)sizeof random) {
  }
  return random;
}

// --- waiting by a clock
// --------------------------------------------------------------------------------------------------

// The same moment by the real-time clock: what pthreads without these functions wait by.
static struct timespec in_real_time(clockid_t clock, const struct timespec* deadline) {
  enum { kPerSecond = 1000000000 };
  struct timespec now;
  struct timespec out;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &out);
  out.tv_sec += deadline->tv_sec - now.tv_sec;
  out.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (out.tv_nsec < 0) {
    out.tv_nsec += kPerSecond;
    --out.tv_sec;
  } else if (out.tv_nsec >= kPerSecond) {
    out.tv_nsec -= kPerSecond;
    ++out.tv_sec;
  }
  return out;
}

typedef int (*ClockWait)(void* condition, void* mutex, clockid_t clock,
                         const struct timespec* deadline);
typedef int (*ClockLock)(void* mutex, clockid_t clock, const struct timespec* deadline);
int pthread_cond_timedwait(void* condition, void* mutex, const struct timespec* deadline);
int pthread_mutex_timedlock(void* mutex, const struct timespec* deadline);

INSIDE int pthread_cond_clockwait(void* condition, void* mutex, clockid_t clock,
                                  const struct timespec* deadline) {
  static ClockWait theirs;
  static int is_known;
  if (!__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) {
    theirs = (ClockWait)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
    __atomic_store_n(&is_known, 1, __ATOMIC_RELEASE);
  }
  if (theirs != NULL) return theirs(condition, mutex, clock, deadline);
  const struct timespec moment = in_real_time(clock, deadline);
  return pthread_cond_timedwait(condition, mutex, &moment);
}

INSIDE int pthread_mutex_clocklock(void* mutex, clockid_t clock, const struct timespec* deadline) {
  const ClockLock theirs = (ClockLock)dlsym(RTLD_DEFAULT, "pthread_mutex_clocklock");
  if (theirs != NULL) return theirs(mutex, clock, deadline);
  const struct timespec moment = in_real_time(clock, deadline);
  return pthread_mutex_timedlock(mutex, &moment);
}

// --- names
// ---------------------------------------------------------------------------------------------------------------

struct Name {
  int number;
  const char* name;
};

static const char* name_of(const struct Name* names, size_t count, int number) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i].number == number) return names[i].name;
  }
  return NULL;
}

#define E(name) \
  { name, #name }
static const struct Name kErrors[] = {
    E(EPERM),      E(ENOENT),         E(ESRCH),        E(EINTR),      E(EIO),
    E(ENXIO),      E(E2BIG),          E(ENOEXEC),      E(EBADF),      E(ECHILD),
    E(EAGAIN),     E(ENOMEM),         E(EACCES),       E(EFAULT),     E(EBUSY),
    E(EEXIST),     E(EXDEV),          E(ENODEV),       E(ENOTDIR),    E(EISDIR),
    E(EINVAL),     E(ENFILE),         E(EMFILE),       E(ENOTTY),     E(ETXTBSY),
    E(EFBIG),      E(ENOSPC),         E(ESPIPE),       E(EROFS),      E(EMLINK),
    E(EPIPE),      E(EDOM),           E(ERANGE),       E(EDEADLK),    E(ENAMETOOLONG),
    E(ENOLCK),     E(ENOSYS),         E(ENOTEMPTY),    E(ELOOP),      E(EPROTO),
    E(EOVERFLOW),  E(EMSGSIZE),       E(EOPNOTSUPP),   E(EADDRINUSE), E(EADDRNOTAVAIL),
    E(ENETDOWN),   E(ENETUNREACH),    E(ECONNABORTED), E(ECONNRESET), E(ENOBUFS),
    E(ENOTCONN),   E(ETIMEDOUT),      E(ECONNREFUSED), E(EHOSTDOWN),  E(EHOSTUNREACH),
    E(EALREADY),   E(EINPROGRESS),    E(ESTALE),       E(EDQUOT),     E(ECANCELED),
    E(EOWNERDEAD), E(ENOTRECOVERABLE)};

// Of x86-64.
static const struct Name kSignals[] = {
    {1, "HUP"},   {2, "INT"},     {3, "QUIT"},  {4, "ILL"},     {5, "TRAP"},  {6, "ABRT"},
    {7, "BUS"},   {8, "FPE"},     {9, "KILL"},  {10, "USR1"},   {11, "SEGV"}, {12, "USR2"},
    {13, "PIPE"}, {14, "ALRM"},   {15, "TERM"}, {16, "STKFLT"}, {17, "CHLD"}, {18, "CONT"},
    {19, "STOP"}, {20, "TSTP"},   {21, "TTIN"}, {22, "TTOU"},   {23, "URG"},  {24, "XCPU"},
    {25, "XFSZ"}, {26, "VTALRM"}, {27, "PROF"}, {28, "WINCH"},  {29, "POLL"}, {30, "PWR"},
    {31, "SYS"}};

INSIDE const char* strerrorname_np(int number) {
  return name_of(kErrors, sizeof kErrors / sizeof *kErrors, number);
}

INSIDE const char* sigabbrev_np(int number) {
  return name_of(kSignals, sizeof kSignals / sizeof *kSignals, number);
}

// --- libstdc++ asks whether there is one thread alone: never, as far as it can know
// ---------------------------------------

INSIDE char __libc_single_threaded = 0;
