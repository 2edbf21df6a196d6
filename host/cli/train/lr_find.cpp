#include "host/cli/train/lr_find.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/screen/chart_file.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/listing.h"
#include "host/machine/terminal_size.h"
#include "host/plot/terminal_chart.h"

namespace rtrain::cli {
namespace {

plot::Chart chart_of(const Value& steps) {
  plot::Curve curve{.name = "loss", .points = {}, .faint = {}};
  for (const Value& step : steps.as_list()) {
    curve.points.push_back({step["lr"].as_float(), step["smoothed"].as_float()});
    curve.faint.push_back({step["lr"].as_float(), step["loss"].as_float()});
  }
  return {.title = "loss, averaged", .x_label = "learning rate", .log_x = true, .curves = {curve}};
}

void print_chart(const plot::Chart& chart) {
  constexpr size_t kRows = 16;
  plot::ChartSize size{.rows = kRows};
  if (const auto terminal = machine::terminal_size(STDOUT_FILENO)) size.columns = terminal->columns;
  for (const std::string& line : plot::terminal_chart(chart, size, wants_colour())) {
    std::cout << line << "\n";
  }
}

}  // namespace

void find_lr(const TryoutOptions& tryout, const LrOptions& options) {
  if (options.min_lr >= options.max_lr) {
    throw Error(Code::kUsage,
                cat("--min-lr ", options.min_lr, " is not below --max-lr ", options.max_lr));
  }
  if (!options.output.empty()) check_chart_path(options.output);
  const Value document = try_out(
      tryout,
      {.command = "check",
       .probe = "lr_probe",
       .document = "lr_find",
       .asked = {{"steps", options.steps}, {"min_lr", options.min_lr}, {"max_lr", options.max_lr}},
       .limit_batches = {}});
  const plot::Chart chart = chart_of(document["steps"]);
  if (!options.output.empty()) write_chart(chart, options.output);
  if (tryout.json) return print_json(document);
  print_chart(chart);
  std::cout << "\nthe loss falls fastest at a learning rate of "
            << human_number(document["suggestion"]) << " ("
            << counted(document["steps"].as_list().size(), "step") << " from "
            << human_number(options.min_lr) << " to " << human_number(options.max_lr) << ")\n";
}

void add_lr_options(Command& command, LrOptions& options, std::optional<Option> needed) {
  Option steps = command.option("--steps", &options.steps, "--lr: steps of the optimizer (100)");
  steps.value_name("N").within(20, 1000000);
  Option min_lr = command.option("--min-lr", &options.min_lr, "--lr: of the first step (1e-8)");
  min_lr.value_name("LR").within(1e-30, 1e30);
  Option max_lr = command.option("--max-lr", &options.max_lr, "--lr: of the last step (1)");
  max_lr.value_name("LR").within(1e-30, 1e30);
  Option output = command.option("-o,--output", &options.output,
                                 "--lr: draw the losses into this file, .svg or .png");
  output.value_name("FILE");
  if (!needed) return;
  for (Option* option : {&steps, &min_lr, &max_lr, &output}) option->needs(*needed);
}

}  // namespace rtrain::cli
