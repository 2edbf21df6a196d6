// rtrain submit LAUNCHER FILE: runs a training script on the nodes of Slurm, Kubernetes, Ray or
// mpirun. rtrain.submit, in Lua, writes and submits the job.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/codec/record.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/parser/command.h"
#include "host/cli/parser/script_arguments.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/state.h"

namespace rtrain::cli {
namespace {

// An option that is passed to rtrain.submit by its name, with underscores.
struct SubmitOption {
  const char* name;
  const char* value;
  const char* help;
};

constexpr std::array kNumbers = {
    SubmitOption{"nodes", "N", "number of nodes (1)"},
    SubmitOption{
        "ntasks-per-node", "N",
        "processes on each node: 1 starts the node's workers, several are a rank each (1)"},
    SubmitOption{"gpus-per-node", "N", "GPUs of each node"},
    SubmitOption{"cpus-per-task", "N", "cores of each process"},
    SubmitOption{"num-workers", "N", "workers in all (ScalingConfig.num_workers)"},
    SubmitOption{"random", "N", "--sweep: N trials that draw all parameters"},
    SubmitOption{"seed", "N", "--sweep: of what is drawn (0)"},
    SubmitOption{"jobs", "N", "--sweep: trials at a time"}};

constexpr std::array kTexts = {
    SubmitOption{"time", "TIME", "limit of time, as Slurm writes it: 30, 1:00:00, 2-12"},
    SubmitOption{"name", "NAME", "the run's name, and the job's"},
    SubmitOption{"storage", "FOLDER", "folder of results, which all nodes reach"},
    SubmitOption{"partition", "NAME", "slurm: the partition"},
    SubmitOption{"image", "IMAGE", "k8s: the image, which holds rtrain, LibTorch and the script"},
    SubmitOption{"namespace", "NAME", "k8s: the namespace"},
    SubmitOption{"claim", "NAME", "k8s: a PersistentVolumeClaim, mounted where --storage is"},
    SubmitOption{"credentials", "SECRET",
                 "k8s: a secret whose keys are variables of the pods, for --storage s3://…"},
    SubmitOption{"hosts", "A,B", "mpi, ssh: names of the nodes"},
    SubmitOption{"hostfile", "FILE", "mpi, ssh: a file with one node in each line"},
    SubmitOption{"bundle", "FILE", "ssh: run this file of rtrain bundle --with-libtorch there"},
    SubmitOption{"placement-strategy", "NAME",
                 "ray: PACK, SPREAD, STRICT_PACK or STRICT_SPREAD (STRICT_SPREAD)"},
    SubmitOption{"address", "ADDRESS", "ray: the cluster (RAY_ADDRESS, else auto)"},
    SubmitOption{"python", "PROGRAM", "ray: the Python that has ray (python3)"}};

struct SubmitOptions {
  std::string engine;
  std::string file;
  std::vector<std::string> args;
  std::array<std::optional<int>, kNumbers.size()> numbers;
  std::array<std::optional<std::string>, kTexts.size()> texts;
  std::vector<std::string> set;
  std::vector<std::string> extra;
  std::vector<std::string> with;
  std::vector<std::string> grid;
  std::vector<std::string> space;
  bool sweep = false;
  bool jobset = false;
  bool wait = false;
  bool dry_run = false;
};

std::string key_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Returns the name of this executable if PATH leads to it, else its path, for the nodes to call.
std::string program() {
  namespace fs = std::filesystem;
  const fs::path self = fs::read_symlink("/proc/self/exe");
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    std::error_code ignored;
    const fs::path found = fs::path(folder) / "rtrain";
    if (fs::exists(found, ignored))
      return fs::equivalent(found, self, ignored) ? "rtrain" : self.string();
  }
  return self.string();
}

List to_list(const std::vector<std::string>& texts) { return List(texts.begin(), texts.end()); }

// The argument of rtrain.submit.
struct SubmitRequest {
  static constexpr std::string_view kClass = "SubmitRequest";
  std::string engine;  // the launcher
  std::string file;
  std::vector<std::string> args;
  std::string program;
  bool dry_run = false;
  Value options;  // the given options by name

