#include "host/store/runs/diagnosis.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <vector>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

constexpr std::string_view kAttempt = "-attempt-";
// Length of a time such as "20261122-015900.123".
constexpr size_t kTimeSize = 19;

std::string folder_of(const std::string& run_path) { return run_path + "/diag"; }

// Newest first.
std::vector<std::string> names_in(const std::string& run_path) {
  std::vector<std::string> out;
  if (!path_exists(folder_of(run_path))) return out;
  for (std::string& name : folder_entries(folder_of(run_path))) {
    if (name.find(kAttempt) == kTimeSize) out.push_back(std::move(name));
  }
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

std::string time_of(const std::string& name) {
  const auto part = [&](size_t at, size_t count) { return name.substr(at, count); };
  return cat(part(0, 4), "-", part(4, 2), "-", part(6, 2), "T", part(9, 2), ":", part(11, 2), ":",
             part(13, 6), "Z");
}

int64_t attempt_of(std::string_view name) {
  const std::string_view digits = name.substr(kTimeSize + kAttempt.size());
  int64_t out = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

Map without_threads(const Value& rank) {
  Map out;
  for (const char* key : {"rank", "pid", "state", "phase", "lua", "collectives"}) {
    out.set(key, rank[key]);
  }
  return out;
}

Map read_diagnosis(const std::string& run_path, const std::string& name) {
  const std::string folder = cat(folder_of(run_path), "/", name);
  const Value stacks = from_json(read_text_beneath(run_path, folder + "/stacks.json"));
  List ranks;
  for (const Value& rank : stacks.as_list()) {
    ranks.push_back(without_threads(rank));
  }
  return {{"name", name},
          {"time", time_of(name)},
          {"attempt", attempt_of(name)},
          {"verdict", std::string(trim(read_text_beneath(run_path, folder + "/verdict.txt")))},
          {"ranks", std::move(ranks)}};
}

}  // namespace

size_t count_diagnoses(const std::string& run_path) { return names_in(run_path).size(); }

List read_diagnoses(const std::string& run_path, size_t most) {
  List out;
  for (const std::string& name : names_in(run_path)) {
    if (out.size() == most) break;
    try {
      out.push_back(read_diagnosis(run_path, name));
    } catch (const Error&) {
      continue;  // still being written, or removed
    }
  }
  return out;
}

}  // namespace rtrain::store
