#include "host/cli/train/run_options.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/processes/job.h"
#include "host/cli/screen/listing.h"
#include "host/cli/train/requeue.h"
#include "host/loop/signal.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/machine/processes/full_stack.h"
#include "host/machine/processes/process_start.h"

namespace rtrain::cli {
namespace {

// Reserves standard output for events: the script's output goes to stderr.
int take_output_for_events() {
  const int events = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (events < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error(Code::kEnvironment, cat("--json: ", std::string_view(std::strerror(errno))));
  }
  return events;
}

// Until a run installs its handlers, these signals end the process with the exit codes of an
// interrupted run.
void exit_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) {
    _exit(exit_code(number == SIGINT ? Code::kInterrupted : Code::kTerminated));
  };
  for (const int number : loop::kStopSignals) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

std::optional<std::string> if_given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

CommandFlags flags_of(const RunOptions& options, const std::vector<std::string>& command) {
  CommandFlags out{.script = options.file,
                   .command = command,
                   .set = options.set,
                   .tags = options.tags,
                   .note = if_given(options.note),
                   .name = if_given(options.name),
                   .storage = if_given(options.storage),
                   .resume = if_given(options.resume),
                   .num_workers = options.num_workers,
                   .gpus = if_given(options.gpus),
                   .max_failures = options.max_failures,
                   .seed = options.seed,
                   .limit_batches = options.limit_batches,
                   .overfit = options.overfit,
                   .launcher = if_given(options.launcher),
                   .oversubscribe = options.oversubscribe,
                   .quiet = options.quiet,
                   .terminal = isatty(STDERR_FILENO) == 1};
  if (options.deterministic) out.deterministic = true;
  if (options.json) out.events_fd = take_output_for_events();
  return out;
}

}  // namespace

std::string gpus_error(const std::string& text) {
  const bool is_number =
      text.find_first_not_of("0123456789") == std::string::npos && text.size() < 5;
  return text == "all" || is_number ? "" : cat("'", text, "': expected all or a number");
}

void set_command_flags(lua_State* L, CommandFlags flags) {
  lua::push_module_function(L, "rtrain.run.command_flags", "set");
  lua::push_value(L, to_value(std::move(flags)));
  lua::protected_call(L, 1, 0);
}

void add_run_options(Command& command, RunOptions& options) {
  command
      .option("-n,--num-workers", &options.num_workers,
              "workers (ScalingConfig.num_workers); 0 is --local")
      .at_least(0)
      .value_name("N");
  command.option("--name", &options.name, "the run's name (RunConfig.name)")
      .offers({.sources = {Source::kRuns}});
  command.option("--storage", &options.storage, "folder or URI of results (RunConfig.storage_path)")
      .value_name("FOLDER");
  command
      .option("--max-failures", &options.max_failures,
              "retries, -1 without end (FailureConfig.max_failures)")
      .at_least(-1)
      .value_name("N");
  command.option("--tag", &options.tags, "a tag of the run; repeatable")
      .value_name("TAG")
      .repeatable()
      .check(&new_tag_error);
  command.option("--note", &options.note, "a note of the run");
  command
      .option("--resume", &options.resume,
              "never, auto or must: whether to go on with a run of that name "
              "(RunConfig.resume)")
      .one_of({"never", "auto", "must"})
      .value_name("MODE");
  command
      .option("--gpus", &options.gpus,
              "all: a worker for each GPU, with -n one each; N: that many GPUs; 0: none "
              "(ScalingConfig.use_gpu)")
      .check(gpus_error)
      .value_name("all|N")
      .offers({.words = {"all"}});
  command
      .option("--launcher", &options.launcher,
              "who started this process: slurm, openmpi, local, …, or a site's FILE.lua "
              "(RTRAIN_LAUNCHER); "
              "else its variables tell")
      .value_name("NAME|FILE");
  command.flag("--oversubscribe", &options.oversubscribe,
               "do not wait for cores or GPUs that other runs hold: share them");
  const Option quiet = command.flag("-q,--quiet", &options.quiet, "show errors only");
  command
      .flag(
          "--json", &options.json,
          "print the run's events as JSON lines (rtrain doc guide/events); what the script prints "
          "goes to stderr")
      .excludes(quiet);
}

std::vector<std::string> words_of(const RunOptions& options) {
  std::vector<std::string> out;
  const auto add = [&](const char* name, const std::string& value) {
    out.insert(out.end(), {name, value});
  };
  const auto add_if = [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
      if (!value.empty()) add(name, value);
    } else {
      if (value) add(name, cat(*value));
    }
  };
  const auto add_flag = [&](const char* name, bool is_given) {
    if (is_given) out.emplace_back(name);
  };
  add_if("--num-workers", options.num_workers);
  add_if("--name", options.name);
  add_if("--storage", options.storage);
  add_if("--max-failures", options.max_failures);
  for (const std::string& tag : options.tags) add("--tag", tag);
  add_if("--note", options.note);
  add_if("--resume", options.resume);
  add_if("--gpus", options.gpus);
  add_flag("--oversubscribe", options.oversubscribe);
  add_flag("--quiet", options.quiet);
  add_flag("--json", options.json);
  for (const std::string& setting : options.set) add("--set", setting);
  add_if("--seed", options.seed);
  add_flag("--deterministic", options.deterministic);
  add_if("--limit-batches", options.limit_batches);
  add_if("--overfit", options.overfit);
  return out;
}

void run_with(const RunOptions& options, const std::vector<std::string>& command_line,
              const std::function<void(lua::State& state)>& train) {
  exit_on_signals();
  machine::explain_full_stack();
  machine::outlive_readers();
  lua::State state;
  bind::add_host_modules(state);
  CommandFlags flags = flags_of(options, command_line);
  if (getenv("RTRAIN_TRIAL") != nullptr) {
    lua::push_module_function(state, "rtrain.trial", "begin");
    lua::protected_call(state, 0, 0);
  }
  if (const auto job = find_job(state, options.launcher)) {
    if (job->task > 0 && !job->join) std::exit(run_agent(*job));
    begin_job(*job);
    flags.has_agents = true;
  }
  set_command_flags(state, std::move(flags));
  // Registered last, so it runs before the agents end: a launcher may end the job when a process
  // ends.
  requeue_when_preempted(find_requeue_command(state, options.launcher));
  train(state);
}

}  // namespace rtrain::cli
