#include "host/decide/sync_board.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

constexpr const char* kTimeoutSetting = "TorchConfig.timeout_s or $RTRAIN_COLLECTIVE_TIMEOUT_S";
constexpr size_t kMaxNamed = 20;

// "rank 3", "ranks 1, 2, 5"; of many ranks it names some and counts the others.
std::string rank_text(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(ranks.size(), kMaxNamed); ++i) {
    names.push_back(std::to_string(ranks[i]));
  }
  std::string out = cat(ranks.size() == 1 ? "rank " : "ranks ", join(names, ", "));
  if (ranks.size() > kMaxNamed) out += cat(" and ", ranks.size() - kMaxNamed, " more");
  return out;
}

std::string describe(const SyncArrival& a) {
  return cat(a.collective, a.caller.empty() ? "" : cat(" at ", a.caller), ", its number ",
             a.sequence);
}

bool fit(const SyncArrival& a, const SyncArrival& b) {
  return a.collective == b.collective && a.sequence == b.sequence;
}

double whole(double seconds) { return std::round(seconds * 10) / 10; }

}  // namespace

SyncBoard::SyncBoard(int world_size, SyncSettings settings)
    : settings_(settings),
      arrived_(static_cast<size_t>(world_size)),
      left_(static_cast<size_t>(world_size)) {}

std::vector<SyncBoard::Answer> SyncBoard::arrive(SyncArrival arrival, double now_s) {
  const int rank = arrival.rank;
  if (arrival.world_size != static_cast<int>(arrived_.size())) {
    return {{rank, arrival.id, "",
             Error(Code::kArgument,
                   cat(arrival.collective, ": rank ", rank, " takes the group for one of ",
                       arrival.world_size, " workers, it has ", arrived_.size()))}};
  }
  auto& place = arrived_.at(static_cast<size_t>(rank));
  if (place) {
    return {{rank, arrival.id, "",
             Error(Code::kArgument, cat(arrival.collective, ": another thread of rank ", rank,
                                        " waits in ", describe(*place)))}};
  }
  if (count_ == 0) begun_s_ = moving_s_ = warned_s_ = now_s;
  place = std::move(arrival);
  ++count_;
  if (const auto text = mismatch()) return fail_all(Error(Code::kUser, *text));
  if (count_ < arrived_.size()) return check_left();
  const std::string data = arrived_.front()->data;
  std::vector<Answer> out;
  for (auto& each : arrived_) out.push_back({each->rank, each->id, data, std::nullopt});
  arrived_.assign(arrived_.size(), std::nullopt);
  count_ = 0;
  return out;
}

// Says which ranks called which collective where they differ; else nullopt.
std::optional<std::string> SyncBoard::mismatch() const {
  std::vector<std::pair<const SyncArrival*, std::vector<int>>> groups;
  for (const auto& each : arrived_) {
    if (!each) continue;
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return fit(*group.first, *each); });
    if (same == groups.end()) {
      groups.push_back({&*each, {each->rank}});
    } else {
      same->second.push_back(each->rank);
    }
  }
  if (groups.size() < 2) return std::nullopt;
  std::vector<std::string> parts;
  for (const auto& [first, ranks] : groups) {
    parts.push_back(cat(rank_text(ranks), " in ", describe(*first)));
  }
  return cat("the ranks called different collectives: ", join(parts, "; "),
             ": every rank must call the same ones in the same order");
}

std::vector<SyncBoard::Answer> SyncBoard::leave(int rank) {
  left_.at(static_cast<size_t>(rank)) = true;
  return check_left();
}

std::vector<SyncBoard::Answer> SyncBoard::check_left() {
  if (count_ == 0) return {};
  std::vector<int> left;
  for (const int rank : missing()) {
    if (left_[static_cast<size_t>(rank)]) left.push_back(rank);
  }
  if (left.empty()) return {};
  return fail_all(
      Error(Code::kUser, cat(waiting_text(), " for ", rank_text(left),
                             (left.size() == 1 ? ", which has" : ", which have"),
                             " already returned from the train function: every rank must call "
                             "the same collectives")));
}

std::vector<SyncBoard::Answer> SyncBoard::expire(double now_s) {
  if (count_ == 0 || now_s < moving_s_ + settings_.timeout_s) return {};
  return fail_all(Error(Code::kTimeout, cat(waiting_text(), " for ", rank_text(missing()), " for ",
                                            whole(now_s - begun_s_), " s (", kTimeoutSetting, " = ",
                                            settings_.timeout_s, ")")));
}

std::optional<std::string> SyncBoard::warning(double now_s) {
  if (count_ == 0 || now_s < warned_s_ + settings_.warn_interval_s) return std::nullopt;
  warned_s_ = now_s;
  return cat(waiting_text(), " for ", rank_text(missing()), " for ", whole(now_s - begun_s_),
             " s so far; the time-out is ", settings_.timeout_s, " s (", kTimeoutSetting, ")");
}

std::optional<double> SyncBoard::next_due() const {
  if (count_ == 0) return std::nullopt;
  return std::min(moving_s_ + settings_.timeout_s, warned_s_ + settings_.warn_interval_s);
}

// "rank 0 waits in train.collective.barrier() at train.lua:5, its number 2,"
std::string SyncBoard::waiting_text() const {
  std::vector<int> here;
  const SyncArrival* first = nullptr;
  for (const auto& each : arrived_) {
    if (!each) continue;
    if (first == nullptr) first = &*each;
    here.push_back(each->rank);
  }
  return cat(rank_text(here), here.size() == 1 ? " waits in " : " wait in ", describe(*first), ",");
}

std::vector<int> SyncBoard::missing() const {
  std::vector<int> out;
  for (size_t rank = 0; rank < arrived_.size(); ++rank) {
    if (!arrived_[rank]) out.push_back(static_cast<int>(rank));
  }
  return out;
}

std::vector<SyncBoard::Answer> SyncBoard::fail_all(const Error& error) {
  std::vector<Answer> out;
  for (auto& each : arrived_) {
    if (each) out.push_back({each->rank, each->id, "", error});
    each.reset();
  }
  count_ = 0;
  return out;
}

}  // namespace rtrain::decide
