// host/machine/libraries/tree_library.h: finds the libraries of gradient-boosted trees that the Lua
// modules of the same names call, in the places of library_search.h ($RTRAIN_XGBOOST,
// $RTRAIN_LIGHTGBM). Only looks at files; loads nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/machine/libraries/library_search.h"

namespace rtrain::machine {

struct TreeLibraryKind {
  const char* name;          // "xgboost": the Lua module, and the folder in site-packages
  const char* title;         // "XGBoost"
  const char* variable;      // "RTRAIN_XGBOOST"
  const char* file;          // "libxgboost.so"
  const char* version_file;  // "VERSION", next to lib/
  const char* version;       // "3.": the beginning of a suitable version
  const char* wheel;         // pip's name of it: "xgboost-cpu"
};

struct TreeLibrary {
  std::string file;     // the library itself
  std::string version;  // "3.2.0"; empty if no file has it
  std::string source;   // LibraryPlace::source
};

using TreeLibrarySearch = LibrarySearch<TreeLibrary>;

std::span<const TreeLibraryKind> tree_library_kinds();

TreeLibrarySearch find_tree_library(const TreeLibraryKind& kind);

// Returns "pip install 'xgboost-cpu>=3,<4', or set RTRAIN_XGBOOST to the folder that holds
// libxgboost.so".
std::string tree_library_mend(const TreeLibraryKind& kind);

// Returns the library that the Lua module of that name calls. Throws Error(kEnvironment) with every
// searched place, its finding and the remedy; Error(kInternal) for another name.
TreeLibrary require_tree_library(std::string_view name);

}  // namespace rtrain::machine
