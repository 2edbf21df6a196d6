#include "host/store/read/run_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::store {
namespace {

// The values of a column in a group.
class GroupCell {
 public:
  void add(const Value& value) {
    if (count_all_++ == 0) {
      first_ = value;
    } else {
      is_same_ = is_same_ && value == first_;
    }
    if (!value.is_number() || !std::isfinite(value.as_float())) return;
    const double change = value.as_float() - mean_;
    mean_ += change / static_cast<double>(++count_);
    squares_ += change * (value.as_float() - mean_);
  }

  Map describe() const {
    if (is_same_) return Map{{"value", first_}};
    if (count_ == 0) return {};
    const auto others = static_cast<double>(std::max<int64_t>(1, count_ - 1));
    return Map{{"mean", mean_}, {"deviation", std::sqrt(squares_ / others)}, {"count", count_}};
  }

 private:
  Value first_;
  bool is_same_ = true;
  int64_t count_all_ = 0;
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

struct Group {
  List values;
  int64_t runs = 0;
  std::vector<GroupCell> cells;
  List members;

  Map describe() const {
    List described;
    for (const GroupCell& cell : cells) described.emplace_back(cell.describe());
    return Map{
        {"values", values}, {"runs", runs}, {"cells", std::move(described)}, {"members", members}};
  }
};

// The value by which a described group is sorted.
Value place_of(const Value& group, const GroupChoice& choice, const std::string& key) {
  if (key == "runs") return group["runs"];
  for (size_t i = 0; i < choice.keys.size(); ++i) {
    if (choice.keys[i] == key) return group["values"].as_list()[i];
  }
  for (size_t i = 0; i < choice.columns.size(); ++i) {
    if (choice.columns[i] != key) continue;
    const Value& cell = group["cells"].as_list()[i];
    return cell["mean"].is_nil() ? cell["value"] : cell["mean"];
  }
  return {};
}

// Numbers before texts.
bool comes_before(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.as_float() < b.as_float();
  if (a.is_number() != b.is_number()) return a.is_number();
  return a.is_string() && b.is_string() && a.as_string() < b.as_string();
}

void sort_groups(List& groups, const GroupChoice& choice) {
  if (choice.sort.empty()) return;
  const bool descending = choice.sort.front() == '-';
  const std::string key = choice.sort.substr(descending ? 1 : 0);
  std::vector<std::pair<Value, Value>> placed;
  for (Value& group : groups) {
    Value place = place_of(group, choice, key);
    placed.emplace_back(std::move(place), std::move(group));
  }
  std::stable_sort(placed.begin(), placed.end(), [&](const auto& a, const auto& b) {
    if (a.first.is_nil() || b.first.is_nil()) return !a.first.is_nil() && b.first.is_nil();
    return descending ? comes_before(b.first, a.first) : comes_before(a.first, b.first);
  });
  groups.clear();
  for (auto& [place, group] : placed) groups.push_back(std::move(group));
}

}  // namespace

List run_groups(RunListing& listing, RunFilter filter, const GroupChoice& choice) {
  filter.sort.clear();
  filter.limit.reset();
  std::vector<std::string> names = choice.keys;
  names.insert(names.end(), choice.columns.begin(), choice.columns.end());
  names.insert(names.end(), {"name", "started_at"});
  std::map<std::string, size_t> places;  // by the JSON of a group's values
  std::vector<Group> groups;
  listing.each_cells(filter, names, [&](const List& cells) {
    const auto first_cell = cells.begin() + static_cast<ptrdiff_t>(choice.keys.size());
    List values(cells.begin(), first_cell);
    const auto [place, is_new] = places.try_emplace(to_json(Value(values)), groups.size());
    if (is_new) {
      groups.push_back({.values = std::move(values),
                        .cells = std::vector<GroupCell>(choice.columns.size()),
                        .members = {}});
    }
    Group& group = groups[place->second];
    ++group.runs;
    if (group.members.size() < kMostMembers) {
      group.members.emplace_back(
          Map{{"name", cells[names.size() - 2]}, {"started_at", cells[names.size() - 1]}});
    }
    for (size_t i = 0; i < group.cells.size(); ++i) {
      group.cells[i].add(*(first_cell + static_cast<ptrdiff_t>(i)));
    }
  });
  List out;
  for (const Group& group : groups) out.emplace_back(group.describe());
  sort_groups(out, choice);
  return out;
}

}  // namespace rtrain::store
