// tests/soak/faults/libfaultio.cpp: a library for LD_PRELOAD that makes system calls of rtrain's
// processes fail on purpose.
//
// RTRAIN_FAULTIO=calls:when:what[:filter…][,…], for instance
//   write|pwrite:3:ENOSPC:path=rtrain.db-wal:controller
//   fsync|fdatasync:1+:sleep=200
//   write|pwrite|read:20%:short,write|read|fsync:20%:EINTR
// calls   names of kCalls below, or `*`: all but clock_gettime and statfs
// when    the n-th call that the filters let through, counted in each process; `3+`: from the third
//         call on; `20%`: this part of the calls, chosen by RTRAIN_FAULTIO_SEED
// what    an errno: the call fails with it; short: half of the bytes; slow=N: N bytes a second;
//         sleep=MS: MS milliseconds later; jump=S: clock_gettime(CLOCK_REALTIME) is S seconds off;
//         nfs: statfs says that the file lies on NFS
// filter  path=PART: the file's name contains PART; controller, worker, rank=N
// RTRAIN_FAULTIO_LOG names a file that gets a line "pid call path what thread" for each fault, so
// that a loop over n knows when a run makes fewer than n calls.
//
// The library acts only in executables named rtrain or unit_tests. It allocates no memory and calls
// the kernel directly, because the allocator's own mmap passes through here before main().
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "tests/soak/faults/fault_rules.h"

namespace {

using namespace faultio;

thread_local bool inside = false;

// Finds a file's name: the given path, or the kernel's name of the descriptor.
struct File {
  const char* path = nullptr;
  int fd = -1;
  char name[512] = "";

  const char* text() {
    if (path != nullptr) return path;
    if (name[0] == '\0' && fd >= 0) {
      char link[40];
      snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
      raw(SYS_readlink, link, name, sizeof(name) - 1);
    }
    return name;
  }
};

uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool is_due(Rule& rule) {
  const int64_t n = ++rule.seen;
  if (rule.when == When::kFrom) return n >= rule.n;
  if (rule.when == When::kNth) return n == rule.n;
  return static_cast<int64_t>(mixed(seed * 1000003 + static_cast<uint64_t>(n)) % 100) < rule.n;
}

void log_fault(const Rule& rule, int call, File& file) {
  const char* path = getenv("RTRAIN_FAULTIO_LOG");
  if (path == nullptr) return;
  const char* what = rule.what == What::kFail    ? strerrorname_np(static_cast<int>(rule.argument))
                     : rule.what == What::kShort ? "short"
                     : rule.what == What::kSlow  ? "slow"
                     : rule.what == What::kSleep ? "sleep"
                     : rule.what == What::kJump  ? "jump"
                                                 : "nfs";
  char line[700];
  const int size = snprintf(line, sizeof(line), "%d %s %s %s %d\n", static_cast<int>(getpid()),
                            kCalls[call], file.text(), what, static_cast<int>(raw(SYS_gettid)));
  const long fd = raw(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  raw(SYS_write, fd, line, static_cast<size_t>(size));
  raw(SYS_close, fd);
}

// Returns the rule that is due at this call, or null.
Rule* due_rule(const char* name, File file) {
  if (inside || !is_ready()) return nullptr;
  const int call = call_number(name, strlen(name));
  inside = true;
  const int kept_errno = errno;
  Rule* found = nullptr;
  for (int i = 0; i < rule_count && found == nullptr; ++i) {
    Rule& rule = rules[i];
    if ((rule.calls >> call & 1) == 0) continue;
    if (rule.side != 0 && (rule.side == 2) != is_worker) continue;
    if (rule.rank >= 0 && rule.rank != own_rank) continue;
    if (rule.path[0] != '\0' && strstr(file.text(), rule.path) == nullptr) continue;
    if (is_due(rule)) found = &rule;
  }
  if (found != nullptr && (found->what != What::kJump || found->seen <= found->n)) {
    log_fault(*found, call, file);
  }
  errno = kept_errno;
  inside = false;
  return found;
}

void sleep_ms(int64_t ms) {
  const timespec time{ms / 1000, ms % 1000 * 1000000};
  raw(SYS_nanosleep, &time, nullptr);
}

// Applies the due rule to a call that moves no bytes. Returns true with errno set if the call must
// fail.
bool fails(const char* name, File file) {
  const Rule* rule = due_rule(name, file);
  if (rule == nullptr) return false;
  if (rule->what == What::kSleep) sleep_ms(rule->argument);
  if (rule->what != What::kFail) return false;
  errno = static_cast<int>(rule->argument);
  return true;
}

File at(const char* path) { return {.path = path}; }
File at(int fd) { return {.fd = fd}; }

// Does the same for a call that moves bytes; may reduce `size`.
bool fails(const char* name, File file, size_t& size) {
  const Rule* rule = due_rule(name, file);
  if (rule == nullptr) return false;
  // Only files can be cut: an eventfd, for example, takes exactly 8 bytes.
  const bool is_file = file.text()[0] == '/' && strncmp(file.text(), "/dev/", 5) != 0;
  if (rule->what == What::kShort && size > 1 && is_file) size = (size + 1) / 2;
  if (rule->what == What::kSleep) sleep_ms(rule->argument);
  if (rule->what == What::kSlow) {
    if (size > 65536) size = 65536;
    sleep_ms(static_cast<int64_t>(size) * 1000 / rule->argument);
  }
  if (rule->what != What::kFail) return false;
  errno = static_cast<int>(rule->argument);
  return true;
}

template <class Function>
Function next(const char* name, Function) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails("open", at(path))) return -1;
  return static_cast<int>(raw(SYS_openat, folder, path, flags, mode));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

DIR* opendir(const char* path) {
  if (fails("opendir", at(path))) return nullptr;
  return next("opendir", &opendir)(path);
}

ssize_t read(int fd, void* bytes, size_t size) {
  if (fails("read", at(fd), size)) return -1;
  return raw(SYS_read, fd, bytes, size);
}

ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  if (fails("pread", at(fd), size)) return -1;
  return raw(SYS_pread64, fd, bytes, size, offset);
}

