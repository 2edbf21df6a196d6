// host/cli/show_media.h: rtrain show RUN --media: images, histograms, tables and texts of a run.
#pragma once

#include <string>

#include "host/cli/listing.h"

namespace rtrain {

// All of them as a list, and those of the newest step. With a folder they are written
// into it as files: .png, .json, .csv, .txt.
// `images`: as picture_form (host/cli/pictures.h) takes it.
void show_media(const ListingOptions& options, OpenRun& run, const std::string& folder,
                const std::string& images);

}  // namespace rtrain
