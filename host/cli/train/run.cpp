// rtrain run FILE: runs a training script; its flags override the script's configuration.
#include <cstdlib>
#include <iostream>
#include <memory>

#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/train/nodes_run.h"
#include "host/cli/train/run_options.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"

namespace rtrain::cli {
namespace {

bool has_trained(lua_State* L) {
  lua::push_module_function(L, "rtrain.run.command_flags", "has_fitted");
  lua::protected_call(L, 0, 1);
  const bool out = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return out;
}

void run_script(lua::State& state, const RunOptions& options) {
  if (options.seed) {
    lua::push_module_function(state, "rtrain.worker.run_flags", "seed_script");
    lua::push_value(state, *options.seed);
    lua::protected_call(state, 1, 0);
  }
  lua::run_file(state, options.file, unmarked(options.args));
  if (has_trained(state) || options.quiet) return;
  std::cerr << "rtrain: " << options.file
            << " ended without a call of fit(): nothing was trained\n";
}

}  // namespace

void add_run(Parser& parser, const std::vector<std::string>& command_line) {
  auto options = std::make_shared<RunOptions>();
  Command command = parser.command("run", "Train: run a script that calls fit()");
  command.argument("FILE", &options->file, "training script").required();
  add_run_options(command, *options);
  command.flag(
      "--local", [options] { options->num_workers = 0; },
      "run the train function in this process, without workers");
  command
      .option("--set", &options->set,
              "a value of train_loop_config, a.b=VALUE for a nested one; repeatable")
      .repeatable()
      .value_name("KEY=VALUE");
  command
      .option("--seed", &options->seed,
              "seeds random numbers of the script and of every rank, and the seed of "
              "train_loop_config where it has one")
      .at_least(0)
      .value_name("N");
  command.flag("--deterministic", &options->deterministic,
               "ranks seed alike (--seed, else 0), and GPUs compute the same each time "
               "(train.torch.enable_reproducibility)");
  const Option limit =
      command
          .option("--limit-batches", &options->limit_batches,
                  "every loop over a DataLoader or dataset shard ends after N batches")
          .at_least(1)
          .value_name("N");
  command
      .option("--overfit", &options->overfit,
              "the same, and each epoch gets the N batches of the first one again: a model that "
              "works learns them by heart")
      .at_least(1)
      .value_name("N")
      .excludes(limit);
  auto nodes = std::make_shared<NodesOptions>();
  add_nodes_options(command, *nodes);
  command.argument("ARGS", &options->args, "after --: the script's own arguments (global `arg`)");
  command.action([options, nodes, &command_line] {
    if (!nodes->nodes.empty()) std::exit(run_on_nodes(*nodes, *options, command_line));
    run_with(*options, command_line, [&](lua::State& state) { run_script(state, *options); });
  });
}

}  // namespace rtrain::cli
