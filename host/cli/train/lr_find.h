// host/cli/train/lr_find.h: `rtrain check --lr`: trains with a learning rate that grows in each
// step, and reports where the loss falls fastest; no run is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/cli/parser/parser.h"
#include "host/cli/train/tryout.h"

namespace rtrain::cli {

struct LrOptions {
  int64_t steps = 100;
  double min_lr = 1e-8;
  double max_lr = 1;
  std::string output;
};

// Adds --steps, --min-lr, --max-lr and -o; each requires the option `needed`.
void add_lr_options(Command& command, LrOptions& options, std::optional<Option> needed = {});

// Prints a chart and the learning rate, or the document of --json.
void find_lr(const TryoutOptions& tryout, const LrOptions& options);

}  // namespace rtrain::cli
