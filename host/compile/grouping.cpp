#include "host/compile/grouping.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace rtrain::compile {
namespace {

// How many calls behind the one that ends a group are looked at.
constexpr size_t kLookAhead = 64;

bool has_any(const std::set<int>& set, const std::vector<int>& items) {
  return std::ranges::any_of(items, [&](int item) { return set.contains(item); });
}

// The memory of some calls.
struct Memory {
  std::set<int> reads;
  std::set<int> writes;

  void add(const GroupedCall& call) {
    reads.insert(call.reads.begin(), call.reads.end());
    writes.insert(call.writes.begin(), call.writes.end());
  }

  void add(const Memory& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }

  // Whether the call may not change places with them.
  bool binds(const GroupedCall& call) const {
    return has_any(writes, call.reads) || has_any(writes, call.writes) ||
           has_any(reads, call.writes);
  }

  bool is_read_by(const GroupedCall& call) const {
    return has_any(reads, call.reads) || has_any(writes, call.reads);
  }
};

struct Group {
  int shape = -1;
  int rows = -1;
  bool has_rows = false;
  std::vector<size_t> members;
  Memory memory;
};

class Grouping {
 public:
  Grouping(const std::vector<GroupedCall>& calls, size_t most_members)
      : calls_(calls), most_members_(most_members), is_placed_(calls.size()) {}

  std::vector<std::vector<size_t>> order() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (!is_placed_[i]) place(i);
    }
    for (Group& group : open_) out_.push_back(std::move(group.members));
    return std::move(out_);
  }

 private:
  // The newest group that can take the call: better one whose results it reads.
  std::optional<size_t> own_group(const GroupedCall& call) const {
    std::optional<size_t> out;
    for (size_t k = open_.size(); k-- > 0;) {
      if (!can_join(call, open_[k])) continue;
      if (has_any(open_[k].memory.writes, call.reads)) return k;
      if (!out) out = k;
    }
    return out;
  }

  bool can_join(const GroupedCall& call, const Group& group) const {
    if (call.shape < 0 || group.members.size() >= most_members_) return false;
    if (call.is_view && !has_any(group.memory.writes, call.reads)) return false;
    const bool is_of_rows = call.shape == group.rows && group.has_rows;
    return call.shape == group.shape || (is_of_rows && group.memory.is_read_by(call));
  }

  void place(size_t index) {
    const GroupedCall& call = calls_[index];
    std::optional<size_t> own = own_group(call);
    for (size_t k = 0; k < open_.size();) {
      if (k == own || !open_[k].memory.binds(call)) {
        ++k;
        continue;
      }
      end(k, index);
      if (own && k < *own) --*own;
    }
    if (own) {
      std::rotate(open_.begin() + static_cast<std::ptrdiff_t>(*own),
                  open_.begin() + static_cast<std::ptrdiff_t>(*own) + 1, open_.end());
    } else if (call.shape >= 0 && !call.is_view) {
      Group& group = open_.emplace_back();
      group.shape = call.shape;
      group.rows = call.rows;
    } else {
      out_.push_back({index});
      return;
    }
    add(open_.back(), index);
  }

  void add(Group& group, size_t index) {
    group.members.push_back(index);
    group.memory.add(calls_[index]);
    group.has_rows = group.has_rows || calls_[index].has_rows;
    is_placed_[index] = true;
  }

  // Ends an open group before the call. Calls behind it join the group if they use its memory and
  // depend neither on the calls before them nor on another group.
  void end(size_t which, size_t before) {
    Group group = std::move(open_[which]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
    Memory passed;
    for (const Group& other : open_) passed.add(other.memory);
    const size_t last = std::min(calls_.size(), before + kLookAhead);
    for (size_t i = before; i < last; ++i) {
      const GroupedCall& call = calls_[i];
      if (is_placed_[i]) continue;
      const bool joins = i != before && can_join(call, group) && group.memory.is_read_by(call) &&
                         !passed.binds(call);
      if (joins) {
        add(group, i);
      } else {
        passed.add(call);
      }
    }
    out_.push_back(std::move(group.members));
  }

  const std::vector<GroupedCall>& calls_;
  const size_t most_members_;
  std::vector<bool> is_placed_;
  std::vector<Group> open_;
  std::vector<std::vector<size_t>> out_;
};

}  // namespace

std::vector<std::vector<size_t>> group_calls(const std::vector<GroupedCall>& calls,
                                             size_t most_members) {
  return Grouping(calls, most_members).order();
}

}  // namespace rtrain::compile
