#include "host/decide/group_state.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rtrain::decide {
namespace {

constexpr std::array kPhaseNames = {"spawn", "hello", "engine_loaded", "group_ready", "running"};
constexpr std::array kErrorKinds = {"WorkerGroupError", "ControllerError", "PreemptionError"};

Map to_map(const Error& error) {
  return {{"code", code_name(error.code())},
          {"message", error.message()},
          {"traceback", error.traceback()}};
}

}  // namespace

std::string_view phase_name(Phase phase) { return kPhaseNames.at(static_cast<size_t>(phase)); }

std::optional<Phase> phase_from_name(std::string_view name) {
  for (size_t i = 0; i < kPhaseNames.size(); ++i) {
    if (name == kPhaseNames[i]) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

std::string_view error_kind_name(FailureKind kind) {
  return kErrorKinds.at(static_cast<size_t>(kind));
}

Value to_value(const std::optional<GroupError>& error) {
  if (!error) return nullptr;
  Map out = to_map(error->cause);
  out.set("kind", error_kind_name(error->kind));
  if (error->rank >= 0) out.set("rank", error->rank);
  Map ranks;
  for (const auto& [rank, each] : error->ranks) ranks.set(int64_t{rank}, to_map(each));
  out.set("ranks", ranks);
  return out;
}

bool all_returned(const std::vector<RankState>& ranks) {
  return !ranks.empty() &&
         std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.returned; });
}

bool any_returned(const std::vector<RankState>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.returned; });
}

bool any_died(const std::vector<RankState>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.died; });
}

bool all_healable(const std::vector<RankState>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.healable; });
}

bool all_gone(const std::vector<RankState>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.gone; });
}

int num_kept(const std::vector<RankState>& ranks) {
  return static_cast<int>(
      std::ranges::count_if(ranks, [](const auto& r) { return r.is_replaceable; }));
}

bool can_heal(const std::vector<RankState>& ranks, int least_workers) {
  const auto hinders = [](const RankState& r) {
    const bool has_raised = r.error && !r.died && !r.is_superfluous;
    return has_raised || (r.returned && !r.is_lost());
  };
  const auto holds = [](const RankState& r) { return !r.is_lost() && r.healable; };
  return num_kept(ranks) >= least_workers && std::none_of(ranks.begin(), ranks.end(), hinders) &&
         std::any_of(ranks.begin(), ranks.end(), holds);
}

const Unwinding* step_of(const std::vector<RankState>& ranks) {
  const Unwinding* first = nullptr;
  for (const RankState& rank : ranks) {
    if (rank.gone) continue;
    if (!rank.unwound || rank.unwound->step == 0) return nullptr;
    if (first == nullptr) first = &*rank.unwound;
    const bool agrees = rank.unwound->step == first->step && rank.unwound->index == first->index;
    if (!agrees) return nullptr;
  }
  return first;
}

bool all_accounted_for(const std::vector<RankState>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const auto& r) { return r.returned || r.gone || r.error; });
}

Phase slowest_phase(const std::vector<RankState>& ranks) {
  Phase slowest = Phase::kRunning;
  for (const RankState& rank : ranks) slowest = std::min(slowest, rank.phase);
  return slowest;
}

GroupError first_cause(const std::vector<RankState>& ranks) {
  GroupError out;
  const RankState* first = nullptr;
  const auto is_consequence = [](const RankState& r) { return r.error->code() == Code::kPeerLost; };
  for (size_t i = 0; i < ranks.size(); ++i) {
    const RankState& rank = ranks[i];
    if (!rank.error) continue;
    out.ranks.emplace(static_cast<int>(i), *rank.error);
    const bool better =
        first == nullptr || std::pair(is_consequence(rank), rank.error_time_s) <
                                std::pair(is_consequence(*first), first->error_time_s);
    if (!better) continue;
    first = &rank;
    out.cause = *rank.error;
    out.rank = static_cast<int>(i);
  }
  if (first != nullptr && first->died && first->phase < Phase::kRunning) {
    out.kind = FailureKind::kController;
  }
  return out;
}

}  // namespace rtrain::decide
