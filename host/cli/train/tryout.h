// host/cli/train/tryout.h: `rtrain check`, also with --lr and --memory: runs a training script
// briefly, on the workers that `rtrain run` would start, without recording a run
// (modules/rtrain/tryout/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/cli/parser/parser.h"

namespace rtrain::cli {

struct TryoutOptions {
  std::string file;
  std::vector<std::string> args, set;
  std::optional<int> num_workers;
  std::string gpus;
  int64_t wait_s = 30;
  bool json = false;
};

// FILE, -n, --set, --gpus, --wait, --json and ARGS.
void add_tryout_options(Command& command, TryoutOptions& options);

struct Tryout {
  const char* command;                   // "check"
  const char* probe;                     // module that observes each rank: "model_probe"
  const char* document;                  // module whose document() makes the report: "check"
  Map asked = {};                        // arguments for both modules
  std::optional<int64_t> limit_batches;  // limit for every loop over a loader or dataset shard
};

// Runs the script to its end, with its output on stderr. Throws the error of the run or of the
// document.
Value try_out(const TryoutOptions& options, const Tryout& tryout);

}  // namespace rtrain::cli
