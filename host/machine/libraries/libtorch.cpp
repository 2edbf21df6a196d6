#include "host/machine/libraries/libtorch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

#include "host/base/text/text.h"

#ifndef RTRAIN_BUILD_LIBTORCH
#define RTRAIN_BUILD_LIBTORCH ""
#endif
#ifndef RTRAIN_ENGINE_MINORS
#error "the build says which minors of LibTorch there are engines for, \"2.11 2.15\""
#endif

namespace rtrain::machine {
namespace {

namespace fs = std::filesystem;

// The releases of PyTorch that rtrain was tested with.
struct Release {
  std::string_view version;
  std::string_view commit;
};
constexpr Release kTested[] = {
    {"2.11.0", "70d99e998b4955e0049d13a98d77ae1b14db1f45"},
    {"2.12.0", "7661cd9c6b841b62b7f411aa52ec51f05457263b"},
    {"2.12.1", "7269437d655783a26cba32aa88195b741ff496aa"},
    {"2.13.0", "cf30153c4c131c8164ee7798e5022d810682e2cb"},
    {"2.14.0", "08187d9e0fba026dc8217405802ab5381dc88d90"},
    {"2.14.1", "5c4886908584029761b579af026dcfb627c84070"},
    {"2.15.0", "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e"},
};

constexpr size_t kCommitDigits = 7;

// Returns the text in quotes of the line `name = '…'` or `name: … = '…'` of version.py.
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

// Returns "2.15.1" of "2.15.1+cu130"; "" for a build that is not a release: "2.15.0a0+git0123456".
std::string_view release_of(std::string_view version) {
  const std::string_view release = version.substr(0, version.find('+'));
  return release.find_first_not_of("0123456789.") == std::string_view::npos ? release : "";
}

// Whether PyTorch has built this release. A later release of a minor version is accepted too, since
// it keeps the minor's interface. A build with a known release's name but another commit is a
// user's own build.
bool is_release(std::string_view version, std::string_view commit) {
  const std::string_view release = release_of(version);
  const auto* known = std::ranges::find(kTested, release, &Release::version);
  return known != std::end(kTested) ? known->commit == commit : !release.empty();
}

// Looks at a path that may be the folder with libtorch_cpu.so, torch/, or the parent of torch/.
LibraryProbe probe(const fs::path& path, LibTorch& out) {
  const fs::path lib = folder_with(path, {".", "lib", "torch/lib"}, "libtorch_cpu.so");
  if (lib.empty()) return {false, "no libtorch_cpu.so"};
  const std::string text = read_file(lib.parent_path() / "version.py");
  const std::string version = version_field(text, "__version__");
  if (version.empty()) return {false, "libtorch_cpu.so, but no torch/version.py next to lib/"};
  const std::string minor = version.substr(0, version.find('.', version.find('.') + 1));
  if (std::ranges::find(engine_minors(), minor) == engine_minors().end()) {
    return {false, cat("version ", version, ", need ", engine_minors_text())};
  }
  const std::string commit = version_field(text, "git_version");
  if (!is_release(version, commit) && std::getenv("RTRAIN_LIBTORCH_ANY") == nullptr) {
    return {false, cat("version ", version,
                       ", a build other than PyTorch's releases (RTRAIN_LIBTORCH_ANY=1 takes it "
                       "all the same)")};
  }
  const bool is_tested = std::ranges::find(kTested, commit, &Release::commit) != std::end(kTested);
  out = LibTorch{.lib = lib.string(),
                 .version = version,
                 .minor = minor,
                 .cuda = version_field(text, "cuda"),
                 .commit = commit,
                 .is_tested = is_tested,
                 .source = ""};
  return {true, cat("version ", version)};
}

}  // namespace

LibTorchSearch find_libtorch() {
  return find_library({"RTRAIN_LIBTORCH", RTRAIN_BUILD_LIBTORCH, "torch"}, &probe);
}

std::string libtorch_build() {
  const LibTorchSearch search = find_libtorch();
  if (!search.found) return {};
  return cat(search.found->version, ", commit ", search.found->commit.substr(0, kCommitDigits));
}

const std::vector<std::string>& engine_minors() {
  static const std::vector<std::string> minors = split(RTRAIN_ENGINE_MINORS, ' ');
  return minors;
}

std::string engine_minors_text() {
  const std::span<const std::string> minors = engine_minors();
  if (minors.size() == 1) return minors.back();
  return cat(join(minors.first(minors.size() - 1), ", "), " or ", minors.back());
}

std::string libtorch_install_command() {
  return cat("pip install torch~=", engine_minors().back(), ".0");
}

std::string libtorch_refusal(const LibTorchSearch& search) {
  return cat(library_refusal(cat("LibTorch ", engine_minors_text()), search.places),
             "\nInstall it with `", libtorch_install_command(),
             "`, or set RTRAIN_LIBTORCH to the folder that holds lib/libtorch_cpu.so");
}

}  // namespace rtrain::machine
