// host/cli/machine/doctor_check.h: the checks of `rtrain doctor`: whether each thing that rtrain
// needs works here, and how to fix it. Checks leave nothing behind and do not throw.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/value.h"

namespace rtrain::cli {

enum class CheckStatus { kOk, kWarning, kFailure };

// "ok", "warning", "failure": in JSON too.
std::string_view status_name(CheckStatus status);

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kOk;
  std::string finding;                  // one line
  std::string mend = {};                // how to fix it; empty if nothing is wrong
  std::vector<std::string> table = {};  // lines below the finding
  Value figures = {};                   // what was measured; nil if nothing was
  std::string log = {};                 // the end of what a failed test has printed
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
// Trains with a worker for each of the GPUs that `request` ("all", or a number) names: each device,
// the links between them, a graph, the loss of a worker, a checkpoint. Gives each check to `add` as
// soon as it is done; ends within two minutes.
void check_gpus(const std::string& request, const std::function<void(const Check&)>& add);

// Writes one JSON document that a user can attach to an issue: the checks, versions, devices and
// how they are connected, without secrets and the names of user, home and host. Throws
// Error(kEnvironment).
void write_report(const std::string& path, const std::vector<Check>& checks);
// The checks as --json prints them, with tables and logs for a report.
Value to_json(const std::vector<Check>& checks, bool with_logs);

// The output of a process of this executable, including stderr.
struct OwnOutput {
  bool has_ended = false;  // in time
  int exit_code = 0;
  std::string text;
  double seconds = 0;
};
// Runs `rtrain exec -e CODE` with these settings of its environment ("NAME=value", shell words).
OwnOutput run_own(const std::string& code, double timeout_s, const std::string& environment = {});

// A temporary folder for runs of this command, which goes away with the object.
class OwnRuns {
 public:
  OwnRuns();
  ~OwnRuns();
  OwnRuns(const OwnRuns&) = delete;
  OwnRuns& operator=(const OwnRuns&) = delete;

  const std::string& folder() const { return folder_; }
  // As run_own(), with its store in the folder.
  OwnOutput run(const std::string& code, double timeout_s) const;

 private:
  std::string folder_;
};

// Returns the error in the text, else its last line.
std::string last_words(const std::string& text);

}  // namespace rtrain::cli
