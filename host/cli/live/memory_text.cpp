#include "host/cli/live/memory_text.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/cli/screen/listing.h"
#include "host/plot/terminal_chart.h"
#include "host/store/files/file.h"

namespace rtrain::cli {
namespace {

constexpr size_t kShownLines = 12;

std::string size_of(const Value& row, const char* key) { return human_size(row[key].as_int()); }

std::string growth_text(int64_t bytes) {
  return cat(bytes < 0 ? "-" : "+", human_size(std::abs(bytes)));
}

std::string head_text(const Value& profile, const Value& device) {
  const int64_t begin = device["begin_bytes"].as_int();
  const int64_t end = device["end_bytes"].as_int();
  return cat("rank ", profile["rank"].as_int(), ", ", device["device"].as_string(),
             ": tensors have ", human_size(end), ", ", growth_text(end - begin), " in ",
             human_duration(profile["seconds"].as_float()), ", at most ",
             size_of(device, "peak_bytes"), "; ", size_of(device, "new_bytes"),
             " of it are new, the script can reach ", size_of(device, "reachable_bytes"), "\n");
}

std::string curve_text(const Value& device) {
  constexpr double kMega = 1e6;
  plot::Curve curve{.name = "MB", .points = {}};
  for (const Value& point : device["curve"].as_list()) {
    curve.points.push_back(
        {point.as_list().at(0).as_float(), point.as_list().at(1).as_float() / kMega});
  }
  if (curve.points.size() < 2) return "";
  const plot::Chart chart{
      .title = "memory of tensors, MB", .x_label = "s", .curves = {std::move(curve)}};
  std::string out;
  for (const std::string& line : plot::terminal_chart(chart, {.columns = 72, .rows = 10}, false)) {
    out += line + "\n";
  }
  return out;
}

std::string place_text(const Value& row) {
  const std::string& place = row["line"].as_string();
  return place.empty() ? "(no line)" : place;
}

std::string kinds_text(const Value& line) {
  std::vector<std::string> out;
  for (const Value& kind : line["kinds"].as_list()) {
    out.push_back(cat(kind["count"].as_int(), " x ", kind["kind"].as_string()));
  }
  return join(out, ", ");
}

std::string table_text(const std::string& title, const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string out = title + "\n";
  for (const std::string& line : table_of(columns, rows, kAnyWidth).lines) out += line + "\n";
  return out;
}

std::string lines_text(const Value& device) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& line : device["lines"].as_list()) {
    if (rows.size() == kShownLines) break;
    rows.push_back({size_of(line, "bytes"), cat(line["count"].as_int()),
                    size_of(line, "peak_bytes"), size_of(line, "taken_bytes"), place_text(line),
                    kinds_text(line)});
  }
  return table_text("made meanwhile, by the line that made it:",
                    {{.header = "has", .right = true},
                     {.header = "tensors", .right = true},
                     {.header = "at the peak", .right = true},
                     {.header = "took", .right = true},
                     {.header = "line"},
                     {.header = "of them", .fills = true}},
                    rows);
}

std::string made_text(const Value& tensor) {
  if (tensor["older"].as_bool()) return "(before)";
  return place_text(tensor);
}

std::string tensors_text(const Value& device) {
  std::vector<std::vector<std::string>> rows;
  for (const Value& tensor : device["tensors"].as_list()) {
    if (rows.size() == kShownLines) break;
    rows.push_back({size_of(tensor, "bytes"), tensor["kind"].as_string(), made_text(tensor),
                    tensor["name"].as_string()});
  }
  return table_text("the largest tensors that the script can reach:",
                    {{.header = "has", .right = true},
                     {.header = "tensor"},
                     {.header = "made"},
                     {.header = "name", .fills = true}},
                    rows);
}

}  // namespace

Value read_memory_report(const std::string& path) {
  try {
    return from_json(store::read_text(path));
  } catch (const Error& e) {
    throw Error(Code::kEnvironment, cat(path, ": ", e.message()));
  }
}

std::string memory_text(const Value& profile) {
  std::string out;
  for (const Value& device : profile["devices"].as_list()) {
    out += cat(head_text(profile, device), curve_text(device), lines_text(device),
               tensors_text(device));
  }
  return out;
}

}  // namespace rtrain::cli
