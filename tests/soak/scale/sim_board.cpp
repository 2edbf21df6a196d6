#include "tests/soak/scale/sim_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "host/base/clock.h"
#include "host/base/error.h"

namespace rtrain {
namespace {

constexpr const char* kVariable = "SIM_BOARD";

SimBoard* map(int fd) {
  void* const at = ::mmap(nullptr, sizeof(SimBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  RT_CHECK(at != MAP_FAILED);
  ::close(fd);
  return static_cast<SimBoard*>(at);
}

}  // namespace

SimBoard& SimBoard::of_this_process() {
  static SimBoard* const board = map(::open(std::getenv(kVariable), O_RDWR | O_CLOEXEC));
  return *board;
}

SimBoard& SimBoard::make() {
  std::string path = "/tmp/rtrain-sim-XXXXXX";
  const int fd = ::mkstemp(path.data());
  RT_CHECK(fd >= 0 && ::ftruncate(fd, sizeof(SimBoard)) == 0);
  ::setenv(kVariable, path.c_str(), 1);
  SimBoard* const board = new (map(fd)) SimBoard();
  return *board;
}

int64_t now_ns() { return static_cast<int64_t>(monotonic_s() * 1e9); }

}  // namespace rtrain
