#include "host/base/libtorch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/base/text.h"

#ifndef RTRAIN_BUILD_LIBTORCH
#define RTRAIN_BUILD_LIBTORCH ""
#endif

namespace rtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWantedVersion = "2.11.";
// The build-id of libtorch_cpu.so and the commit of the builds rtrain was tested with.
constexpr std::string_view kTestedCommit = "70d99e998b4955e0049d13a98d77ae1b14db1f45";

// The text between the quotes of the line `name = '…'` or `name: … = '…'` of version.py.
std::string version_field(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const size_t equals = line.find('=');
    const size_t open = line.find('\'', equals);
    const size_t close = line.find('\'', open + 1);
    if (equals == std::string::npos || close == std::string::npos) continue;
    return line.substr(open + 1, close - open - 1);
  }
  return {};
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The folder with libtorch_cpu.so for a path that may be that folder, torch/, or the parent of
// torch/.
fs::path lib_folder(const fs::path& path) {
  for (const char* below : {".", "lib", "torch/lib"}) {
    const fs::path candidate = (path / below).lexically_normal();
    std::error_code ignored;
    if (fs::exists(candidate / "libtorch_cpu.so", ignored)) {
      const fs::path absolute = fs::absolute(candidate, ignored);
      return absolute.has_filename() ? absolute : absolute.parent_path();
    }
  }
  return {};
}

class Search {
 public:
  // Returns true when the search is over.
  bool look(const fs::path& path, const std::string& source) {
    if (path.empty()) return false;
    const fs::path lib = lib_folder(path);
    if (lib.empty()) return note(path, source, "no libtorch_cpu.so");
    const std::string text = read_file(lib.parent_path() / "version.py");
    const std::string version = version_field(text, "__version__");
    if (version.empty())
      return note(path, source, "libtorch_cpu.so, but no torch/version.py beside lib/");
    if (!version.starts_with(kWantedVersion)) {
      return note(path, source, cat("version ", version, ", need ", kWantedVersion, "x"));
    }
    const bool tested = version_field(text, "git_version") == kTestedCommit;
    if (!tested && std::getenv("RTRAIN_LIBTORCH_ANY") == nullptr) {
      return note(path, source,
                  cat("version ", version,
                      ", a build that rtrain was not tested with "
                      "(RTRAIN_LIBTORCH_ANY=1 takes it all the same)"));
    }
    note(path, source, cat("version ", version));
    result_.found = LibTorch{lib.string(), version, version_field(text, "cuda"), source};
    return true;
  }

  // Every torch/ below the site-packages folders of the prefix.
  bool look_in_python(const fs::path& prefix, const std::string& source) {
    if (prefix.empty()) return false;
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored)) {
      if (!entry.path().filename().string().starts_with("python")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        if (fs::exists(entry.path() / packages / "torch", ignored)) {
          found.push_back(entry.path() / packages / "torch");
        }
      }
    }
    std::sort(found.rbegin(), found.rend());
    if (found.empty()) return note(prefix / "lib/python*/site-packages/torch", source, "not there");
    return std::any_of(found.begin(), found.end(),
                       [&](const fs::path& p) { return look(p, source); });
  }

  LibTorchSearch take() { return std::move(result_); }

 private:
  bool note(const fs::path& path, const std::string& source, std::string finding) {
    result_.places.push_back({path.string(), source, std::move(finding)});
    return false;
  }

  LibTorchSearch result_;
};

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

LibTorchSearch find_libtorch() {
  Search search;
  // An explicit choice is final: falling back to another LibTorch would hide a mistake.
  if (const std::string chosen = env("RTRAIN_LIBTORCH"); !chosen.empty()) {
    search.look(chosen, "RTRAIN_LIBTORCH");
    return search.take();
  }
  std::error_code ignored;
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string home = env("HOME");
  const bool over = search.look(RTRAIN_BUILD_LIBTORCH, "recorded at build") ||
                    search.look(beside / "lib", "beside the executable") ||
                    search.look_in_python(env("VIRTUAL_ENV"), "VIRTUAL_ENV") ||
                    search.look_in_python(env("CONDA_PREFIX"), "CONDA_PREFIX") ||
                    (!home.empty() && search.look_in_python(home + "/.local", "user")) ||
                    search.look_in_python("/usr/local", "system") ||
                    search.look_in_python("/usr", "system");
  static_cast<void>(over);
  return search.take();
}

std::string libtorch_refusal(const LibTorchSearch& search) {
  std::string out = cat("no usable LibTorch ", kWantedVersion, "x found. Looked at:");
  for (const LibTorchPlace& place : search.places) {
    out += cat("\n  ", place.path, " (", place.source, "): ", place.finding);
  }
  out +=
      "\nInstall it with scripts/setup or `pip install torch==2.11.0`, or set RTRAIN_LIBTORCH to "
      "the "
      "folder that holds lib/libtorch_cpu.so";
  return out;
}

}  // namespace rtrain
