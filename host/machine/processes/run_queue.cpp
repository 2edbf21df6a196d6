#include "host/machine/processes/run_queue.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "host/base/text/text.h"

namespace rtrain::machine {

// A thread's schedstat: the nanoseconds in which it ran, those in which it waited, and a count.
std::optional<double> run_queue_wait_s(int pid) {
  constexpr double kNanosecond = 1e-9;
  std::optional<double> out;
  std::error_code failed;
  const std::filesystem::directory_iterator threads(cat("/proc/", pid, "/task"), failed);
  if (failed) return out;
  for (auto thread = begin(threads); thread != end(threads) && !failed; thread.increment(failed)) {
    std::ifstream file(thread->path() / "schedstat");
    double ran = 0;
    double waited = 0;
    if (file >> ran >> waited) out = out.value_or(0) + waited * kNanosecond;
  }
  return out;
}

}  // namespace rtrain::machine
