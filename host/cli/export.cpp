// rtrain export RUN…: what runs reported and logged, for other programs.
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/cli/command.h"
#include "host/cli/listing.h"
#include "host/cli/parquet_file.h"
#include "host/store/event_file.h"
#include "host/store/file.h"
#include "host/store/run_table.h"

namespace rtrain {
namespace {

// Without --json, whose place --format has.
struct Options {
  ListingOptions listing;
  std::vector<std::string> runs;
  std::vector<std::string> tags;
  std::string format = "csv";
  std::string output;
  bool series = false;
};

std::vector<RunRef> runs_of(RunReader& reader, const Options& options) {
  std::vector<RunRef> runs = options.listing.find_runs(options.runs);
  for (RunRef& run : tagged_runs(reader, options.tags)) runs.push_back(std::move(run));
  if (!runs.empty()) return runs;
  throw Error(Code::kUsage, options.tags.empty() ? std::string("export: give a RUN, or --tag TAG")
                                                 : no_tagged_run(reader, options.tags));
}

// To the file, or to stdout where none was named.
void write_text(const Options& options, const std::string& text) {
  if (options.output.empty() || options.output == "-") {
    std::cout << text;
    return;
  }
  write_output(options.output, text);
  std::cerr << "wrote " << options.output << "\n";
}

// As `rtrain metrics --json`, with the run's name.
std::string json_lines(RunReader& reader, const std::vector<RunRef>& runs, bool series) {
  std::string out;
  const auto add = [&out](Map line, const Value& row) {
    for (const auto& [key, value] : row.as_map()) line.set(key, value);
    out += to_json(line) + "\n";
  };
  for (const RunRef& run : runs) {
    if (!series) {
      for (const Value& row : reader.metrics(run, false, false)) add(Map{{"run", run.name}}, row);
      continue;
    }
    for (const std::string& key : reader.series_names(run)) {
      for (const Value& row : reader.series(run, key, false)) {
        add(Map{{"run", run.name}, {"key", key}}, row);
      }
    }
  }
  return out;
}

// Reports at their index, and below "logged/" what train.log recorded under a reported name.
std::string events_of(RunReader& reader, const RunRef& run) {
  const std::vector<std::string> logged = reader.series_names(run);
  const std::vector<std::string> names = reader.curve_names(run);
  std::optional<EventFile> file;
  const auto add = [&file](const std::string& tag, const std::vector<SeriesPoint>& points) {
    for (const SeriesPoint& point : points) {
      if (!file) file.emplace(point.time_ms);
      file->add_scalar(tag, point.step, point.time_ms, point.value);
    }
    return !points.empty();
  };
  for (const std::string& name : names) {
    const bool taken = add(name, reader.reported(run, name, 0));
    const std::vector<SeriesPoint> points = reader.logged(run, name, 0);
    if (!points.empty()) add(taken ? cat("logged/", name) : name, points);
  }
  return file ? file->bytes() : EventFile(0).bytes();
}

void write_events(RunReader& reader, const std::vector<RunRef>& runs, const std::string& folder) {
  for (const RunRef& run : runs) {
    const std::string place = cat(folder, "/", run.name);
    make_folders(absolute_path(place));
    write_output(cat(place, "/events.out.tfevents.0.rtrain"), events_of(reader, run));
  }
  std::cerr << "wrote " << folder << ": tensorboard --logdir " << folder << "\n";
}

void export_runs(const Options& options) {
  const bool is_text = options.format == "csv" || options.format == "json";
  if (!is_text && options.output.empty()) {
    throw Error(Code::kUsage, cat("export --format ", options.format, ": say -o ",
                                  options.format == "parquet" ? "FILE" : "FOLDER"));
  }
  std::optional<RunReader> reader = options.listing.reader();
  if (!reader) throw Error(Code::kUsage, "export: there are no runs yet");
  const std::vector<RunRef> runs = runs_of(*reader, options);
  if (options.format == "tensorboard") return write_events(*reader, runs, options.output);
  if (options.format == "json") {
    return write_text(options, json_lines(*reader, runs, options.series));
  }
  const RunTable table = options.series ? series_table(*reader, runs) : report_table(*reader, runs);
  if (options.format == "csv") return write_text(options, csv_text(table));
  write_parquet(table, options.output);
  std::cerr << "wrote " << options.output << "\n";
}

}  // namespace

void add_export(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command(
      "export", "Write what runs reported as CSV, JSON lines, Parquet or TensorBoard events");
  add_runs_argument(command, options->runs);
  command.option("--tag", &options->tags, "also all runs with this tag (all of several)")
      .value_name("TAG")
      .repeatable();
  command
      .option("--format", &options->format,
              "csv (default), json (JSON lines), parquet, or tensorboard (a folder)")
      .value_name("FORMAT")
      .one_of({"csv", "json", "parquet", "tensorboard"});
  command
      .option("-o,--output", &options->output,
              "this file or folder; csv and json go to stdout without it")
      .value_name("PATH");
  command.flag("--series", &options->series,
               "what train.log recorded instead; tensorboard has both");
  command
      .option("--storage", &options->listing.storage,
              "folder or URI of the store (else $RTRAIN_STORAGE, else ~/rtrain_results)")
      .value_name("FOLDER");
  command.footer(
      "A row for each report: run, index, attempt, time, and a column for each metric; in JSON\n"
      "lines the metrics are a map, as in `rtrain metrics --json`. With --series a row for each\n"
      "point: run, key, rank, step, time, value. Values are exact, but for TensorBoard's, which\n"
      "are 32 bit floats.");
  command.action([options] { export_runs(*options); });
}

}  // namespace rtrain
