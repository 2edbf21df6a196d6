#include "host/cli/train/tryout.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "host/base/text/text.h"
#include "host/bind/modules.h"
#include "host/cli/parser/script_arguments.h"
#include "host/cli/screen/listing.h"
#include "host/cli/train/run_options.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/machine/processes/process_start.h"
#include "host/store/files/file.h"
#include "host/store/files/folder_copy.h"

namespace rtrain::cli {
namespace {

// A temporary folder that the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(store::make_temp_folder("rtrain-tryout-")) {}
  ~TemporaryFolder() { store::remove_tree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Sends the script's output to stderr while it exists: stdout is for the report.
class OutputToStderr {
 public:
  OutputToStderr() : kept_(dup(STDOUT_FILENO)) { dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~OutputToStderr() {
    std::cout.flush();
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  OutputToStderr(const OutputToStderr&) = delete;
  OutputToStderr& operator=(const OutputToStderr&) = delete;

 private:
  int kept_;
};

CommandFlags flags_of(const TryoutOptions& options, const Tryout& tryout,
                      const std::string& folder) {
  Map asked = tryout.asked;
  asked.set("probe", tryout.probe);
  asked.set("folder", folder);
  asked.set("wait_s", options.wait_s);
  CommandFlags out{.script = options.file,
                   .command = std::vector<std::string>{"rtrain", tryout.command, options.file},
                   .set = options.set,
                   .storage = cat(folder, "/storage"),
                   .resume = "never",
                   .num_workers = options.num_workers,
                   .max_failures = 0,
                   .limit_batches = tryout.limit_batches,
                   .launcher = "local",
                   .oversubscribe = true,
                   .quiet = true,
                   .terminal = isatty(STDERR_FILENO) == 1,
                   .tryout = Value(std::move(asked))};
  if (!options.gpus.empty()) out.gpus = options.gpus;
  return out;
}

}  // namespace

void add_tryout_options(Command& command, TryoutOptions& options) {
  command.argument("FILE", &options.file, "training script that calls fit()").required();
  command.option("-n,--num-workers", &options.num_workers, "workers; default: as the script says")
      .at_least(0)
      .value_name("N");
  command
      .option("--set", &options.set,
              "a value of train_loop_config, a.b=VALUE for a nested one; repeatable")
      .repeatable()
      .value_name("KEY=VALUE");
  command.option("--gpus", &options.gpus, "as for rtrain run")
      .value_name("all|N")
      .offers({.words = {"all"}});
  command
      .option("--wait", &options.wait_s,
              "seconds that the train function may take until its first batch (default 30)")
      .value_name("SECONDS")
      .within(1, 86400);
  command.flag("--json", &options.json, "one JSON document");
  command.argument("ARGS", &options.args, "after --: the script's own arguments");
}

Value try_out(const TryoutOptions& options, const Tryout& tryout) {
  machine::outlive_readers();
  const TemporaryFolder folder;
  lua::State state;
  bind::add_host_modules(state);
  set_command_flags(state, flags_of(options, tryout, folder.path()));
  {
    const OutputToStderr redirected;
    lua::run_file(state, options.file, unmarked(options.args));
  }
  lua::push_module_function(state, cat("rtrain.tryout.", tryout.document), "document");
  lua::push_value(state, folder.path());
  lua::push_value(state, options.file);
  lua::push_value(state, tryout.asked);
  lua::protected_call(state, 3, 1);
  return lua::to_value(state, -1, "what was tried out");
}

}  // namespace rtrain::cli
