// host/machine/libraries/tree_library.h: finding the libraries of gradient-boosted trees that the
// Lua modules of their names call, in the places of library_search.h ($RTRAIN_XGBOOST,
// $RTRAIN_LIGHTGBM). Looks at files only; loads nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/machine/libraries/library_search.h"

namespace rtrain::machine {

struct TreeLibraryKind {
  const char* name;          // "xgboost": of the Lua module, and of its folder in site-packages
  const char* title;         // "XGBoost"
  const char* variable;      // "RTRAIN_XGBOOST"
  const char* file;          // "libxgboost.so"
  const char* version_file;  // "VERSION", next to lib/
  const char* version;       // "3.": how a version must begin
  const char* wheel;         // the name for pip: "xgboost-cpu"
};

struct TreeLibrary {
  std::string file;     // the library itself
  std::string version;  // "3.2.0"; empty where no file says it
  std::string source;   // LibraryPlace::source
};

using TreeLibrarySearch = LibrarySearch<TreeLibrary>;

std::span<const TreeLibraryKind> tree_library_kinds();

TreeLibrarySearch find_tree_library(const TreeLibraryKind& kind);

// "pip install 'xgboost-cpu>=3,<4', or set RTRAIN_XGBOOST to the folder that holds libxgboost.so".
std::string tree_library_mend(const TreeLibraryKind& kind);

// The library that the Lua module of that name calls. Throws Error, code environment, with every
// place with its finding, and the remedy; code internal for another name.
TreeLibrary require_tree_library(std::string_view name);

}  // namespace rtrain::machine