  static constexpr RecordFields kFields{
      required("engine", &SubmitRequest::engine),   required("file", &SubmitRequest::file),
      required("args", &SubmitRequest::args),       required("program", &SubmitRequest::program),
      required("dry_run", &SubmitRequest::dry_run), required("options", &SubmitRequest::options)};
};

SubmitRequest request_of(const SubmitOptions& options) {
  Map given;
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    if (options.numbers[i]) given.set(key_of(kNumbers[i].name), *options.numbers[i]);
  }
  for (size_t i = 0; i < kTexts.size(); ++i) {
    if (options.texts[i]) given.set(key_of(kTexts[i].name), *options.texts[i]);
  }
  if (!options.set.empty()) given.set("set", to_list(options.set));
  if (!options.extra.empty()) given.set("option", to_list(options.extra));
  if (!options.with.empty()) given.set("with", to_list(options.with));
  if (!options.grid.empty()) given.set("grid", to_list(options.grid));
  if (!options.space.empty()) given.set("space", to_list(options.space));
  if (options.sweep) given.set("sweep", true);
  if (options.jobset) given.set("jobset", true);
  if (options.wait) given.set("wait", true);
  return {.engine = options.engine,
          .file = options.file,
          .args = unmarked(options.args),
          .program = program(),
          .dry_run = options.dry_run,
          .options = std::move(given)};
}

// Replaces this process by the program, whose output and exit status become the command's.
[[noreturn]] void become(const List& words) {
  std::vector<char*> args;
  for (const Value& word : words) args.push_back(const_cast<char*>(word.as_string().c_str()));
  args.push_back(nullptr);
  std::cout.flush();
  execvp(args.front(), args.data());
  throw Error(Code::kEnvironment, cat("cannot start ", words.front().as_string(), ": ",
                                      std::string_view(std::strerror(errno))));
}

void run_submit(const SubmitOptions& options) {
  Value ending;
  {
    lua::State state;
    bind::add_host_modules(state);
    lua_getglobal(state, "require");
    lua_pushstring(state, "rtrain.submit");
    lua::protected_call(state, 1, 1);
    lua_getfield(state, -1, "run");
    lua::push_value(state, to_value(request_of(options)));
    lua::protected_call(state, 1, 1);
    ending = lua::to_value(state, -1, "the end");
  }
  if (ending.is_int()) std::exit(static_cast<int>(ending.as_int()));
  if (!ending.is_nil()) become(ending.as_list());
}

void add_options(Command& command, SubmitOptions& options) {
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    const SubmitOption& option = kNumbers[i];
    const std::string_view given(option.name);
    const std::string name = cat(given == "num-workers" ? "-n," : "", "--", given);
    // 0 workers means that the processes started by the launcher are the ranks.
    const int least = given == "num-workers" || given == "seed" ? 0 : 1;
    command.option(name, &options.numbers[i], option.help).at_least(least).value_name(option.value);
  }
  for (size_t i = 0; i < kTexts.size(); ++i) {
    const SubmitOption& option = kTexts[i];
    command.option(cat("--", std::string_view(option.name)), &options.texts[i], option.help)
        .value_name(option.value);
  }
  command.option("--set", &options.set, "change a value of train_loop_config; repeatable")
      .repeatable()
      .value_name("KEY=VALUE");
  command
      .option("--option", &options.extra,
              "slurm, mpi: one more option of sbatch or mpirun, --option=--account=me; repeatable")
      .repeatable()
      .value_name("TEXT");
  command
      .option("--with", &options.with,
              "ssh: a file or folder that the script reads, for each node; repeatable")
      .repeatable()
      .value_name("FILE");
  command.flag(
      "--sweep", &options.sweep,
      "slurm: an array of jobs, one for each configuration of --grid, --space and --random");
  command
      .option("--grid", &options.grid,
              "--sweep: values of a parameter, as for rtrain sweep; repeatable")
      .repeatable()
      .value_name("KEY=A,B,…");
  command
      .option("--space", &options.space,
              "--sweep: where a parameter is drawn from, as for rtrain sweep; repeatable")
      .repeatable()
      .value_name("KEY=SPACE");
  command.flag("--jobset", &options.jobset, "k8s: a JobSet instead of an Indexed Job");
  command.flag("--wait", &options.wait,
               "slurm: show the job's output until it has ended, and end with its exit code");
  command.flag("--dry-run", &options.dry_run, "print what would be submitted");
}

}  // namespace

void add_submit(Parser& parser) {
  auto options = std::make_shared<SubmitOptions>();
  Command command = parser.command(
      "submit",
      "Train on several nodes: write a job for slurm, k8s, ray, mpi or ssh and submit it");
  command
      .argument("LAUNCHER", &options->engine,
                "slurm, k8s, ray, mpi, ssh, or a site's own: FILE.lua")
      .required()
      .offers({.sources = {Source::kFiles}, .words = {"slurm", "k8s", "ray", "mpi", "ssh"}});
  command.argument("FILE", &options->file, "training script").required();
  command.argument("ARGS", &options->args, "after --: the script's own arguments");
  add_options(command, *options);
  command.action([options] { run_submit(*options); });
}

}  // namespace rtrain::cli
