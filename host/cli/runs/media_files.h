// host/cli/runs/media_files.h: what train.log_image and its like recorded, as files.
#pragma once

#include <set>
#include <string>

#include "host/store/read/run_table.h"
#include "host/store/runs/media_store.h"

namespace rtrain {

class MediaFiles {
 public:
  // The folder is made. Error(kEnvironment).
  explicit MediaFiles(std::string folder, CsvFormulas formulas = CsvFormulas::kKept);

  // Writes it and returns the path: <name>-<step>-rank<rank>.png, .json, .csv or .txt, the name
  // with '_' for what a file's name should not have. Never two to the same path.
  std::string write(const MediaRow& row, const std::string& content);

 private:
  std::string path_of(const MediaRow& row);

  std::string folder_;
  CsvFormulas formulas_;
  std::set<std::string> written_;
};

}  // namespace rtrain
