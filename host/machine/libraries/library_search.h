// host/machine/libraries/library_search.h: looks for a library that rtrain needs but does not hold,
// wherever machines have it. Looks at files only; loads nothing.
//
// Order: the environment variable, the folder recorded at build time, lib/ next to the executable,
// then Python environments (the one that the executable is installed in, $VIRTUAL_ENV,
// $CONDA_PREFIX, the user's and the system's site-packages).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::machine {

// A place that was looked at, and the finding: "no libtorch_cpu.so", "version 2.9.1, need 2.11".
struct LibraryPlace {
  std::string path;
  std::string source;  // why we looked: "RTRAIN_LIBTORCH", "recorded at build", "VIRTUAL_ENV", …
  std::string finding;
};

struct LibraryKind {
  const char* variable;        // an explicit choice, and final
  const char* recorded;        // folder; "" for none
  const char* python_package;  // its folder in site-packages
};

// The content of a place.
struct LibraryProbe {
  bool usable = false;
  std::string finding;
};

template <class Found>
struct LibrarySearch {
  std::optional<Found> found;
  std::vector<LibraryPlace> places;  // all that were looked at, in order
};

LibrarySearch<LibraryPlace> search_library(
    const LibraryKind& kind,
    const std::function<LibraryProbe(const std::filesystem::path& folder)>& probe);

// The same for a Library that the probe describes, when it is usable, and that has its `source`.
template <class Library>
LibrarySearch<Library> find_library(const LibraryKind& kind,
                                    LibraryProbe (*probe)(const std::filesystem::path& folder,
                                                          Library& out)) {
  Library library;
  auto search = search_library(
      kind, [&](const std::filesystem::path& folder) { return probe(folder, library); });
  if (!search.found) return {std::nullopt, std::move(search.places)};
  library.source = search.found->source;
  return {std::move(library), std::move(search.places)};
}

// The folder among `folder` and these below it that holds the file; empty without one. Absolute.
std::filesystem::path folder_with(const std::filesystem::path& folder,
                                  std::initializer_list<const char*> below, const char* file);

// The refusal: `what` was not found, every place with its finding.
std::string library_refusal(std::string_view what, const std::vector<LibraryPlace>& places);

}  // namespace rtrain::machine
