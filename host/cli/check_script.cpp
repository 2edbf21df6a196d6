// rtrain check FILE: two batches of a training script on every rank, and what its model needs; no
// run is recorded (modules/rtrain/check/).
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>

#include "host/base/counted.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/bind/modules.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"
#include "host/cli/script_arguments.h"
#include "host/lua/convert.h"
#include "host/lua/guard.h"
#include "host/lua/require.h"
#include "host/lua/state.h"
#include "host/machine/process_start.h"
#include "host/store/file.h"
#include "host/store/folder_copy.h"

namespace rtrain {
namespace {

struct CheckOptions {
  std::string file;
  std::vector<std::string> args, set;
  std::optional<int> num_workers;
  std::string gpus;
  int64_t batches = 2;
  int64_t wait_s = 30;
  bool json = false;
};

// A folder that goes with its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(make_temp_folder("rtrain-check-")) {}
  ~TemporaryFolder() { remove_tree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Meanwhile what the script prints goes to stderr: stdout is the report's.
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

List to_list(const std::vector<std::string>& texts) { return List(texts.begin(), texts.end()); }

// What rtrain.run.launch reads as package.loaded['rtrain._flags'].
Map flags_of(const CheckOptions& options, const std::string& folder) {
  Map flags{
      {"script", options.file},
      {"set", to_list(options.set)},
      {"tags", List()},
      {"quiet", true},
      {"oversubscribe", true},
      {"command", List{"rtrain", "check", options.file}},
      {"storage", cat(folder, "/storage")},
      {"launcher", "local"},
      {"resume", "never"},
      {"max_failures", 0},
      {"limit_batches", options.batches},
      {"check", Map{{"folder", folder}, {"batches", options.batches}, {"wait_s", options.wait_s}}},
  };
  if (options.num_workers) flags.set("num_workers", *options.num_workers);
  if (!options.gpus.empty()) flags.set("gpus", options.gpus);
  return flags;
}

Value checked(const CheckOptions& options) {
  const TemporaryFolder folder;
  State state;
  add_host_modules(state);
  lua_getfield(state, LUA_REGISTRYINDEX, "_LOADED");
  push_value(state, flags_of(options, folder.path()));
  lua_setfield(state, -2, "rtrain._flags");
  lua_pop(state, 1);
  {
    const OutputToStderr redirected;
    run_file(state, options.file, unmarked(options.args));
  }
  push_module_function(state, "rtrain.check.document", "of");
  push_value(state, folder.path());
  push_value(state, options.file);
  protected_call(state, 2, 1);
  return to_value(state, -1, "what was checked");
}

std::string shape_text(const Value& shape) {
  if (!shape.is_list()) return "";
  std::vector<std::string> sizes;
  for (const Value& size : shape.as_list()) sizes.push_back(cat(size.as_int()));
  return cat("(", join(sizes, ", "), ")");
}

void print_model(const Value& model) {
  if (!model.is_map()) {
    std::cout << "\nno model: prepare_model was not called\n";
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Value& layer : model["layers"].as_list()) {
    const std::string& name = layer["name"].as_string();
    rows.push_back({name.empty() ? "(model)" : name, layer["class"].as_string(),
                    shape_text(layer["output_shape"]), cat(layer["parameters"].as_int())});
  }
  std::cout << "\n";
  print_table({{.header = "LAYER", .key = true},
               {.header = "CLASS"},
               {.header = "OUTPUT"},
               {.header = "PARAMETERS", .right = true}},
              rows);
  std::cout << "\n"
            << counted(static_cast<size_t>(model["parameters"].as_int()), "parameter") << ", "
            << model["trainable"].as_int() << " of them trained\n";
}

void print_memory(const Value& memory) {
  if (!memory.is_map()) return;
  int64_t total = 0;
  std::vector<std::string> parts;
  for (const char* name : {"parameters", "gradients", "optimizer", "buffers", "activations"}) {
    const int64_t bytes = memory[name].as_int();
    total += bytes;
    parts.push_back(cat(name, " ", human_size(bytes)));
  }
  std::cout << "memory of a rank's training, estimated: " << human_size(total) << " ("
            << join(parts, ", ") << ")\n";
}

void print_ranks(const Value& ranks) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& rank : ranks.as_list()) {
    rows.push_back({cat(rank["rank"].as_int()),
                    rank["device"].is_nil() ? "" : rank["device"].as_string(),
                    cat(rank["batches"].as_int()), cat(rank["forward"].as_int()),
                    cat(rank["backward"].as_int()), human_size(rank["peak_bytes"].as_int())});
  }
  std::cout << "\n";
  print_table({{.header = "RANK", .right = true, .key = true},
               {.header = "DEVICE"},
               {.header = "BATCHES", .right = true},
               {.header = "FORWARD", .right = true},
               {.header = "BACKWARD", .right = true},
               {.header = "PEAK OF PROCESS", .right = true}},
              rows);
}

void run_check(const CheckOptions& options) {
  outlive_readers();
  const Value document = checked(options);
  if (options.json) return print_json(document);
  std::cout << options.file << " works: " << counted(document["ranks"].as_list().size(), "rank")
            << ", loops of at most " << options.batches
            << (options.batches == 1 ? " batch" : " batches") << "\n";
  print_model(document["model"]);
  print_memory(document["memory"]);
  print_ranks(document["ranks"]);
}

}  // namespace

void add_check(Parser& parser) {
  auto options = std::make_shared<CheckOptions>();
  Command command = parser.command(
      "check", "Try a training script out: two batches on every rank; no run is recorded");
  command.argument("FILE", &options->file, "training script that calls fit()").required();
  command.option("-n,--num-workers", &options->num_workers, "workers; default: as the script says")
      .at_least(0)
      .value_name("N");
  command
      .option("--set", &options->set,
              "a value of train_loop_config, a.b=VALUE for a nested one; repeatable")
      .repeatable()
      .value_name("KEY=VALUE");
  command.option("--gpus", &options->gpus, "as for rtrain run")
      .value_name("all|N")
      .offers({.words = {"all"}});
  command
      .option("--batches", &options->batches,
              "every loop over a loader or dataset shard ends after N batches, the train function "
              "at its Nth report (default 2)")
      .value_name("N")
      .within(1, 1000000);
  command
      .option("--wait", &options->wait_s,
              "seconds that the train function may take until its first batch (default 30)")
      .value_name("SECONDS")
      .within(1, 86400);
  command.flag("--json", &options->json, "one JSON document");
  command.argument("ARGS", &options->args, "after --: the script's own arguments");
  command.footer(
      "The model is the first that prepare_model is given. What the script prints goes to stderr;\n"
      "its reports, checkpoints and callbacks are dropped.\n"
      "Keys of --json: script, num_workers, model (class, parameters, trainable, layers: name,\n"
      "class, output_shape, parameters of its own), memory (bytes: parameters, gradients,\n"
      "optimizer, buffers, activations), ranks (rank, device, batches, forward, backward: passes\n"
      "of training, peak_bytes of the process)\n"
      "Exit codes: 0 it works; 1 the script fails, or calls no fit() or loops over no loader; 2\n"
      "wrong usage; 3 wrong configuration; 6 no loader within --wait");
  command.action([options] { run_check(*options); });
}

}  // namespace rtrain
