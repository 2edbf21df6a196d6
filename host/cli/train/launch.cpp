// rtrain launch PROGRAM: runs a program on every worker, such as a Python script that torchrun
// would start (modules/rtrain/program/).
#include <memory>
#include <optional>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/train/run_options.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"

namespace rtrain::cli {
namespace {

struct LaunchOptions : RunOptions {
  std::vector<std::string> env;
  std::string backend = "torch";
  bool status_endpoint = false;
  std::optional<int> num_to_keep;
  std::string score_attribute, score_order;
};

// Returns the given fields of CheckpointConfig, or nil if none was given.
Value checkpoint_config_of(const LaunchOptions& options) {
  Map out;
  if (options.num_to_keep) out.set("num_to_keep", *options.num_to_keep);
  if (!options.score_attribute.empty())
    out.set("checkpoint_score_attribute", options.score_attribute);
  if (!options.score_order.empty()) out.set("checkpoint_score_order", options.score_order);
  return out.empty() ? Value() : Value(out);
}

Map variables_of(const std::vector<std::string>& settings) {
  Map out;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(Code::kUsage, cat("--env ", setting, ": expected NAME=VALUE"));
    }
    out.set(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return out;
}

void launch(lua::State& state, const LaunchOptions& options) {
  List command{options.file};
  for (const std::string& arg : unmarked(options.args)) command.push_back(arg);
  lua::push_module_function(state, "rtrain.program.launch", "run");
  lua::push_value(state, command);
  lua::push_value(state, variables_of(options.env));
  lua::push_value(state, Map{{"backend", options.backend},
                             {"status_endpoint", options.status_endpoint},
                             {"checkpoint_config", checkpoint_config_of(options)}});
  lua::protected_call(state, 3, 0);
}

}  // namespace

void add_launch(Parser& parser, const std::vector<std::string>& command_line) {
  auto options = std::make_shared<LaunchOptions>();
  Command command = parser.command(
      "launch", "Train with a program on every worker, such as a Python script of torchrun's");
  command
      .argument("PROGRAM", &options->file,
                "a program, or a Python script: a name that ends in .py is run by $RTRAIN_PYTHON, "
                "else python3")
      .required();
  add_run_options(command, *options);
  command.option("--env", &options->env, "a variable of the programs; repeatable")
      .value_name("NAME=VALUE")
      .repeatable();
  command
      .option("--backend", &options->backend,
              "which variables the programs find besides torchrun's: torch (default), tensorflow "
              "(TF_CONFIG), jax, horovod (and a package horovod.torch over torch.distributed)")
      .value_name("NAME")
      .one_of({"torch", "tensorflow", "jax", "horovod"});
  command.flag("--status-endpoint", &options->status_endpoint,
               "rank 0 finds the endpoint of Kubeflow's status protocol (KEP-2779), to which "
               "Hugging Face's Trainer reports by itself");
  command
      .option("--num-to-keep", &options->num_to_keep,
              "checkpoints that are kept (CheckpointConfig.num_to_keep); default: all")
      .value_name("N")
      .at_least(1);
  command
      .option("--checkpoint-score-attribute", &options->score_attribute,
              "the metric that says which are kept; default: the latest are")
      .value_name("METRIC");
  command
      .option("--checkpoint-score-order", &options->score_order,
              "whether a large or a small value is best; default max")
      .one_of({"max", "min"})
      .value_name("max|min");
  command.argument("ARGS", &options->args, "the program's own arguments");
  command.leave_the_rest();
  command.footer(
      "A run as every other: records, logs, retries, stops, leases; `rtrain doc guide/programs`.");
  command.action([options, &command_line] {
    run_with(*options, command_line, [&](lua::State& state) { launch(state, *options); });
  });
}

}  // namespace rtrain::cli
