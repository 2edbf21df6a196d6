// host/cli/machine/doctor_check.h: what `rtrain doctor` looks at: each thing that rtrain needs,
// whether it works here, and what mends it. Checks leave nothing behind and throw nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain {

enum class CheckStatus { kOk, kWarning, kFailure };

// "ok", "warning", "failure": in JSON too.
std::string_view status_name(CheckStatus status);

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string finding;    // one line
  std::string mend = {};  // what to do; empty where nothing is wrong
};

// LibTorch, Arrow, CUDA and NCCL, each loaded in a process of its own where it is there.
std::vector<Check> check_libraries();
// Processor, memory, shared memory, limits of the shell, clock, cores on lease.
std::vector<Check> check_machine();
// The temporary folder, the storage folder, and a run store there.
std::vector<Check> check_folders();
// Loopback, and the host's name.
std::vector<Check> check_network();
// Two ranks that train, report and save, in a store of their own that is removed.
Check check_training();

// What a process of this executable has printed, stderr included.
struct OwnOutput {
  bool has_ended = false;  // in time
  int exit_code = 0;
  std::string text;
  double seconds = 0;
};
// Runs `rtrain exec -e CODE` with these settings of its environment ("NAME=value", shell words).
OwnOutput run_own(const std::string& code, double timeout_s, const std::string& environment = {});
// The error among it, else its last line.
std::string last_words(const std::string& text);

}  // namespace rtrain
