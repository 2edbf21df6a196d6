// rtrain import PATH…: imports runs from TensorBoard's event files and CSV tables.
#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/shell_word.h"
#include "host/base/text/text.h"
#include "host/cli/parser/command.h"
#include "host/cli/runs/import_events.h"
#include "host/cli/screen/listing.h"
#include "host/store/files/file.h"
#include "host/store/import/imported_csv.h"
#include "host/store/import/imported_run.h"

namespace rtrain::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> paths;
  std::string storage;
  std::string format;
  std::string name;
  std::string step;
  std::string note;
  std::vector<std::string> tags;
};

bool has_events(const std::string& path, const Options& options) {
  if (!options.format.empty()) return options.format == "tensorboard";
  return fs::is_directory(path) ||
         fs::path(path).filename().string().find("tfevents") != std::string::npos;
}

// Returns the modification time of the file.
int64_t time_of(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return now_ms();
  constexpr int64_t kMsPerSecond = 1000;
  return int64_t{facts.st_mtim.tv_sec} * kMsPerSecond;
}

// Reads a table. Its errors name the file.
store::ImportedCsv read_table(const std::string& path, const store::CsvOptions& options) {
  const std::string text = store::read_text(path);
  try {
    return store::read_imported_csv(text, options);
  } catch (const Error& e) {
    constexpr std::string_view kWho = "import: ";
    std::string_view what = e.message();
    if (what.starts_with(kWho)) what.remove_prefix(kWho.size());
    throw Error(e.code(), cat(kWho, path, ": ", what));
  }
}

// Returns the runs of a table. With --name, the only run of a table gets that name.
std::vector<store::ImportedRun> runs_of_table(const std::string& path, const Options& options) {
  const store::CsvOptions csv{
      .name = options.name.empty() ? fs::path(path).stem().string() : options.name,
      .step_column = options.step,
      .time_ms = time_of(path)};
  store::ImportedCsv table = read_table(path, csv);
  std::vector<store::ImportedRun> out = std::move(table.runs);
  if (!options.name.empty() && out.size() > 1) {
    throw Error(Code::kUsage, cat("import: --name is for one run, and ", path, " has ",
                                  counted(out.size(), "run")));
  }
  if (!options.name.empty()) out.front().name = options.name;
  if (!table.text_columns.empty()) {
    std::cerr << "rtrain: " << path << ": text, which has no curve, in the column"
              << (table.text_columns.size() == 1 ? " " : "s ") << join(table.text_columns, ", ")
              << "\n";
  }
  return out;
}

std::vector<store::ImportedRun> runs_at(const std::string& path, const Options& options) {
  if (!store::path_exists(path)) throw Error(Code::kUsage, cat("import: there is no ", path));
  std::vector<store::ImportedRun> out = has_events(path, options)
                                            ? read_imported_events(path, options.name)
                                            : runs_of_table(path, options);
  for (store::ImportedRun& run : out) {
    run.note =
        options.note.empty() ? cat("imported from ", store::absolute_path(path)) : options.note;
    run.tags = options.tags;
    run.command = {"rtrain", "import", path};
  }
  return out;
}

void import_runs(const Options& options) {
  std::vector<store::ImportedRun> runs;
  for (const std::string& path : options.paths) {
    for (store::ImportedRun& run : runs_at(path, options)) runs.push_back(std::move(run));
  }
  ListingOptions listing;
  listing.storage = options.storage;
  store::add_imported_runs(listing.storage_path(), runs);
  for (const store::ImportedRun& run : runs) {
    std::cout << "imported " << run.name << ", "
              << (run.reports.empty() ? cat(run.series.size(), " logged series")
                                      : counted(run.reports.size(), "report"))
              << "\n";
  }
  if (runs.size() == 1) {
    std::cerr << "rtrain show " << shell_word(runs.front().name) << "\n";
  }
}

}  // namespace

void add_import(Parser& parser) {
  auto options = std::make_shared<Options>();
  Command command =
      parser.command("import", "Make runs of TensorBoard's event files or CSV tables");
  command
      .argument("PATH", &options->paths,
                "an event file, a folder with some, or a CSV file; several are several runs")
      .required();
  command.option("--format", &options->format, "tensorboard or csv (else what the name says)")
      .value_name("FORMAT")
      .one_of({"tensorboard", "csv"});
  command.option("--name", &options->name, "the run's name (else the folder's or the file's)")
      .value_name("NAME");
  command.option("--step", &options->step, "the column of a CSV file that numbers the reports")
      .value_name("COLUMN");
  command.option("--tag", &options->tags, "a tag for the runs")
      .value_name("TAG")
      .repeatable()
      .check(&new_tag_error);
  command.option("--note", &options->note, "a note (else where they come from)").value_name("TEXT");
  command.option("--storage", &options->storage,
                 "folder of the store (else $RTRAIN_STORAGE, else ~/rtrain_results)");
  command.footer(
      "Of a folder each folder below it that has event files is a run: a/b is called a-b. A step\n"
      "is a report, numbered by it, with a metric for each tag.\n"
      "A CSV file is what `rtrain export` wrote, also with --series, or a table with a row for\n"
      "each step: its number in the column step, Step, global_step, _step or index (else rows are\n"
      "counted), its time in time, wall_time, timestamp, and a metric in each other column: of\n"
      "val/loss the one in a map. Rows of one step are one report. A ';' or a tab may separate\n"
      "cells. Empty ones, None, NA and null have no value; nan is NaN. Columns with text are\n"
      "named: they have no curve.\n"
      "All runs are imported, or none.");
  command.action([options] { import_runs(*options); });
}

}  // namespace rtrain::cli
