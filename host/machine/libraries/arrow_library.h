// host/machine/libraries/arrow_library.h: finding the libarrow and libparquet that
// librtrain_arrow.so will run on, in the places of library_search.h ($RTRAIN_ARROW). Looks at files
// only; loads nothing.
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

// The refusal: every place with its finding, and the remedy.
std::string arrow_library_refusal(const ArrowLibrarySearch& search);

}  // namespace rtrain::machine
