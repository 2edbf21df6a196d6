#include "host/train/group/moved_ranks.h"

#include <numeric>

#include "host/base/rank_ranges.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

std::vector<decide::NodeWorkers> nodes_where(const NodeGroup& group, const std::vector<int>& ranks,
                                             bool has_any) {
  std::vector<decide::NodeWorkers> out;
  for (const auto& member : group.members()) {
    if (member.has_any(ranks) == has_any) out.push_back({member.number, member.num_workers});
  }
  return out;
}

}  // namespace

std::vector<decide::NodeWorkers> nodes_of(const NodeGroup& group, const std::vector<int>& ranks) {
  return nodes_where(group, ranks, true);
}

std::vector<decide::NodeWorkers> nodes_without(const NodeGroup& group,
                                               const std::vector<int>& ranks) {
  return nodes_where(group, ranks, false);
}

// The places stay: those of a group of fixed size follow each other.
void move_ranks(NodeGroup& group, const std::vector<int>& ranks, const std::vector<int>& nodes,
                const node::NodeOrder& order, const MakeMember& make) {
  std::vector<decide::NodeWorkers> there = nodes_without(group, ranks);
  size_t next = 0;
  for (NodeGroup::Member& member : group.members()) {
    if (!member.has_any(ranks)) continue;
    node::NodeOrder part = order;
    part.first_rank = member.places.front();
    part.num_workers = member.num_workers;
    const int node = nodes.at(next++);
    for (const decide::NodeWorkers& each : there) {
      if (each.node == node) part.first_local_rank += each.workers;
    }
    there.push_back({node, member.num_workers});
    group.move(member, make(node, part));
  }
}

void start_moved(const NodeGroup::Member& member, const RankCopies& copies) {
  member.node->spawn();
  for (const int place : member.places) {
    if (!copies.has(place)) continue;
    for (const RankCopies::Copy& copy : copies.of(place)) {
      if (copy.step > 0) member.node->keep(place, copy.step, copy.bytes);
    }
  }
}

std::string moved_text(const NodeGroup::Member& member) {
  std::vector<int64_t> ranks(static_cast<size_t>(member.num_workers));
  std::iota(ranks.begin(), ranks.end(), member.first_rank);
  return cat("node ", member.name, " takes the place of the lost one of ", rank_ranges(ranks));
}

}  // namespace rtrain::train
