// rtrain sweep FILE: runs a training script with many configurations, each as a separate run. Lua
// (rtrain.tune.sweep_command) does the work.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/codec/record.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/screen/listing.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/machine/processes/process_start.h"

namespace rtrain::cli {
namespace {

// The argument of rtrain.tune.sweep_command.
struct SweepRequest {
  static constexpr std::string_view kClass = "SweepRequest";
  std::string script;
  std::vector<std::string> command, args, grid, space, set, tags;
  std::optional<int> random, jobs, num_workers, max_failures;
  std::optional<int64_t> seed;
  std::optional<std::string> metric, mode, scheduler, search, name, storage, note, resume, gpus;
  bool oversubscribe = false;
  bool quiet = false;
  bool json = false;
  bool terminal = false;  // whether stderr is a terminal

  static constexpr RecordFields kFields{required("script", &SweepRequest::script),
                                        required("command", &SweepRequest::command),
                                        required("args", &SweepRequest::args),
                                        required("grid", &SweepRequest::grid),
                                        required("space", &SweepRequest::space),
                                        required("set", &SweepRequest::set),
                                        required("tags", &SweepRequest::tags),
                                        optional("random", &SweepRequest::random),
                                        optional("jobs", &SweepRequest::jobs),
                                        optional("seed", &SweepRequest::seed),
                                        optional("num_workers", &SweepRequest::num_workers),
                                        optional("max_failures", &SweepRequest::max_failures),
                                        optional("metric", &SweepRequest::metric),
                                        optional("mode", &SweepRequest::mode),
                                        optional("scheduler", &SweepRequest::scheduler),
                                        optional("search", &SweepRequest::search),
                                        optional("name", &SweepRequest::name),
                                        optional("storage", &SweepRequest::storage),
                                        optional("note", &SweepRequest::note),
                                        optional("resume", &SweepRequest::resume),
                                        optional("gpus", &SweepRequest::gpus),
                                        required("oversubscribe", &SweepRequest::oversubscribe),
                                        required("quiet", &SweepRequest::quiet),
                                        required("json", &SweepRequest::json),
                                        required("terminal", &SweepRequest::terminal)};
};

void run_sweep(SweepRequest request, const std::vector<std::string>& command_line) {
  request.args = unmarked(request.args);
  request.command = command_line;
  request.terminal = isatty(STDERR_FILENO) == 1;
  machine::outlive_readers();
  lua::State state;
  bind::add_host_modules(state);
  lua::load_file(state, request.script, request.args);  // raises its errors before any trial
  lua_pop(state, 1);
  lua::push_module_function(state, "rtrain.tune.sweep_command", "run");
  lua::push_value(state, to_value(std::move(request)));
  lua::protected_call(state, 1, 1);
  const auto code = static_cast<int>(lua::to_value(state, -1, "the exit code").as_int());
  if (code != 0) std::exit(code);
}

void add_search_options(Command& command, SweepRequest& options) {
  command
      .option("--grid", &options.grid,
              "values of a parameter of train_loop_config: all combinations are tried; repeatable")
      .repeatable()
      .value_name("KEY=A,B,…");
  command
      .option("--space", &options.space,
              "where a parameter is drawn from, with the names of train.tune: "
              "'lr=loguniform(1e-4, 1e-1)'; repeatable")
      .repeatable()
      .value_name("KEY=SPACE");
  command
      .option("--random", &options.random,
              "N trials that draw all parameters, of a --grid one of its values")
      .at_least(1)
      .value_name("N");
  command.option("--jobs", &options.jobs, "trials at a time; default: what this node has cores for")
      .at_least(1)
      .value_name("N");
  command.option("--metric", &options.metric, "what is best; default: val_loss, loss, accuracy, …");
  command.option("--mode", &options.mode, "whether a small or a large value is best")
      .one_of({"min", "max"})
      .value_name("min|max");
  command.option("--scheduler", &options.scheduler,
                 "asha or median, or with options: 'asha(max_t=27, grace_period=3)'");
  command
      .option("--search", &options.search,
              "how --random draws: random (default), or tpe, which learns from the trials")
      .one_of({"random", "tpe"})
      .value_name("random|tpe");
  command.option("--seed", &options.seed, "of what is drawn; default 0")
      .at_least(0)
      .value_name("N");
}

void add_run_options(Command& command, SweepRequest& options) {
  command.option("-n,--num-workers", &options.num_workers, "workers of each trial")
      .at_least(0)
      .value_name("N");
  command.option("--set", &options.set, "a value of train_loop_config of all trials; repeatable")
      .repeatable()
      .value_name("KEY=VALUE");
  command.option("--name", &options.name, "the sweep's name: its trials are NAME-000, NAME-001, …");
  command.option("--storage", &options.storage, "folder of results").value_name("FOLDER");
  command
      .option("--resume", &options.resume,
              "never, auto or must: whether to go on with a sweep of that name")
      .one_of({"never", "auto", "must"})
      .value_name("MODE");
  command.option("--max-failures", &options.max_failures, "retries of each trial")
      .at_least(-1)
      .value_name("N");
  command.option("--gpus", &options.gpus, "GPUs of each trial, as for rtrain run")
      .value_name("all|N");
  command.option("--tag", &options.tags, "a tag of each trial's run; repeatable")
      .value_name("TAG")
      .repeatable()
      .check(&new_tag_error);
  command.option("--note", &options.note, "a note of each trial's run");
  command.flag("--oversubscribe", &options.oversubscribe,
               "do not wait for cores or GPUs that other runs hold: share them");
  const Option quiet = command.flag("-q,--quiet", &options.quiet, "show errors only");
  command
      .flag("--json", &options.json,
            "print the sweep's events as JSON lines (rtrain doc guide/events)")
      .excludes(quiet);
}

}  // namespace

void add_sweep(Parser& parser, const std::vector<std::string>& command_line) {
  auto options = std::make_shared<SweepRequest>();
  Command command = parser.command(
      "sweep", "Train with many configurations: rtrain sweep train.lua --grid lr=1e-2,1e-3");
  command.argument("FILE", &options->script, "training script that calls fit()").required();
  add_search_options(command, *options);
  add_run_options(command, *options);
  command.argument("ARGS", &options->args, "after --: the script's own arguments");
  command.footer(
      "Each trial is `rtrain run FILE --set KEY=VALUE …`, tagged sweep:NAME. Ctrl-C and SIGTERM "
      "ask\n"
      "the trials to save and end; the sweep goes on with --name NAME --resume auto. A second one\n"
      "ends all at once.\n"
      "Exit codes: 0 all trials have ended well, those that the scheduler has stopped too; 1 a "
      "trial\n"
      "has failed; 2 wrong usage; 3 wrong configuration, such as a parameter that the script's\n"
      "train_loop_config does not have; 75 SIGTERM, 130 Ctrl-C: it can go on; 143 a second "
      "SIGTERM");
  command.action([options, &command_line] { run_sweep(*options, command_line); });
}

}  // namespace rtrain::cli
