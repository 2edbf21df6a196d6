// rtrain check FILE: runs two batches of a training script on every rank and reports the model's
// requirements; with --lr its learning rate, with --memory the memory of its training. No run is
// recorded.
#include <iostream>
#include <memory>
#include <optional>

#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/cli/train/estimate.h"
#include "host/cli/train/lr_find.h"
#include "host/cli/train/tryout.h"

namespace rtrain::cli {
namespace {

struct CheckOptions : TryoutOptions {
  int64_t batches = 2;
  bool lr = false;
  LrOptions lr_options;
  std::optional<double> memory_gb;
};

void print_model(const Value& model) {
  if (!model.is_map()) {
    std::cout << "\nno model: prepare_model was not called\n";
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const Value& layer : model["layers"].as_list()) {
    const std::string& name = layer["name"].as_string();
    rows.push_back({name.empty() ? "(model)" : name, layer["class"].as_string(),
                    human_shape(layer["output_shape"]), cat(layer["parameters"].as_int())});
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

void check(const CheckOptions& options) {
  const Value document = try_out(options, {.command = "check",
                                           .probe = "model_probe",
                                           .document = "check",
                                           .asked = {{"batches", options.batches}},
                                           .limit_batches = options.batches});
  if (options.json) return print_json(document);
  std::cout << options.file << " works: " << counted(document["ranks"].as_list().size(), "rank")
            << ", loops of at most " << options.batches
            << (options.batches == 1 ? " batch" : " batches") << "\n";
  print_model(document["model"]);
  print_memory(document["memory"]);
  print_ranks(document["ranks"]);
}

void run_check(const CheckOptions& options) {
  if (options.lr) return find_lr(options, options.lr_options);
  if (options.memory_gb) return estimate(options, *options.memory_gb);
  check(options);
}

}  // namespace

void add_check(Parser& parser) {
  auto options = std::make_shared<CheckOptions>();
  Command command = parser.command(
      "check", "Try a training script out: two batches on every rank, its learning rate, memory");
  add_tryout_options(command, *options);
  Option batches = command.option(
      "--batches", &options->batches,
      "every loop over a loader or dataset shard ends after N batches, the train function at its "
      "Nth report, without a loader after N steps of its optimizer (default 2)");
  batches.value_name("N").within(1, 1000000);
  Option lr = command.flag("--lr", &options->lr,
                           "find a learning rate: train with one that grows with each step");
  lr.excludes(batches);
  add_lr_options(command, options->lr_options, lr);
  command
      .option("--memory", &options->memory_gb,
              "the memory of the training by dtype, and the largest batch for a device of GB, on "
              "one rank; how many workers fit with each strategy of prepare_model")
      .value_name("GB")
      .within(0.001, 1e6)
      .excludes(batches)
      .excludes(lr);
  command.footer(
      "The model is the first that prepare_model is given. What the script prints goes to stderr;\n"
      "its reports, checkpoints and callbacks are dropped; no run is recorded.\n"
      "Keys of --json: script, num_workers, model (class, parameters, trainable, layers: name,\n"
      "class, output_shape, parameters of its own), memory (bytes: parameters, gradients,\n"
      "optimizer, buffers, activations), ranks (rank, device, batches: without a loader steps of\n"
      "the optimizer, forward, backward: passes of training, peak_bytes of the process)\n"
      "\n"
      "--lr: the learning rate of every step() is set, whatever the script's schedule says; "
      "groups\n"
      "of an optimizer keep their ratio. The loss is the number that backward() begins with, of\n"
      "rank 0. The search ends at four times the smallest averaged loss.\n"
      "Keys of --json: script, suggestion, steps (lr, loss, smoothed)\n"
      "\n"
      "--memory: measured in one step of the script as it is: parameters, gradients, the\n"
      "optimizer's state, buffers, and the outputs of the layers, which backward() needs. The\n"
      "other dtypes are worked out: autocast has parameters and their gradients in float32, a "
      "cast\n"
      "of the parameters and half of the activations. A library's own work space, and what a\n"
      "script keeps, come on top. A strategy's memory is worked out from the whole model; what\n"
      "fsdp gathers comes on top: rtrain doc guide/models-larger-than-a-device.\n"
      "Keys of --json: script, model, parameters, batch_size, dtype, rows (dtype, parameters,\n"
      "gradients, optimizer, buffers, activations, total: bytes; largest_batch), num_workers,\n"
      "strategies (strategy, formula, total: bytes of a worker; least_workers, if any fit)\n"
      "\n"
      "Exit codes: 0 it works; 1 the script fails, calls no fit(), or has neither a loop over a\n"
      "loader nor a step of an optimizer, with --lr also when no learning rate lowers the loss;\n"
      "2 wrong usage; 3 wrong configuration; 6 no loader within --wait");
  command.action([options] { run_check(*options); });
}

}  // namespace rtrain::cli
