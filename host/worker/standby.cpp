#include "host/worker/standby.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "host/base/error.h"
#include "host/loop/process.h"
#include "host/loop/worker_descriptors.h"
#include "host/lua/engine_loader.h"

namespace rtrain {

int wait_for_rank(int parent_pid) {
  die_with_parent(parent_pid);
  try {
    preload_engine();
  } catch (const Error&) {
    // The train function gets the error where it needs a tensor.
  }
  int rank = kStandbyRank;
  ssize_t count = -1;
  while ((count = read(kChannelFd, &rank, sizeof(rank))) < 0 && errno == EINTR) {
  }
  if (count != sizeof(rank)) std::_Exit(0);
  return rank;
}

}  // namespace rtrain
