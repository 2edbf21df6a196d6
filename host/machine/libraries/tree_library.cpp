#include "host/machine/libraries/tree_library.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "host/base/error.h"
#include "host/base/text/text.h"

#ifndef RTRAIN_BUILD_LIBTORCH
#define RTRAIN_BUILD_LIBTORCH ""
#endif

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKinds = {
    TreeLibraryKind{"xgboost", "XGBoost", "RTRAIN_XGBOOST", "libxgboost.so", "VERSION", "3.",
                    "xgboost-cpu"},
    TreeLibraryKind{"lightgbm", "LightGBM", "RTRAIN_LIGHTGBM", "lib_lightgbm.so", "VERSION.txt",
                    "4.", "lightgbm"},
};

// Returns the first word of the file; "" if it does not exist.
std::string version_in(const fs::path& file) {
  std::ifstream in(file);
  std::string version;
  in >> version;
  return version;
}

// Looks at a path that may be the library's folder, the package's, or the parent of that.
LibraryProbe probe(const TreeLibraryKind& kind, const fs::path& path, TreeLibrary& out) {
  const std::string inside = cat(kind.name, "/lib");
  const fs::path lib = folder_with(path, {".", "lib", inside.c_str()}, kind.file);
  if (lib.empty()) return {false, cat("no ", kind.file)};
  const std::string version = version_in(lib.parent_path() / kind.version_file);
  if (!version.empty() && !version.starts_with(kind.version)) {
    return {false, cat("version ", version, ", need ", kind.version, "x")};
  }
  out = TreeLibrary{(lib / kind.file).string(), version, ""};
  return {true, version.empty() ? "no file that says its version" : cat("version ", version)};
}

// Returns the package next to the LibTorch of the build, if that is in a Python environment.
std::string recorded(const TreeLibraryKind& kind) {
  const fs::path libtorch = RTRAIN_BUILD_LIBTORCH;
  if (libtorch.empty()) return {};
  const fs::path folder = libtorch.parent_path().parent_path() / kind.name;
  std::error_code ignored;
  return fs::exists(folder, ignored) ? folder.string() : std::string();
}

}  // namespace

std::span<const TreeLibraryKind> tree_library_kinds() { return kKinds; }

TreeLibrarySearch find_tree_library(const TreeLibraryKind& kind) {
  TreeLibrary library;
  const std::string folder = recorded(kind);
  auto search = search_library({kind.variable, folder.c_str(), kind.name},
                               [&](const fs::path& path) { return probe(kind, path, library); });
  if (!search.found) return {std::nullopt, std::move(search.places)};
  library.source = search.found->source;
  return {std::move(library), std::move(search.places)};
}

std::string tree_library_mend(const TreeLibraryKind& kind) {
  const int major = kind.version[0] - '0';
  return cat("pip install '", kind.wheel, ">=", major, ",<", major + 1, "', or set ", kind.variable,
             " to the folder that holds ", kind.file);
}

TreeLibrary require_tree_library(std::string_view name) {
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const TreeLibraryKind& each) { return name == each.name; });
  RT_CHECK(kind != kKinds.end());
  const TreeLibrarySearch search = find_tree_library(*kind);
  if (search.found) return *search.found;
  throw Error(Code::kEnvironment,
              cat(library_refusal(cat(kind->title, " ", kind->version, "x"), search.places),
                  "\nInstall it: ", tree_library_mend(*kind)));
}

}  // namespace rtrain::machine
