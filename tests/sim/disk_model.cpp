#include "tests/sim/disk_model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::sim {
namespace {

constexpr int kRoot = 0;

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

DiskModel::DiskModel() : nodes_(1), safe_(1) {
  nodes_[kRoot].is_folder = safe_[kRoot].is_folder = true;
}

std::optional<int> DiskModel::find(const std::string& path) const {
  int at = kRoot;
  for (size_t from = 0; from < path.size();) {
    const size_t slash = std::min(path.find('/', from), path.size());
    const auto& entries = nodes_[static_cast<size_t>(at)].entries;
    const auto entry = entries.find(path.substr(from, slash - from));
    if (entry == entries.end()) return std::nullopt;
    at = entry->second;
    from = slash + 1;
  }
  return at;
}

int DiskModel::folder_of(const std::string& path) const {
  const std::optional<int> folder = find(parent_of(path));
  RT_CHECK(folder && nodes_[static_cast<size_t>(*folder)].is_folder);
  return *folder;
}

bool DiskModel::is_folder(const std::string& path) const {
  const auto node = find(path);
  return node && nodes_[static_cast<size_t>(*node)].is_folder;
}

std::vector<std::string> DiskModel::names(const std::string& path) const {
  std::vector<std::string> out;
  if (!is_folder(path)) return out;
  for (const auto& [name, node] : nodes_[static_cast<size_t>(*find(path))].entries)
    out.push_back(name);
  return out;
}

std::optional<std::string> DiskModel::text(const std::string& path) const {
  const auto node = find(path);
  if (!node || nodes_[static_cast<size_t>(*node)].is_folder) return std::nullopt;
  return nodes_[static_cast<size_t>(*node)].text;
}

void DiskModel::apply(std::vector<Node>& nodes, const Entry& entry) {
  auto& entries = nodes[static_cast<size_t>(entry.folder)].entries;
  if (entry.after >= 0) {
    entries[entry.name] = entry.after;
    return;
  }
  const auto there = entries.find(entry.name);
  if (there != entries.end() && there->second == entry.before) entries.erase(there);
}

void DiskModel::change(std::vector<Entry> entries) {
  for (const Entry& entry : entries) apply(nodes_, entry);
  unsafe_.push_back({.entries = std::move(entries)});
}

void DiskModel::make_folder(const std::string& path) {
  if (find(path)) return;
  const int folder = folder_of(path);
  const int made = static_cast<int>(nodes_.size());
  nodes_.push_back({.is_folder = true});
  safe_.push_back({.is_folder = true});
  change({{folder, name_of(path), -1, made}});
}

void DiskModel::write(const std::string& path, const std::string& text) {
  if (!find(path)) {
    const int folder = folder_of(path);
    const int made = static_cast<int>(nodes_.size());
    nodes_.emplace_back();
    safe_.emplace_back();
    change({{folder, name_of(path), -1, made}});
  }
  const int file = *find(path);
  nodes_[static_cast<size_t>(file)].text = text;
  unsafe_.push_back({.entries = {}, .file = file});
}

void DiskModel::sync_file(const std::string& path) {
  const auto file = find(path);
  RT_CHECK(file);
  safe_[static_cast<size_t>(*file)].text = nodes_[static_cast<size_t>(*file)].text;
  std::erase_if(unsafe_, [&](const Change& each) { return each.file == *file; });
}

// Earlier changes of the same names become safe as well: they must not be applied later.
void DiskModel::sync_folder(const std::string& path) {
  const auto folder = find(path);
  RT_CHECK(folder);
  std::set<std::pair<int, std::string>> names;
  std::vector<bool> is_safe(unsafe_.size());
  for (size_t i = unsafe_.size(); i-- > 0;) {
    const std::vector<Entry>& entries = unsafe_[i].entries;
    is_safe[i] = std::ranges::any_of(entries, [&](const Entry& entry) {
      return entry.folder == *folder || names.contains({entry.folder, entry.name});
    });
    if (!is_safe[i]) continue;
    for (const Entry& entry : entries) names.insert({entry.folder, entry.name});
  }
  std::vector<Change> left;
  for (size_t i = 0; i < unsafe_.size(); ++i) {
    if (!is_safe[i]) left.push_back(std::move(unsafe_[i]));
    if (!is_safe[i]) continue;
    for (const Entry& entry : unsafe_[i].entries) apply(safe_, entry);
  }
  unsafe_ = std::move(left);
}

bool DiskModel::rename(const std::string& from, const std::string& to) {
  if (find(to)) return false;
  const int node = *find(from);
  change({{folder_of(from), name_of(from), node, -1}, {folder_of(to), name_of(to), -1, node}});
  return true;
}

void DiskModel::exchange(const std::string& from, const std::string& to) {
  const int one = *find(from);
  const int other = *find(to);
  change({{folder_of(from), name_of(from), one, other}, {folder_of(to), name_of(to), other, one}});
}

void DiskModel::remove(const std::string& path) {
  const auto node = find(path);
  RT_CHECK(node && nodes_[static_cast<size_t>(*node)].entries.empty());
  change({{folder_of(path), name_of(path), *node, -1}});
}

void DiskModel::crash(Draws& draws) {
  for (const Change& each : unsafe_) {
    if (draws.chance(0.5)) continue;
    for (const Entry& entry : each.entries) apply(safe_, entry);
    if (each.file >= 0) {
      Node& file = safe_[static_cast<size_t>(each.file)];
      file.text = nodes_[static_cast<size_t>(each.file)].text;
    }
  }
  unsafe_.clear();
  nodes_ = safe_;
}

}  // namespace rtrain::sim
