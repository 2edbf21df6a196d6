// host/cli/runs/media_files.h: writes media of train.log_image and similar functions to files.
#pragma once

#include <set>
#include <string>

#include "host/store/read/run_table.h"
#include "host/store/runs/media_store.h"

namespace rtrain::cli {

class MediaFiles {
 public:
  // Creates the folder. Throws Error(kEnvironment).
  explicit MediaFiles(std::string folder, store::CsvFormulas formulas = store::CsvFormulas::kKept);

  // Writes the file and returns its path: <name>-<step>-rank<rank>.png, .wav, .json, .csv or .txt,
  // with '_' for characters in the name that do not belong in file names. Paths are unique.
  std::string write(const store::MediaRow& row, const std::string& content);

 private:
  std::string path_of(const store::MediaRow& row);

  std::string folder_;
  store::CsvFormulas formulas_;
  std::set<std::string> written_;
};

}  // namespace rtrain::cli
