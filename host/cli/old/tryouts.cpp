// rtrain lr-find FILE and rtrain estimate FILE: old names of `rtrain check` with --lr and --memory.
#include <memory>

#include "host/cli/parser/command.h"
#include "host/cli/train/estimate.h"
#include "host/cli/train/lr_find.h"

namespace rtrain::cli {

void add_lr_find(Parser& parser) {
  struct Options {
    TryoutOptions tryout;
    LrOptions lr;
  };
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("lr-find", "check FILE --lr");
  add_tryout_options(command, options->tryout);
  add_lr_options(command, options->lr);
  command.action([options] { find_lr(options->tryout, options->lr); });
}

void add_estimate(Parser& parser) {
  struct Options {
    TryoutOptions tryout;
    double memory_gb = 0;
  };
  auto options = std::make_shared<Options>();
  Command command = parser.old_command("estimate", "check FILE --memory GB");
  add_tryout_options(command, options->tryout);
  command.option("--memory", &options->memory_gb, "a device's memory")
      .value_name("GB")
      .within(0.001, 1e6);
  command.action([options] { estimate(options->tryout, options->memory_gb); });
}

}  // namespace rtrain::cli
