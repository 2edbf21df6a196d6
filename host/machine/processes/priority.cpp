#include "host/machine/processes/priority.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

namespace rtrain::machine {
namespace {

constexpr const char* kOomScore = "/proc/self/oom_score_adj";
constexpr const char* kFirstEnded = "1000";
// Where the kernel divides processor time among sessions first, priorities count within one of them
// only (sched(7), "The autogroup feature"). Any user may raise this one up to 0 again.
constexpr const char* kAutogroup = "/proc/self/autogroup";
// About a tenth of a core that others want. With 19 it would get a seventieth: 20 s for work of 0.3
// s.
constexpr int kLow = 10;
// The kernel takes ten changes in a second from users without privileges.
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kBetweenTries{30};
// A thread that is started meanwhile has the priority of the one that starts it.
constexpr int kRounds = 2;

// In Linux a priority belongs to a thread; 0 means the calling one.
bool set_nice(int tid, int nice) {
  return setpriority(PRIO_PROCESS, static_cast<id_t>(tid), nice) == 0;
}

// For a process that is alone in its session.
void set_session_nice(int nice) {
  if (getsid(0) != getpid()) return;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetweenTries);
    std::ofstream file(kAutogroup);
    if (!file || (file << nice << std::flush)) return;
  }
}

std::string oom_score() {
  std::string out;
  std::ifstream(kOomScore) >> out;
  return out;
}

}  // namespace

bool may_restore_priority() {
  const int nice = getpriority(PRIO_PROCESS, 0);
  bool may = false;
  std::thread([&] { may = set_nice(0, kLow) && set_nice(0, nice); }).join();
  return may;
}

StepBack::StepBack(int tid)
    : is_nice_(may_restore_priority()),
      nice_(getpriority(PRIO_PROCESS, static_cast<id_t>(tid))),
      oom_score_(oom_score()) {
  if (is_nice_) set_nice(tid, kLow);
  set_session_nice(kLow);
  if (!oom_score_.empty()) std::ofstream(kOomScore) << kFirstEnded;
}

void StepBack::step_forward() {
  set_session_nice(0);
  if (!oom_score_.empty()) std::ofstream(kOomScore) << oom_score_;
  for (int round = 0; is_nice_ && round < kRounds; ++round) {
    std::error_code ignored;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
      set_nice(std::atoi(task.path().filename().c_str()), nice_);
    }
  }
}

}  // namespace rtrain::machine
