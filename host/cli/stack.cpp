// rtrain stack RUN: where the workers of a live run are: the script's lines, and native code.
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/shell_word.h"
#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/control_client.h"
#include "host/cli/listing.h"
#include "host/train/watch/stack_request.h"

namespace rtrain {
namespace {

// A worker that does not answer is described after 1.5 s.
constexpr std::chrono::seconds kAnswer{10};

struct Options : ListingOptions {
  std::optional<int> rank;
  bool native = false;
};

void print_stacks(const std::string& name, const Value& answer, bool native) {
  const StackDetail detail = native ? StackDetail::kAll : StackDetail::kScript;
  const List& stacks = answer["ranks"].as_list();
  std::cout << "run " << name << ", attempt " << answer["attempt"].as_int() << ", "
            << answer["state"].as_string() << "\n";
  if (stacks.empty()) std::cout << "it has no worker at the moment\n";
  for (const Value& stack : stacks) {
    std::cout << "\n" << stack_text(stack, detail);
    if (native && stack["threads_left_out"].bool_or(false)) {
      std::cout << "  its threads: rtrain stack " << shell_word(name) << " --native --rank "
                << stack["rank"].as_int() << "\n";
    }
  }
}

void show_stacks(const Options& options) {
  OpenRun run = options.open_run();
  ControlClient controller(run);
  Map request{{"op", "stack"}};
  if (options.rank) request.set("rank", *options.rank);
  const Value answer = controller.ask(request, kAnswer);
  if (!options.json) return print_stacks(run.ref.name, answer, options.native);
  Map document{{"name", run.ref.name}, {"run_id", run.ref.run_id}};
  for (const char* key : {"attempt", "state", "ranks"}) document.set(key, answer[key]);
  print_json(document);
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

}  // namespace rtrain
