// host/decide/slow/straggler_policy.h: what is done about a rank that slows the others down. Pure.
#pragma once

#include <array>
#include <string_view>

#include "host/base/codec/record.h"
#include "host/decide/slow/straggler.h"

namespace rtrain::decide {

// FailureConfig.straggler.
enum class StragglerPolicy { kWarn, kIgnore, kEvict, kRebalance };

enum class StragglerAction {
  kNone,
  kTell,     // the user is warned
  kReplace,  // and another process takes the rank's place, where train.elastic can do that
  kEvict,    // and the rank's node is not used any more
};

// `may_evict`: the run has other nodes than the rank's, and can do without that one.
StragglerAction straggler_action(StragglerPolicy policy, const Straggler& found, bool may_evict);

}  // namespace rtrain::decide

template <>
inline constexpr std::array<std::string_view, 4> rtrain::kNamesOf<rtrain::decide::StragglerPolicy>{
    "warn", "ignore", "evict", "rebalance"};
