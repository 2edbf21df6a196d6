#include "host/cli/runs/import_events.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "host/base/error.h"
#include "host/base/text/counted.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"
#include "host/store/import/event_records.h"

namespace rtrain::cli {
namespace {

namespace fs = std::filesystem;

bool is_event_file(const fs::path& path) {
  return path.filename().string().find("tfevents") != std::string::npos;
}

// Returns the event files by folder, sorted by name, and thus by time within a folder.
std::map<std::string, std::vector<std::string>> event_files(const std::string& path) {
  std::map<std::string, std::vector<std::string>> out;
  if (!fs::is_directory(path)) {
    out[fs::path(path).parent_path().string()].push_back(path);
    return out;
  }
  for (const auto& entry :
       fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied)) {
    if (entry.is_regular_file() && is_event_file(entry.path())) {
      out[entry.path().parent_path().string()].push_back(entry.path().string());
    }
  }
  for (auto& [folder, files] : out) std::sort(files.begin(), files.end());
  return out;
}

store::EventRecords records_of(const std::string& file) {
  try {
    return store::read_event_records(store::read_text(file));
  } catch (const Error& e) {
    if (e.code() != Code::kArgument) throw;
    throw Error(Code::kUsage, cat("import: ", file, ": ", e.message()));
  }
}

// Returns a report for each step. Its time is that of the step's last scalar.
std::vector<Report> reports_of(const std::vector<std::string>& files) {
  std::map<int64_t, Report> by_step;
  for (const std::string& file : files) {
    const store::EventRecords records = records_of(file);
    size_t num_without_tag = 0;
    if (records.is_cut) {
      std::cerr << "rtrain: " << file << " ends within a record, which is left out\n";
    }
    for (const store::EventScalar& scalar : records.scalars) {
      if (scalar.step < 0) {
        throw Error(Code::kUsage, cat("import: ", file, ": step ", scalar.step, " is below 0"));
      }
      if (scalar.tag.empty()) {
        ++num_without_tag;
        continue;
      }
      Report& report = by_step[scalar.step];
      report.attempt = 1;
      report.index = scalar.step;
      report.time_ms = std::max(report.time_ms, scalar.time_ms);
      if (!report.metrics.is_map()) report.metrics = Map{};
      report.metrics.as_map().set(scalar.tag, scalar.value);
    }
    if (num_without_tag > 0) {
      std::cerr << "rtrain: " << file << " has " << counted(num_without_tag, "scalar")
                << " with an empty tag: a metric needs a name, so they are left out\n";
    }
  }
  std::vector<Report> out;
  for (auto& [step, report] : by_step) out.push_back(std::move(report));
  return out;
}

// Returns "a-b" for "runs/a/b" below "runs".
std::string name_of(const std::string& folder, const std::string& path, const std::string& name) {
  const std::string below = fs::path(folder).lexically_relative(path).string();
  if (!fs::is_directory(path) || below == "." || below.empty()) {
    if (!name.empty()) return name;
    const fs::path own = fs::path(store::absolute_path(fs::is_directory(path) ? path : folder));
    return own.filename().empty() ? own.parent_path().filename().string() : own.filename().string();
  }
  std::string out = name.empty() ? below : cat(name, "/", below);
  std::replace(out.begin(), out.end(), '/', '-');
  return out;
}

}  // namespace

std::vector<store::ImportedRun> read_imported_events(const std::string& path,
                                                     const std::string& name) {
  std::vector<store::ImportedRun> out;
  for (const auto& [folder, files] : event_files(path)) {
    store::ImportedRun run;
    run.reports = reports_of(files);
    if (run.reports.empty()) continue;
    run.name = name_of(folder, path, name);
    out.push_back(std::move(run));
  }
  if (!out.empty()) return out;
  throw Error(Code::kUsage, cat("import: no scalars of TensorBoard in ", path));
}

}  // namespace rtrain::cli
