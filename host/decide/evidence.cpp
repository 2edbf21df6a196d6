#include "host/decide/evidence.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace rtrain::decide {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"NOOP", "DIAGNOSE", "REATTEMPT", "EVICT"};

}  // namespace

std::string_view action_name(HealthAction action) { return kNames.at(static_cast<size_t>(action)); }

std::optional<HealthAction> action_from_name(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<HealthAction>(found - kNames.begin());
}

HealthAction Evidence::default_action() const {
  return is_conclusive ? HealthAction::kEvict : HealthAction::kNoop;
}

Value Evidence::to_value() const {
  return Map{{"node", node},
             {"host", host},
             {"kind", kind},
             {"text", text},
             {"is_conclusive", is_conclusive},
             {"rank", rank < 0 ? Value() : Value(rank)},
             {"is_preflight", is_preflight},
             {"default", action_name(default_action())}};
}

}  // namespace rtrain::decide
