"""The symbols that the executable needs from the system, and linking against an older glibc (packaging/glibc)."""

import os
import subprocess

from conftest import RTRAIN, SOURCE

CHECK = SOURCE / "packaging" / "check_symbols"
GLIBC = SOURCE / "packaging" / "glibc"

# Each part prints its results. The program's dlsym finds nothing, as if the C library lacked the function.
PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char** environ;
static int constructed;
__attribute__((constructor)) static void construct(void) { ++constructed; }
void* dlsym(void* handle, const char* name) { (void)handle; (void)name; return NULL; }
static void* thread(void* out) { *(pid_t*)out = gettid(); return NULL; }
int main(int argc, char** argv) {
  printf("constructed %d, %d arguments\n", constructed, argc);
  setenv("PROGRAM", "seen", 1);
  int seen = 0;
  for (char** each = environ; each != NULL && *each != NULL; ++each) seen += strcmp(*each, "PROGRAM=seen") == 0;
  printf("environ %d\n", seen);
  struct stat info;
  printf("stat %d %d\n", stat(argv[0], &info) == 0 && info.st_size > 0, stat("/none", &info) == -1 && errno == ENOENT);
  struct stat same;
  printf("fstatat %d\n", fstatat(AT_FDCWD, argv[0], &same, 0) == 0 && lstat(argv[0], &info) == 0 && same.st_ino == info.st_ino);
  pid_t other = 0;
  pthread_t id;
  pthread_create(&id, NULL, thread, &other);
  pthread_join(id, NULL);
  printf("gettid %d %d\n", gettid() == getpid(), other > 0 && other != getpid());
  struct timespec deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_nsec += 20000000;
  if (deadline.tv_nsec >= 1000000000) { deadline.tv_nsec -= 1000000000; ++deadline.tv_sec; }
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const int waited = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &deadline);
  const int locked = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("waits %d %d %d\n", waited == ETIMEDOUT, locked == ETIMEDOUT,
         now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec - 5000000));
  printf("%s %s %d\n", strerrorname_np(ENOSPC), sigabbrev_np(SIGTERM), strerrorname_np(12345) == NULL);
  const int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 50);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclosefrom_np(&actions, 40);
  char text[99];
  snprintf(text, sizeof text, "test -e /proc/$$/fd/%d && ! test -e /proc/$$/fd/%d", low, high);
  char* shell[] = {"sh", "-c", text, NULL};
  pid_t child;
  int status = -1;
  posix_spawn(&child, "/bin/sh", &actions, NULL, shell, environ);
  waitpid(child, &status, 0);
  printf("closefrom %d\n", status == 0);
  const int closed = close_range(40, ~0U, 0);
  printf("close_range %d %d\n", closed == 0, fcntl(high, F_GETFD) == -1 && fcntl(low, F_GETFD) >= 0);
  return 0;
}
"""
ANSWERS = [
    "constructed 1, 3 arguments",
    "environ 1",
    "stat 1 1",
    "fstatat 1",
    "gettid 1 1",
    "waits 1 1 1",
    "ENOSPC TERM 1",
    "closefrom 1",
    "close_range 1 1",
]


def check(*args):
    return subprocess.run([CHECK, *map(str, args)], capture_output=True, text=True)


def test_the_executable_asks_for_no_newer_system_than_promised():
    """The README promises Debian 12 and Ubuntu 22.04 for builds from source. This includes the embedded libraries."""
    result = check("--glibc", "2.34", RTRAIN)
    assert result.returncode == 0, result.stdout
    assert result.stdout.count(", inside at ") >= 3


ALLOCATIONS = r"""
local ffi = require 'ffi'
ffi.cdef [[
void *malloc(size_t size); void *calloc(size_t count, size_t size); void *realloc(void *old, size_t size);
void *reallocarray(void *old, size_t count, size_t size); void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size); int posix_memalign(void **out, size_t alignment, size_t size);
void *valloc(size_t size); void *pvalloc(size_t size); char *strdup(const char *text);
char *realpath(const char *path, char *out);
size_t malloc_usable_size(void *memory); void free(void *memory);
]]
local C, out = ffi.C, ffi.new 'void *[1]'
for name, make in pairs {
  malloc = function() return C.malloc(100) end, calloc = function() return C.calloc(2, 50) end,
  realloc = function() return C.realloc(C.malloc(9), 100) end,
  reallocarray = function() return C.reallocarray(C.malloc(9), 2, 50) end,
  memalign = function() return C.memalign(64, 100) end, aligned_alloc = function() return C.aligned_alloc(64, 128) end,
  posix_memalign = function() C.posix_memalign(out, 64, 100) return out[0] end, valloc = function() return C.valloc(100) end,
  pvalloc = function() return C.pvalloc(100) end, strdup = function() return C.strdup(('x'):rep(99)) end,
} do
  local memory = make()
  print(name, C.malloc_usable_size(memory) >= 100)
  C.free(memory)
