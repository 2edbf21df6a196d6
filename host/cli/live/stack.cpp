// rtrain stack RUN: shows the stacks of a live run's workers: the script's lines, and native code.
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/control/control_client.h"
#include "host/train/watch/stack_request.h"

namespace rtrain::cli {
namespace {

struct Options : ListingOptions {
  std::optional<int> rank;
  bool native = false;
};

void print_stacks(const std::string& name, const message::Stacks& answer, bool native) {
  const train::StackDetail detail = native ? train::StackDetail::kAll : train::StackDetail::kScript;
  std::cout << "run " << name << ", attempt " << answer.attempt << ", " << answer.state << "\n";
  if (answer.ranks.empty()) std::cout << "it has no worker at the moment\n";
  for (const loop::RankStack& stack : answer.ranks) {
    std::cout << "\n" << train::stack_text(stack, detail);
    if (native && stack.threads_left_out) {
      std::cout << "  its threads: rtrain stack " << shell_word(name) << " --native --rank "
                << stack.rank << "\n";
    }
  }
}

void show_stacks(const Options& options) {
  store::OpenRun run = options.open_run();
  control::ControlClient controller(run);
  const message::Stacks answer = controller.stacks(options.rank);
  if (!options.for_programs()) return print_stacks(run.ref.name, answer, options.native);
  options.print(control::describe_answer(run.ref, answer));
}

}  // namespace

void add_stack(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.command("stack", "Show where the workers of a live run are: the lines of the script");
  add_run_argument(command, *options);
  command.option("--rank", &options->rank, "of this rank only");
  command.flag("--native", &options->native,
               "also the lines of rtrain's modules, and the native frames of every thread");
  add_listing_options(command, *options);
  command.footer("Keys of --json: name, run_id, attempt, state, ranks");
  command.action([options] { show_stacks(*options); });
}

}  // namespace rtrain::cli
