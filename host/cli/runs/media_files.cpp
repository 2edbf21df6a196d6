#include "host/cli/runs/media_files.h"

#include <utility>

#include "host/base/codec/json.h"
#include "host/base/text/text.h"
#include "host/cli/screen/listing.h"
#include "host/store/files/file.h"
#include "host/store/read/run_table.h"

namespace rtrain::cli {
namespace {

std::string file_name(std::string_view name) {
  constexpr size_t kLongest = 150;
  std::string out;
  for (const char c : name.substr(0, kLongest)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                          (c == '.' && !out.empty());
    out += is_plain ? c : '_';
  }
  return out;
}

std::string ending_of(std::string_view kind) {
  if (kind == "image" || kind == "video") return ".png";
  if (kind == "audio") return ".wav";
  if (kind == "histogram") return ".json";
  return kind == "table" ? ".csv" : ".txt";
}

std::string csv_of(const Value& stored, store::CsvFormulas formulas) {
  std::string out = store::csv_line(stored["columns"].as_list(), formulas);
  for (const Value& row : stored["rows"].as_list()) out += store::csv_line(row.as_list(), formulas);
  return out;
}

}  // namespace

MediaFiles::MediaFiles(std::string folder, store::CsvFormulas formulas)
    : folder_(std::move(folder)), formulas_(formulas) {
  store::make_folders(store::absolute_path(folder_));
}

std::string MediaFiles::path_of(const store::MediaRow& row) {
  const std::string begin =
      cat(folder_, "/", file_name(row.name), "-", row.step, "-rank", row.rank);
  std::string path = begin + ending_of(row.kind);
  for (int n = 2; !written_.insert(path).second; ++n) {
    path = cat(begin, "-", n, ending_of(row.kind));
  }
  return path;
}

std::string MediaFiles::write(const store::MediaRow& row, const std::string& content) {
  std::string path = path_of(row);
  write_output(path, row.kind == "table" ? csv_of(from_json(content), formulas_) : content);
  return path;
}

}  // namespace rtrain::cli
