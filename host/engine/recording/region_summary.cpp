#include "host/engine/recording/region_summary.h"

#include <algorithm>
#include <string_view>

namespace rtrain::engine {
namespace {

constexpr size_t kMostNames = 4;
constexpr std::string_view kNamespace = "aten::";

// The operators' names, each once.
std::vector<std::string> names_of(const Record& record, const std::vector<int>& calls) {
  std::vector<std::string> out;
  for (const int call : calls) {
    std::string name = record.calls[static_cast<size_t>(call)].op.operator_name().name;
    if (name.starts_with(kNamespace)) name.erase(0, kNamespace.size());
    name.erase(0, name.find_first_not_of('_'));
    if (name.ends_with('_')) name.pop_back();
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace

RegionSummary summary_of(const Record& record, const std::vector<int>& calls) {
  const std::vector<std::string> names = names_of(record, calls);
  std::string name = "fused";
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) name += "_" + names[i];
  if (names.size() > kMostNames) name += "_and_more";
  return {.name = std::move(name),
          .line = record.calls[static_cast<size_t>(calls.front())].line,
          .num_calls = static_cast<int>(calls.size())};
}

}  // namespace rtrain::engine