ssize_t pread64(int fd, void* bytes, size_t size, off_t offset) __attribute__((alias("pread")));

ssize_t write(int fd, const void* bytes, size_t size) {
  if (fails("write", at(fd), size)) return -1;
  return raw(SYS_write, fd, bytes, size);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  if (fails("pwrite", at(fd), size)) return -1;
  return raw(SYS_pwrite64, fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t offset)
    __attribute__((alias("pwrite")));

ssize_t copy_file_range(int from, off_t* from_offset, int to, off_t* to_offset, size_t size,
                        unsigned flags) {
  if (fails("copy_file_range", at(to), size)) return -1;
  return raw(SYS_copy_file_range, from, from_offset, to, to_offset, size, flags);
}

int fsync(int fd) {
  if (fails("fsync", at(fd))) return -1;
  return static_cast<int>(raw(SYS_fsync, fd));
}

int fdatasync(int fd) {
  if (fails("fdatasync", at(fd))) return -1;
  return static_cast<int>(raw(SYS_fdatasync, fd));
}

int ftruncate(int fd, off_t size) noexcept {
  if (fails("ftruncate", at(fd))) return -1;
  return static_cast<int>(raw(SYS_ftruncate, fd, size));
}

int ftruncate64(int fd, off_t size) noexcept __attribute__((alias("ftruncate")));

int posix_fallocate(int fd, off_t offset, off_t size) {
  if (fails("fallocate", at(fd))) return errno;
  return raw(SYS_fallocate, fd, 0, offset, size) == 0 ? 0 : errno;
}

int posix_fallocate64(int fd, off_t offset, off_t size) __attribute__((alias("posix_fallocate")));

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  if (fails("rename", at(to))) return -1;
  return static_cast<int>(raw(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int rename(const char* from, const char* to) noexcept {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (fails("mkdir", at(path))) return -1;
  return static_cast<int>(raw(SYS_mkdirat, AT_FDCWD, path, mode));
}

int symlink(const char* target, const char* path) noexcept {
  if (fails("symlink", at(path))) return -1;
  return static_cast<int>(raw(SYS_symlinkat, target, AT_FDCWD, path));
}

int unlink(const char* path) noexcept {
  if (fails("unlink", at(path))) return -1;
  return static_cast<int>(raw(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rmdir(const char* path) noexcept {
  if (fails("rmdir", at(path))) return -1;
  return static_cast<int>(raw(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

// The C library's own remove() would bypass the two functions above.
int remove(const char* path) noexcept {
  struct stat info;
  if (lstat(path, &info) != 0) return -1;
  return S_ISDIR(info.st_mode) ? rmdir(path) : unlink(path);
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  if (fails("mmap", at(fd))) return MAP_FAILED;
  return reinterpret_cast<void*>(raw(SYS_mmap, address, size, protection, flags, fd, offset));
}

void* mmap64(void* address, size_t size, int protection, int flags, int fd, off_t offset) noexcept
    __attribute__((alias("mmap")));

int memfd_create(const char* name, unsigned flags) noexcept {
  if (fails("memfd", at(name))) return -1;
  return static_cast<int>(raw(SYS_memfd_create, name, flags));
}

int flock(int fd, int operation) noexcept {
  if (fails("flock", at(fd))) return -1;
  return static_cast<int>(raw(SYS_flock, fd, operation));
}

int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  const bool locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                     command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
  // Releasing a lock never fails.
  if (locks && static_cast<struct flock*>(argument)->l_type != F_UNLCK && fails("lock", at(fd)))
    return -1;
  return static_cast<int>(raw(SYS_fcntl, fd, command, argument));
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

int socketpair(int domain, int type, int protocol, int fds[2]) noexcept {
  if (fails("socketpair", at("socketpair"))) return -1;
  return static_cast<int>(raw(SYS_socketpair, domain, type, protocol, fds));
}

int pipe2(int fds[2], int flags) noexcept {
  if (fails("pipe", at("pipe"))) return -1;
  return static_cast<int>(raw(SYS_pipe2, fds, flags));
}

pid_t fork() noexcept {
  if (fails("fork", at("fork"))) return -1;
  return next("fork", &fork)();
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const environment[]) {
  if (fails("posix_spawn", at(path))) return errno;
  return next("posix_spawn", &posix_spawn)(pid, path, actions, attributes, arguments, environment);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto real = next("clock_gettime", &clock_gettime);
  const int result = real(clock, time);
  if (clock != CLOCK_REALTIME) return result;
  const Rule* rule = due_rule("clock_gettime", at("clock"));
  if (rule != nullptr && rule->what == What::kJump) time->tv_sec += rule->argument;
  return result;
}

int statfs(const char* path, struct statfs* info) noexcept {
  const int result = static_cast<int>(raw(SYS_statfs, path, info));
  const Rule* rule = due_rule("statfs", at(path));
  if (result == 0 && rule != nullptr && rule->what == What::kNfs) info->f_type = NFS_SUPER_MAGIC;
  return result;
}

}  // extern "C"
