// host/machine/libraries/arrow_library.h: finds the libarrow and libparquet for librtrain_arrow.so,
// in the places of library_search.h ($RTRAIN_ARROW). Only looks at files; loads nothing.
#pragma once

#include <string>

#include "host/machine/libraries/library_search.h"

namespace rtrain::machine {

struct ArrowLibrary {
  std::string lib;      // folder that holds libarrow.so.2600 and libparquet.so.2600
  std::string version;  // "26.0"
  std::string source;   // LibraryPlace::source
};

using ArrowLibrarySearch = LibrarySearch<ArrowLibrary>;

ArrowLibrarySearch find_arrow_library();

// Returns the message for a search without success: every place with its finding, and the remedy.
std::string arrow_library_refusal(const ArrowLibrarySearch& search);

}  // namespace rtrain::machine
