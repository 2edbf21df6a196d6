#include "host/machine/libraries/library_search.h"

#include <algorithm>
#include <cstdlib>

#include "host/base/text/text.h"

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the Python environment in whose bin/ pip has installed the executable; "" if it is in
// none, or in the system's, which is looked at last.
fs::path environment_of(const fs::path& own_folder) {
  const fs::path prefix = own_folder.parent_path();
  std::error_code ignored;
  const bool is_environment = own_folder.filename() == "bin" && prefix != "/usr" &&
                              prefix != "/usr/local" && fs::exists(prefix / "lib", ignored);
  return is_environment ? prefix : fs::path();
}

class Search {
 public:
  Search(const LibraryKind& kind, const std::function<LibraryProbe(const fs::path&)>& probe)
      : kind_(kind), probe_(probe) {}

  LibrarySearch<LibraryPlace> run() {
    // An explicit choice is final: falling back to another one would hide a mistake.
    if (const std::string chosen = env(kind_.variable); !chosen.empty()) {
      look(chosen, kind_.variable);
      return std::move(result_);
    }
    std::error_code ignored;
    const fs::path own_folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    const std::string home = env("HOME");
    const bool over = look(kind_.recorded, "recorded at build") ||
                      look(own_folder / "lib", "next to the executable") ||
                      look_in_python(environment_of(own_folder), "environment of the executable") ||
                      look_in_python(env("VIRTUAL_ENV"), "VIRTUAL_ENV") ||
                      look_in_python(env("CONDA_PREFIX"), "CONDA_PREFIX") ||
                      (!home.empty() && look_in_python(home + "/.local", "user")) ||
                      look_in_python("/usr/local", "system") || look_in_python("/usr", "system");
    static_cast<void>(over);
    return std::move(result_);
  }

 private:
  // Returns true when the search is over.
  bool look(const fs::path& path, const std::string& source) {
    if (path.empty()) return false;
    LibraryProbe probe = probe_(path);
    result_.places.push_back({path.string(), source, std::move(probe.finding)});
    if (probe.usable) result_.found = result_.places.back();
    return probe.usable;
  }

  // Looks at every such package below the site-packages folders of the prefix.
  bool look_in_python(const fs::path& prefix, const std::string& source) {
    if (prefix.empty()) return false;
    const fs::path package = kind_.python_package;
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored)) {
      if (!entry.path().filename().string().starts_with("python")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path folder = entry.path() / packages / package;
        if (fs::exists(folder, ignored)) found.push_back(folder);
      }
    }
    std::sort(found.rbegin(), found.rend());
    if (found.empty()) {
      const fs::path pattern = prefix / "lib/python*/site-packages" / package;
      result_.places.push_back({pattern.string(), source, "not there"});
    }
    return std::any_of(found.begin(), found.end(),
                       [&](const fs::path& path) { return look(path, source); });
  }

  const LibraryKind& kind_;
  const std::function<LibraryProbe(const fs::path&)>& probe_;
  LibrarySearch<LibraryPlace> result_;
};

}  // namespace

LibrarySearch<LibraryPlace> search_library(
    const LibraryKind& kind, const std::function<LibraryProbe(const fs::path&)>& probe) {
  return Search(kind, probe).run();
}

fs::path folder_with(const fs::path& folder, std::initializer_list<const char*> below,
                     const char* file) {
  for (const char* part : below) {
    const fs::path candidate = (folder / part).lexically_normal();
    std::error_code ignored;
    if (!fs::exists(candidate / file, ignored)) continue;
    const fs::path absolute = fs::absolute(candidate, ignored);
    return absolute.has_filename() ? absolute : absolute.parent_path();
  }
  return {};
}

std::string library_refusal(std::string_view what, const std::vector<LibraryPlace>& places) {
  std::string out = cat("no usable ", what, " found. Looked at:");
  for (const LibraryPlace& place : places) {
    out += cat("\n  ", place.path, " (", place.source, "): ", place.finding);
  }
  return out;
}

}  // namespace rtrain::machine
