#include "host/compile/grouping.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rtrain::compile {
namespace {

struct Group {
  int shape = -1;
  std::vector<size_t> members;
  std::set<int> reads;
  std::set<int> writes;
};

bool has_any(const std::set<int>& set, const std::vector<int>& items) {
  return std::ranges::any_of(items, [&](int item) { return set.contains(item); });
}

// Whether the call cannot run before the group.
bool needs(const GroupedCall& call, const Group& group) {
  return has_any(group.writes, call.reads) || has_any(group.writes, call.writes) ||
         has_any(group.reads, call.writes);
}

void add(Group& group, const GroupedCall& call, size_t index) {
  group.members.push_back(index);
  group.reads.insert(call.reads.begin(), call.reads.end());
  group.writes.insert(call.writes.begin(), call.writes.end());
}

}  // namespace

std::vector<std::vector<size_t>> group_calls(const std::vector<GroupedCall>& calls,
                                             size_t most_members) {
  std::vector<std::vector<size_t>> out;
  std::vector<Group> open;
  for (size_t i = 0; i < calls.size(); ++i) {
    const GroupedCall& call = calls[i];
    // The newest group of the shape takes the call, if it can.
    size_t own = open.size();
    for (size_t k = 0; k < open.size(); ++k) {
      const bool fits =
          call.shape >= 0 && open[k].shape == call.shape && open[k].members.size() < most_members;
      if (fits) own = k;
    }
    std::vector<Group> kept;
    Group joined;
    const bool joins = own < open.size();
    for (size_t k = 0; k < open.size(); ++k) {
      if (joins && k == own) {
        joined = std::move(open[k]);
      } else if (needs(call, open[k])) {
        out.push_back(std::move(open[k].members));
      } else {
        kept.push_back(std::move(open[k]));
      }
    }
    open = std::move(kept);
    if (joins || call.shape >= 0) {
      joined.shape = call.shape;
      add(joined, call, i);
      open.push_back(std::move(joined));
    } else {
      out.push_back({i});
    }
  }
  for (Group& group : open) out.push_back(std::move(group.members));
  return out;
}

}  // namespace rtrain::compile
