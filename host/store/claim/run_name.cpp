#include "host/store/claim/run_name.h"

#include <algorithm>

#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

constexpr size_t kMaxBytes = 200;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

}  // namespace

std::string run_name_problem(const std::string& name) {
  if (name.empty()) return "it is empty";
  if (name.size() > kMaxBytes) {
    return cat("it has ", name.size(), " bytes, ", kMaxBytes, " are allowed");
  }
  if (name.front() == '.' || name.front() == '-') {
    return cat("it begins with '", name.substr(0, 1), "'");
  }
  if (name.find('/') != std::string::npos) return "it has a '/', and is a folder's name";
  if (name == "last") return "commands call the newest run that";
  if (name.starts_with(kBestOf)) return "commands call the best run of a metric that";
  if (name.starts_with("rtrain.db")) return "the store's own files have such names";
  const bool has_control = std::any_of(name.begin(), name.end(), &is_control);
  return has_control ? "it has a line break, or another control character" : "";
}

}  // namespace rtrain::store