end
"""


def test_what_any_function_has_allocated_is_freed_by_the_executables_allocator(rtrain):
    """Libraries use the executable's allocator: if one function came from the C library, free() would get another
    malloc's memory."""
    done = rtrain("exec", rtrain.script(ALLOCATIONS))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("true") == 10 and "false" not in done.stdout


def test_a_symbol_above_the_promise_is_named():
    result = check("--glibc", "2.17", RTRAIN)
    assert result.returncode == 1
    assert "pthread_create asks for GLIBC_2." in result.stdout


def test_a_program_linked_against_an_older_glibc_asks_for_no_newer_one_and_runs(tmp_path):
    subprocess.run([GLIBC / "make_stubs", "2.28", tmp_path / "glibc"], check=True)
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    subprocess.run(
        [
            "gcc",
            "-O1",
            "-fno-builtin",
            f"-L{tmp_path}/glibc",
            "-Wl,--no-as-needed",
            "-Wl,--allow-shlib-undefined",
            "-Wl,-e,rtrain_start",
            source,
            GLIBC / "newer.c",
            GLIBC / "start.S",
            "-o",
            program,
        ],
        check=True,
    )
    result = check("--glibc", "2.28", program)
    assert result.returncode == 0, result.stdout
    assert "program: needs GLIBC_2." in result.stdout
    done = subprocess.run([program, "a", "b"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines()) == (0, ANSWERS)


def test_a_function_that_the_older_glibc_lacks_does_not_link(tmp_path):
    subprocess.run([GLIBC / "make_stubs", "2.28", tmp_path / "glibc"], check=True)
    source = tmp_path / "program.c"
    source.write_text("#include <threads.h>\n#include <unistd.h>\nint main(void) { return close_range(3, 9, 0); }\n")
    linked = subprocess.run(
        ["gcc", "-D_GNU_SOURCE", f"-L{tmp_path}/glibc", source, "-o", tmp_path / "program"],
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
    )
    assert linked.returncode != 0 and "undefined reference to `close_range'" in linked.stderr


STREAMS = r"""
#include <condition_variable>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <thread>
int main() {
  std::istringstream in("abcdef");
  in.ignore(2);
  std::cout << "ignored " << in.gcount() << " " << static_cast<char>(in.peek());
  in.ignore(std::numeric_limits<std::streamsize>::max());
  std::cout << " " << in.gcount() << " " << in.eof() << "\n";
  std::wistringstream wide(L"abc");
  wide.ignore(1);
  std::cout << "wide " << wide.gcount() << " " << (wide.get() == L'b') << "\n";
  std::mutex mutex;
  std::condition_variable ready;
  bool is_ready = false;
  std::thread other([&] { const std::lock_guard lock(mutex); is_ready = true; ready.notify_one(); });
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] { return is_ready; });
  lock.unlock();
  other.join();
  try { throw std::runtime_error("caught"); } catch (const std::exception& e) { std::cout << e.what() << "\n"; }
}
"""


def test_the_libstdcxx_of_packages_asks_for_no_newer_glibc_and_works(tmp_path):
    folder = tmp_path / "glibc"
    subprocess.run([GLIBC / "make_stubs", "2.28", folder], check=True)
    subprocess.run([GLIBC / "make_libstdcxx", folder], check=True)
    library = folder / "libstdc++.so.6"
    result = check(library)
    assert result.returncode == 0, result.stdout
    forms = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    # Symbols that libtorch_cpu.so and NVIDIA's libraries need in the version of an older GCC.
    assert "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11" in forms
    assert "_ZNSi6ignoreEl@@GLIBCXX_3.4.5" in forms
    source, program = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(STREAMS)
    subprocess.run(["g++", "-std=c++20", "-O1", source, "-o", program], check=True)
    theirs = subprocess.run([program], capture_output=True, text=True)
    alone = folder / "alone"  # without the libraries of make_stubs, which contain no code
    alone.mkdir()
    (alone / library.name).symlink_to(library)
    mine = subprocess.run([program], env={**os.environ, "LD_LIBRARY_PATH": str(alone)}, capture_output=True, text=True)
    assert (mine.returncode, mine.stdout) == (0, "ignored 2 c 4 1\nwide 1 1\ncaught\n"), mine.stderr
    assert mine.stdout == theirs.stdout
