// rtrain lr-find FILE: trains with a learning rate that grows with each step, and says at which one
// the loss falls fastest; no run is recorded.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/screen/chart_file.h"
#include "host/cli/screen/colour.h"
#include "host/cli/screen/listing.h"
#include "host/cli/train/tryout.h"
#include "host/machine/terminal_size.h"
#include "host/plot/terminal_chart.h"

namespace rtrain {
namespace {

struct LrFindOptions : TryoutOptions {
  int64_t steps = 100;
  double min_lr = 1e-8;
  double max_lr = 1;
  std::string output;
};

Chart chart_of(const Value& steps) {
  Curve curve{.name = "loss", .points = {}, .faint = {}};
  for (const Value& step : steps.as_list()) {
    curve.points.push_back({step["lr"].as_float(), step["smoothed"].as_float()});
    curve.faint.push_back({step["lr"].as_float(), step["loss"].as_float()});
  }
  return {.title = "loss, averaged", .x_label = "learning rate", .log_x = true, .curves = {curve}};
}

void print_chart(const Chart& chart) {
  constexpr size_t kRows = 16;
  ChartSize size{.rows = kRows};
  if (const auto terminal = terminal_size(STDOUT_FILENO)) size.columns = terminal->columns;
  for (const std::string& line : terminal_chart(chart, size, wants_colour())) {
    std::cout << line << "\n";
  }
}

void find(const LrFindOptions& options) {
  if (options.min_lr >= options.max_lr) {
    throw Error(Code::kUsage, cat("lr-find: --min-lr ", options.min_lr, " is not below --max-lr ",
                                  options.max_lr));
  }
  if (!options.output.empty()) check_chart_path(options.output);
  const Value document = try_out(
      options,
      {.command = "lr-find",
       .probe = "lr_probe",
       .document = "lr_find",
       .asked = {{"steps", options.steps}, {"min_lr", options.min_lr}, {"max_lr", options.max_lr}},
       .limit_batches = {}});
  const Chart chart = chart_of(document["steps"]);
  if (!options.output.empty()) write_chart(chart, options.output);
  if (options.json) return print_json(document);
  print_chart(chart);
  std::cout << "\nthe loss falls fastest at a learning rate of "
            << human_number(document["suggestion"]) << " ("
            << counted(document["steps"].as_list().size(), "step") << " from "
            << human_number(options.min_lr) << " to " << human_number(options.max_lr) << ")\n";
}

}  // namespace

void add_lr_find(Parser& parser) {
  auto options = std::make_shared<LrFindOptions>();
  Command command = parser.command(
      "lr-find", "Find a learning rate: train with one that grows; no run is recorded");
  add_tryout_options(command, *options);
  command.option("--steps", &options->steps, "steps of the optimizer (default 100)")
      .value_name("N")
      .within(20, 1000000);
  command.option("--min-lr", &options->min_lr, "of the first step (default 1e-8)")
      .value_name("LR")
      .within(1e-30, 1e30);
  command.option("--max-lr", &options->max_lr, "of the last step (default 1)")
      .value_name("LR")
      .within(1e-30, 1e30);
  command.option("-o,--output", &options->output, "draw the losses into this file, .svg or .png")
      .value_name("FILE");
  command.footer(
      "The learning rate of every step() is set, whatever the script's schedule says; groups of "
      "an\n"
      "optimizer keep their ratio. The loss is the number that backward() begins with, of rank 0.\n"
      "The search ends at four times the smallest averaged loss. What the script prints goes to\n"
      "stderr; its reports, checkpoints and callbacks are dropped.\n"
      "Keys of --json: script, suggestion, steps (lr, loss, smoothed)\n"
      "Exit codes: 0 found; 1 the script fails, makes too few steps, or no learning rate lowers "
      "the\n"
      "loss; 2 wrong usage; 3 wrong configuration; 6 no loader within --wait");
  command.action([options] { find(*options); });
}

}  // namespace rtrain
