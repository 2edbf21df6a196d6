#include "host/cli/train/estimate.h"

#include <iostream>

#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/screen/listing.h"

namespace rtrain::cli {
namespace {

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

void print_strategies(const Value& document) {
  std::vector<std::vector<std::string>> lines;
  for (const Value& row : document["strategies"].as_list()) {
    const Value& least = row["least_workers"];
    lines.push_back({row["strategy"].as_string(), row["formula"].as_string(),
                     human_size(row["total"].as_int()),
                     least.is_nil() ? "none" : cat(least.as_int(), " or more")});
  }
  const auto workers = static_cast<size_t>(document["num_workers"].as_int());
  std::cout << "\n"
            << document["dtype"].as_string() << ", " << counted(workers, "worker")
            << " (N); every total has the buffers and the activations too\n\n";
  print_table({{.header = "STRATEGY", .key = true},
               {.header = "MEMORY"},
               {.header = "TOTAL", .right = true},
               {.header = "WORKERS THAT FIT", .right = true}},
              lines);
}

}  // namespace

void estimate(const TryoutOptions& options, double memory_gb) {
  constexpr double kGigabyte = 1e9;
  Map asked{{"batches", 1}};
  if (memory_gb > 0) {
    asked.set("memory_bytes", static_cast<int64_t>(memory_gb * kGigabyte));
  }
  const Value document = try_out(options, {.command = "check",
                                           .probe = "model_probe",
                                           .document = "estimate",
                                           .asked = asked,
                                           .limit_batches = 1});
  if (options.json) return print_json(document);
  std::cout << document["model"].as_string() << ", "
            << counted(static_cast<size_t>(document["parameters"].as_int()), "parameter")
            << ", batches of " << document["batch_size"].as_int() << " on each rank\n\n";
  print_rows(document["rows"], memory_gb > 0);
  if (memory_gb > 0) print_strategies(document);
}

}  // namespace rtrain::cli
