#include "host/machine/libraries/arrow_library.h"

#include <charconv>
#include <filesystem>

#include "host/base/text/text.h"

#ifndef RTRAIN_BUILD_ARROW
#define RTRAIN_BUILD_ARROW ""
#endif

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

// Arrow is binary compatible only within the number after ".so.", which is 100 * major + minor.
constexpr const char* kArrow = "libarrow.so.2600";
constexpr const char* kParquet = "libparquet.so.2600";
constexpr const char* kVersion = "26.0";

// "libarrow.so.2500" → "25.0"; empty for other names.
std::string version_of(const std::string& file) {
  constexpr std::string_view kPrefix = "libarrow.so.";
  int number = 0;
  if (!file.starts_with(kPrefix)) return {};
  const char* end = file.data() + file.size();
  const auto parsed = std::from_chars(file.data() + kPrefix.size(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return {};
  return cat(number / 100, ".", number % 100);
}

std::string other_version(const fs::path& path) {
  std::error_code ignored;
  for (const char* below : {".", "pyarrow"}) {
    for (const auto& entry : fs::directory_iterator(path / below, ignored)) {
      const std::string version = version_of(entry.path().filename().string());
      if (!version.empty()) return version;
    }
  }
  return {};
}

// Looks at a path that may be the folder with the libraries or the parent of pyarrow/.
LibraryProbe probe(const fs::path& path, ArrowLibrary& out) {
  const fs::path lib = folder_with(path, {".", "pyarrow"}, kArrow);
  if (lib.empty()) {
    const std::string other = other_version(path);
    return {false,
            other.empty() ? cat("no ", kArrow) : cat("version ", other, ", need ", kVersion)};
  }
  if (folder_with(lib, {"."}, kParquet).empty()) {
    return {false, cat(kArrow, ", but no ", kParquet, " next to it")};
  }
  out = ArrowLibrary{lib.string(), kVersion, ""};
  return {true, cat("version ", kVersion)};
}

}  // namespace

ArrowLibrarySearch find_arrow_library() {
  return find_library({"RTRAIN_ARROW", RTRAIN_BUILD_ARROW, "pyarrow"}, &probe);
}

std::string arrow_library_refusal(const ArrowLibrarySearch& search) {
  return library_refusal(cat("Apache Arrow ", kVersion), search.places) +
         "\nParquet, CSV, JSON and Arrow files need it. Install it with scripts/setup or `pip "
         "install pyarrow==26.0.1`, or set RTRAIN_ARROW to the folder that holds libarrow.so.2600";
}

}  // namespace rtrain::machine
