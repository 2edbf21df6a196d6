// rtrain estimate FILE: the memory that training a script's model takes, by dtype; no run is
// recorded.
#include <iostream>
#include <memory>

#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/listing.h"
#include "host/cli/train/tryout.h"

namespace rtrain {
namespace {

struct EstimateOptions : TryoutOptions {
  double memory_gb = 0;  // 0: not asked
};

void print_rows(const Value& rows, bool with_batch) {
  std::vector<Column> columns{{.header = "DTYPE", .key = true}};
  for (const char* header :
       {"PARAMETERS", "GRADIENTS", "OPTIMIZER", "BUFFERS", "ACTIVATIONS", "TOTAL"}) {
    columns.push_back({.header = header, .right = true});
  }
  if (with_batch) columns.push_back({.header = "LARGEST BATCH", .right = true});
  std::vector<std::vector<std::string>> lines;
  for (const Value& row : rows.as_list()) {
    std::vector<std::string> line{row["dtype"].as_string()};
    for (const char* part :
         {"parameters", "gradients", "optimizer", "buffers", "activations", "total"}) {
      line.push_back(human_size(row[part].as_int()));
    }
    if (with_batch) {
      const Value& batch = row["largest_batch"];
      line.push_back(batch.is_nil() ? "any" : cat(batch.as_int()));
    }
    lines.push_back(std::move(line));
  }
  print_table(columns, lines);
}

void estimate(const EstimateOptions& options) {
  constexpr double kGigabyte = 1e9;
  Map asked{{"batches", 1}};
  if (options.memory_gb > 0) {
    asked.set("memory_bytes", static_cast<int64_t>(options.memory_gb * kGigabyte));
  }
  const Value document = try_out(options, {.command = "estimate",
                                           .probe = "model_probe",
                                           .document = "estimate",
                                           .asked = asked,
                                           .limit_batches = 1});
  if (options.json) return print_json(document);
  std::cout << document["model"].as_string() << ", "
            << counted(static_cast<size_t>(document["parameters"].as_int()), "parameter")
            << ", batches of " << document["batch_size"].as_int() << " on each rank\n\n";
  print_rows(document["rows"], options.memory_gb > 0);
}

}  // namespace

void add_estimate(Parser& parser) {
  auto options = std::make_shared<EstimateOptions>();
  Command command = parser.command(
      "estimate", "Estimate the memory of a model's training by dtype; no run is recorded");
  add_tryout_options(command, *options);
  command
      .option("--memory", &options->memory_gb,
              "a device's memory: also the largest batch that fits, on one rank")
      .value_name("GB")
      .within(0.001, 1e6);
  command.footer(
      "Measured in one step of the script as it is: parameters, gradients, the optimizer's state,\n"
      "buffers, and the outputs of the layers, which backward() needs. The other dtypes are "
      "worked\n"
      "out: autocast has parameters and their gradients in float32, a cast of the parameters and\n"
      "half of the activations. A library's own work space, and what a script keeps, come on top.\n"
      "Keys of --json: script, model, parameters, batch_size, dtype, rows (dtype, parameters,\n"
      "gradients, optimizer, buffers, activations, total: bytes; largest_batch with --memory)\n"
      "Exit codes: 0 done; 1 the script fails, or trains no model of prepare_model; 2 wrong "
      "usage;\n"
      "3 wrong configuration; 6 no loader within --wait");
  command.action([options] { estimate(*options); });
}

}  // namespace rtrain
