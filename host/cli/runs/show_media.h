// host/cli/runs/show_media.h: rtrain show RUN --media: images, videos, audio, histograms, tables
// and texts of a run.
#pragma once

#include <string>

#include "host/cli/screen/listing.h"
#include "host/store/read/run_table.h"

namespace rtrain::cli {

struct MediaOutput {
  std::string folder;  // folder for files: .png, .json, .csv, .txt; or empty
  store::CsvFormulas formulas = store::CsvFormulas::kKept;  // in the .csv files
  std::string images;  // as for picture_form (host/cli/screen/pictures.h)
};

// Lists all media and shows those of the newest step.
void show_media(const ListingOptions& options, store::OpenRun& run, const MediaOutput& output);

}  // namespace rtrain::cli
