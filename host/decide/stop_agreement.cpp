#include "host/decide/stop_agreement.h"

#include <algorithm>
#include <array>

namespace rtrain::decide {

std::string_view stop_name(StopKind kind) {
  static constexpr std::array kNames = {"interrupt", "terminate", "operator", "predicate",
                                        "resize"};
  return kNames.at(static_cast<size_t>(kind));
}

StopAgreement::StopAgreement(int num_workers) : ranks_(static_cast<size_t>(num_workers)) {}

bool StopAgreement::has_left(int rank) const { return ranks_.at(static_cast<size_t>(rank)).left; }

std::optional<StopOrder> StopAgreement::prepare() {
  if (holding_ || at_) return std::nullopt;
  ++round_;
  holding_ = true;
  for (Rank& rank : ranks_) rank.calls.reset();
  return StopOrder{StopOrder::Type::kPrepare, round_, {}};
}

std::optional<StopOrder> StopAgreement::on_calls(int rank, int round, int64_t calls) {
  if (at_ || has_left(rank)) return std::nullopt;
  // A late answer, to a round that was given up: the rank runs again, so the next round begins.
  if (!holding_) return prepare();
  if (round != round_) return std::nullopt;
  ranks_[static_cast<size_t>(rank)].calls = calls;
  return try_release();
}

std::optional<StopOrder> StopAgreement::on_left(int rank) {
  ranks_.at(static_cast<size_t>(rank)).left = true;
  return holding_ ? try_release() : std::nullopt;
}

std::optional<StopOrder> StopAgreement::on_deadline() {
  if (!holding_) return std::nullopt;
  holding_ = false;
  return StopOrder{StopOrder::Type::kRelease, round_, {}};
}

std::vector<int> StopAgreement::missing() const {
  std::vector<int> out;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (!ranks_[i].left && !ranks_[i].calls) out.push_back(static_cast<int>(i));
  }
  return out;
}

std::optional<StopOrder> StopAgreement::try_release() {
  if (!missing().empty()) return std::nullopt;
  int64_t most = 0;
  for (const Rank& rank : ranks_) {
    if (!rank.left) most = std::max(most, rank.calls.value_or(0));
  }
  at_ = most + 1;
  holding_ = false;
  return StopOrder{StopOrder::Type::kRelease, round_, at_};
}

}  // namespace rtrain::decide
