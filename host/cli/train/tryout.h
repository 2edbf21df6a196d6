// host/cli/train/tryout.h: what `rtrain check` does, with --lr and --memory too: it tries a
// training script out, on the workers that `rtrain run` would start, and no run is recorded
// (modules/rtrain/tryout/).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/cli/parser/parser.h"

namespace rtrain {

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
  const char* probe;                     // the module that looks on in each rank: "model_probe"
  const char* document;                  // the module whose document() says what was seen: "check"
  Map asked = {};                        // what both are given besides
  std::optional<int64_t> limit_batches;  // of every loop over a loader or dataset shard
};

// Runs the script to its end, its output on stderr. Throws what the run, or the document, throws.
Value try_out(const TryoutOptions& options, const Tryout& tryout);

}  // namespace rtrain
