// host/machine/libraries/library_search.h: looks for a library that rtrain needs but does not
// contain, in the usual places. Only looks at files; loads nothing.
//
// Order: the environment variable, the folder recorded at build time, lib/ next to the executable,
// then Python environments (the one that contains the executable, $VIRTUAL_ENV, $CONDA_PREFIX, the
// user's and the system's site-packages).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rtrain::machine {

// A searched place and its finding: "no libtorch_cpu.so", "version 2.9.1, need 2.11".
struct LibraryPlace {
  std::string path;
  std::string source;  // why: "RTRAIN_LIBTORCH", "recorded at build", "VIRTUAL_ENV", …
  std::string finding;
};

struct LibraryKind {
  const char* variable;        // names the only place if it is set
  const char* recorded;        // folder; "" for none
  const char* python_package;  // its folder in site-packages
};

// What a probe has found in a place.
struct LibraryProbe {
  bool usable = false;
  std::string finding;
};

template <class Found>
struct LibrarySearch {
  std::optional<Found> found;
  std::vector<LibraryPlace> places;  // all searched places, in order
};

LibrarySearch<LibraryPlace> search_library(
    const LibraryKind& kind,
    const std::function<LibraryProbe(const std::filesystem::path& folder)>& probe);

// As above, for a Library that the probe fills in when it is usable, and that has a `source`.
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

// Returns the folder, of `folder` and these below it, that has the file; "" without one. Absolute.
std::filesystem::path folder_with(const std::filesystem::path& folder,
                                  std::initializer_list<const char*> below, const char* file);

// Returns the message that `what` was not found, with every searched place and its finding.
std::string library_refusal(std::string_view what, const std::vector<LibraryPlace>& places);

}  // namespace rtrain::machine
