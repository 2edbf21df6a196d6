#include "host/train/group/node_group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "host/base/error.h"

namespace rtrain::train {

bool NodeGroup::Member::has_any(const std::vector<int>& ranks) const {
  return std::ranges::any_of(
      ranks, [this](int rank) { return rank >= first_rank && rank < first_rank + num_workers; });
}

const NodeGroup::Member& NodeGroup::of(int rank) const {
  for (const Member& member : members_) {
    if (rank >= member.first_rank && rank < member.first_rank + member.num_workers) return member;
  }
  RT_CHECK(false);
  return members_.front();
}

int NodeGroup::place(int rank) const {
  const Member& member = of(rank);
  return member.places.at(static_cast<size_t>(rank - member.first_rank));
}

std::optional<int> NodeGroup::rank_at(int place) const {
  // A linear search, called for each message: places ascend within a member and between members.
  for (const Member& member : members_) {
    if (member.places.empty() || place > member.places.back()) continue;
    const auto found = std::ranges::lower_bound(member.places, place);
    if (*found != place) return std::nullopt;
    return member.first_rank + static_cast<int>(found - member.places.begin());
  }
  return std::nullopt;
}

void NodeGroup::add(Member member) {
  member.places.resize(static_cast<size_t>(member.num_workers));
  std::iota(member.places.begin(), member.places.end(), member.first_rank);
  members_.push_back(std::move(member));
}

void NodeGroup::keep(const std::vector<int>& ranks) {
  std::vector<Member> kept;
  int first_rank = 0;
  for (Member& member : members_) {
    std::vector<int> places;
    for (int i = 0; i < member.num_workers; ++i) {
      const int place = member.places[static_cast<size_t>(i)];
      const bool stays = std::ranges::find(ranks, member.first_rank + i) != ranks.end();
      stays ? places.push_back(place) : member.node->leave_out(place);
    }
    if (places.empty()) {
      member.node->close();
      without_ranks_.push_back(std::move(member.node));
      continue;
    }
    member.is_moved = false;
    member.node_rank = static_cast<int>(kept.size());
    member.first_rank = first_rank;
    member.num_workers = static_cast<int>(places.size());
    member.places = std::move(places);
    first_rank += member.num_workers;
    kept.push_back(std::move(member));
  }
  members_ = std::move(kept);
}

void NodeGroup::move(Member& member, Member to) {
  without_ranks_.push_back(std::move(member.node));
  member.node = std::move(to.node);
  member.name = std::move(to.name);
  member.address = std::move(to.address);
  member.far_path = std::move(to.far_path);
  member.number = to.number;
  member.spare = {};
  member.is_moved = true;
}

void NodeGroup::hand_over(node::NodeDelegate& delegate) {
  for (const Member& member : members_) member.node->hand_over(delegate);
  for (const auto& node : without_ranks_) node->hand_over(delegate);
}

bool NodeGroup::is_shared(const Member& member) const {
  return std::ranges::count(members_, member.number, &Member::number) > 1;
}

std::optional<int> NodeGroup::rank_on(int number) const {
  const auto found = std::ranges::find(members_, number, &Member::number);
  return found == members_.end() ? std::nullopt : std::optional(found->first_rank);
}

bool NodeGroup::can_replace() const {
  return std::ranges::all_of(members_, [](const Member& it) { return it.node->replaces(); });
}

uint64_t NodeGroup::copied_bytes() const {
  uint64_t sum = 0;
  for (const Member& member : members_) sum += member.node->copied_bytes();
  return sum;
}

}  // namespace rtrain::train
