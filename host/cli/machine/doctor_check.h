// host/cli/machine/doctor_check.h: the checks of `rtrain doctor`: whether each thing that rtrain
// needs works here, and how to fix it. Checks leave nothing behind and do not throw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rtrain::cli {

enum class CheckStatus { kOk, kWarning, kFailure };

// "ok", "warning", "failure": in JSON too.
std::string_view status_name(CheckStatus status);

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string finding;    // one line
  std::string mend = {};  // how to fix it; empty if nothing is wrong
};

// Check LibTorch, Arrow, CUDA and NCCL; each installed library is loaded in a separate process.
std::vector<Check> check_libraries();
// Check the processor, memory, shared memory, the shell's limits, the clock, and cores for leases.
std::vector<Check> check_machine();
// Check the temporary folder, the storage folder, and a run store in it.
std::vector<Check> check_folders();
// Check loopback, and the host's name.
std::vector<Check> check_network();
// Trains with two ranks that report and save, in a temporary store.
Check check_training();

// The output of a process of this executable, including stderr.
struct OwnOutput {
  bool has_ended = false;  // in time
  int exit_code = 0;
  std::string text;
  double seconds = 0;
};
// Runs `rtrain exec -e CODE` with these settings of its environment ("NAME=value", shell words).
OwnOutput run_own(const std::string& code, double timeout_s, const std::string& environment = {});
// Returns the error in the text, else its last line.
std::string last_words(const std::string& text);

}  // namespace rtrain::cli
