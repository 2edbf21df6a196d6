// rtrain export RUN…: exports reports and logs of runs for other programs.
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/new_file.h"
#include "host/base/files/new_file_buffer.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/base/time_reader.h"
#include "host/cli/parser/command.h"
#include "host/cli/runs/page_files.h"
#include "host/cli/runs/parquet_file.h"
#include "host/cli/screen/listing.h"
#include "host/dash/offline_page.h"
#include "host/store/files/file.h"
#include "host/store/import/event_file.h"
#include "host/store/read/report_rows.h"
#include "host/store/read/run_document.h"
#include "host/store/read/run_table.h"
#include "host/store/runs/media_store.h"
#include "host/store/series/series_store.h"
#include "host/track/run_events.h"
#include "host/track/run_sender.h"

namespace rtrain::cli {
namespace {

// Has no --json, because --format replaces it.
struct Options {
  ListingOptions listing;
  std::vector<std::string> runs;
  std::vector<std::string> tags;
  std::string format = "csv";
  std::string output;
  bool series = false;
  bool escape_formulas = false;
  bool html = false;
  bool mlflow = false;
};

std::vector<store::RunRef> runs_of(store::OpenStore& store, const Options& options) {
  std::vector<store::RunRef> runs = options.listing.find_runs(options.runs);
  for (store::RunRef& run : tagged_runs(store, options.tags)) runs.push_back(std::move(run));
  if (!runs.empty()) return runs;
  throw Error(Code::kUsage, options.tags.empty() ? std::string("export: give a RUN, or --tag TAG")
                                                 : no_tagged_run(store, options.tags));
}

// Writes to the file through `write`, piece by piece. On an error an older file stays unchanged.
template <class Write>
void write_file(const std::string& path, const Write& write) {
  NewFile file(path);
  NewFileBuffer buffer(file);
  std::ostream out(&buffer);
  write(out);
  out.flush();
  file.commit();
}

// Writes to the file, or to stdout if none was given.
template <class Write>
void write_text(const Options& options, const Write& write) {
  if (options.output.empty() || options.output == "-") {
    write(std::cout);
    return;
  }
  write_file(options.output, write);
  std::cerr << "wrote " << options.output << "\n";
}

// Writes the lines of `rtrain metrics --json`, with the run's name.
void write_json_lines(std::ostream& out, store::OpenStore& store,
                      const std::vector<store::RunRef>& runs, bool series) {
  for (const store::RunRef& run : runs) {
    if (!series) {
      store::each_report(store.database(), run.run_id, [&](const store::RankReport& report) {
        out << to_json(Map{{"run", run.name},
                           {"index", report.index},
                           {"attempt", report.attempt},
                           {"time", time_text(report.time_ms)},
                           {"metrics", report.metrics}})
            << '\n';
      });
      continue;
    }
    for (const std::string& key : store::series_keys(store.database(), run.run_id)) {
      const auto write = [&](const store::LoggedPoint& logged) {
        out << to_json(Map{{"run", run.name},
                           {"key", key},
                           {"step", logged.point.step},
                           {"time", time_text(logged.point.time_ms)},
                           {"rank", logged.rank},
                           {"value", logged.point.value}})
            << '\n';
      };
      store::each_valid_point(store.database(), run.run_id, key, std::nullopt, write);
    }
  }
}

// Of the file's first record.
int64_t began_ms(store::OpenStore& store, const store::RunRef& run) {
  return read_time(store::read_run(store, run)["started_at"].string_or("")).value_or(0);
}

// Writes reports in one pass, then the series and the media.
void write_events_of(std::ostream& out, store::OpenStore& store, const store::RunRef& run) {
  store::EventFile file(out, began_ms(store, run));
  track::RunEvents events(file);
  store::each_report(store.database(), run.run_id,
                     [&](const store::RankReport& report) { events.add(report); });
  for (const std::string& name : store::series_keys(store.database(), run.run_id)) {
    store::each_valid_point(
        store.database(), run.run_id, name, 0, [&](const store::LoggedPoint& logged) {
          events.add_point(name, logged.point.step, logged.point.time_ms, logged.point.value);
        });
  }
  for (const store::MediaRow& row : store::read_media(store.database(), run.run_id)) {
    events.add_media(row, store::read_media_content(store.database(), run.run_id, row.hash));
  }
}

void write_events(store::OpenStore& store, const std::vector<store::RunRef>& runs,
                  const std::string& folder) {
  for (const store::RunRef& run : runs) {
    const std::string place = cat(folder, "/", run.name);
    store::make_folders(store::absolute_path(place));
    write_file(cat(place, "/events.out.tfevents.0.rtrain"),
               [&](std::ostream& out) { write_events_of(out, store, run); });
  }
  std::cerr << "wrote " << folder << ": tensorboard --logdir " << folder << "\n";
}

void write_page(const Options& options, const std::vector<store::RunRef>& runs) {
  const dash::Api api(options.listing.storage_path());
  dash::OfflineOmissions omitted;
  write_text(options, [&](std::ostream& out) {
    omitted = dash::write_offline_page(out, api, runs, page_files());
  });
  const dash::OfflineLimits limits;
  if (omitted.curves > 0) {
    std::cerr << "rtrain: without " << counted(omitted.curves, "curve") << ": of a run the first "
              << limits.curves << " are in it\n";
  }
  if (omitted.media > 0) {
    std::cerr << "rtrain: without " << counted(omitted.media, "image or other content")
              << " of early steps: " << human_size(static_cast<int64_t>(limits.media_bytes))
              << " of them are in it\n";
  }
}

// Sends what the server does not have yet.
void send_to_mlflow(const std::string& storage, const std::vector<store::RunRef>& runs) {
  for (const store::RunRef& run : runs) {
    std::vector<Value> trackers = track::RunSender::trackers_of(run, "mlflow");
    if (trackers.empty()) trackers.emplace_back(Map{{"kind", "mlflow"}});
    for (const Value& tracker : trackers) {
      track::RunSender sender(storage, run.name, tracker);
      while (sender.send_next()) {
      }
      const bool has_ended = sender.has_ended() || sender.end();
      std::cerr << "sent " << counted(sender.sent(), "record") << " of " << run.name << " to "
                << sender.target() << (has_ended ? "" : "; the run goes on") << "\n";
      if (sender.refused() == 0) continue;
      throw Error(Code::kEnvironment, cat(counted(sender.refused(), "record"), " of ", run.name,
                                          " were refused: ", sender.refusal()));
    }
  }
}

void export_runs(const Options& options) {
  if (options.escape_formulas && (options.html || options.format != "csv")) {
    throw Error(Code::kUsage, "export --escape-formulas is for --format csv");
  }
  const bool is_text = options.format == "csv" || options.format == "json";
  if (!is_text && options.output.empty()) {
    throw Error(Code::kUsage, cat("export --format ", options.format, ": say -o ",
                                  options.format == "parquet" ? "FILE" : "FOLDER"));
  }
  std::optional<store::OpenStore> store = options.listing.open_store();
  if (!store) throw Error(Code::kUsage, "export: there are no runs yet");
  const std::vector<store::RunRef> runs = runs_of(*store, options);
  if (options.html) return write_page(options, runs);
  if (options.mlflow) return send_to_mlflow(options.listing.storage_path(), runs);
  if (options.format == "tensorboard") return write_events(*store, runs, options.output);
  if (options.format == "json") {
    return write_text(
        options, [&](std::ostream& out) { write_json_lines(out, *store, runs, options.series); });
  }
  const store::RunTable table =
      options.series ? store::series_table(*store, runs) : store::report_table(*store, runs);
  if (options.format == "csv") {
    const store::CsvFormulas formulas =
        options.escape_formulas ? store::CsvFormulas::kEscaped : store::CsvFormulas::kKept;
    return write_text(options, [&](std::ostream& out) { store::write_csv(table, out, formulas); });
  }
  write_parquet(table, options.output);
  std::cerr << "wrote " << options.output << "\n";
}

}  // namespace

void add_export(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command = parser.command("export",
                                   "Write what runs reported as CSV, JSON lines, Parquet, "
                                   "TensorBoard events, or as one HTML page");
  add_runs_argument(command, options->runs);
  command.option("--tag", &options->tags, "also all runs with this tag (all of several)")
      .value_name("TAG")
      .repeatable();
  const Option html = command.flag(
      "--html", &options->html, "the pages of `rtrain dash` about them as one file, for a browser");
  const Option mlflow =
      command
          .flag("--mlflow", &options->mlflow,
                "send them to MLflow's server (that of train.loggers.MLflow, else "
                "$MLFLOW_TRACKING_URI)")
          .excludes(html);
  command
      .option("--format", &options->format,
              "csv (default), json (JSON lines), parquet, or tensorboard (a folder)")
      .value_name("FORMAT")
      .one_of({"csv", "json", "parquet", "tensorboard"})
      .excludes(html)
      .excludes(mlflow);
  command
      .option("-o,--output", &options->output,
              "this file or folder; csv, json and --html go to stdout without it")
      .value_name("PATH");
  command
      .flag("--logged", &options->series,
            "what train.log recorded instead; tensorboard has both, and media")
      .excludes(html);
  command.old_flag("--series", &options->series, "--logged").excludes(html);
  command.flag("--escape-formulas", &options->escape_formulas,
               "in CSV: write a ' before a text that a spreadsheet would compute (= + - @)");
  command
      .option("--storage", &options->listing.storage,
              "folder or URI of the store (else $RTRAIN_STORAGE, else ~/rtrain_results)")
      .value_name("FOLDER");
  command.footer(
      "A row for each report: run, index, attempt, time, and a column for each metric; in JSON\n"
      "lines the metrics are a map, as in `rtrain metrics --json`. With --logged a row for each\n"
      "point: run, key, rank, step, time, value. Values are exact, but for TensorBoard's, which\n"
      "are 32 bit floats. --html needs no server and asks no network: `rtrain doc "
      "guide/dashboard`\n"
      "says what is in the file.");
  command.explain_errors(&reading_error);
  command.action([options] { export_runs(*options); });
}

}  // namespace rtrain::cli
