#include "host/store/read/logs/run_logs.h"

#include <charconv>
#include <iterator>
#include <tuple>

#include "host/base/clock.h"
#include "host/base/files/log_file.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

// The number in "attempt-12" or "rank-3.log"; nullopt for other names.
std::optional<int64_t> number_in(std::string_view name, std::string_view prefix,
                                 std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  int64_t number = 0;
  const auto [end, status] = std::from_chars(name.begin(), name.end(), number);
  if (status != std::errc() || end != name.end()) return std::nullopt;
  return number;
}

}  // namespace

bool RunLogs::Next::operator<(const Next& other) const {
  return std::tie(line.time_ms, key) < std::tie(other.line.time_ms, other.key);
}

RunLogs::RunLogs(const RunRef& run, LogChoice choice)
    : run_path_(run.path), choice_(std::move(choice)) {}

std::map<RunLogs::Key, std::string> RunLogs::chosen() const {
  std::map<Key, std::string> out;
  for (const auto& [attempt, folder] : attempts()) {
    for (const std::string& name : folder_entries(folder)) {
      const auto rank = number_in(name, "rank-", ".log");
      const std::string path = cat(folder, "/", name);
      if (!rank || (choice_.rank >= 0 && *rank != choice_.rank) || is_symlink(path)) continue;
      out.emplace(Key{attempt, *rank}, path);
    }
  }
  return out;
}

std::vector<int64_t> RunLogs::find() {
  std::vector<int64_t> cut;
  for (const auto& [key, path] : chosen()) {
    const auto [place, is_new] = files_.try_emplace(key, run_path_, path);
    if (!is_new) continue;
    if (choice_.last_lines > 0 && !choice_.matches) {
      place->second.skip_to_last(choice_.last_lines);
    } else if (place->second.lost_lines()) {
      cut.push_back(key.second);
    }
  }
  return cut;
}

std::vector<std::string> RunLogs::paths() const {
  std::vector<std::string> out;
  for (const auto& [key, path] : chosen()) {
    if (const int64_t part = last_log_part(path); part > 0) {
      out.push_back(log_part_path(path, part));
    }
    out.push_back(path);
  }
  return out;
}

bool RunLogs::each_new_line(bool at_end, const std::function<void(const RunLogLine& line)>& use,
                            const std::function<bool()>& go_on) {
  std::set<Key> waiting;
  for (const Next& each : next_) waiting.insert(each.key);
  // Returns false if `go_on` said no before the file's next line was found.
  const auto add_next = [&](Key key, LogReader& file) {
    while (const auto line = file.next(at_end)) {
      if (!choice_.matches || choice_.matches(line->text)) {
        next_.insert({key, *line});
        return true;
      }
      if (go_on && !go_on()) return false;
    }
    return true;
  };
  for (auto& [key, file] : files_) {
    if (!waiting.contains(key) && !add_next(key, file)) return false;
  }
  while (!next_.empty()) {
    const Next first = *next_.begin();
    next_.erase(next_.begin());
    use(RunLogLine{first.key.first, first.key.second, first.line});
    if (!add_next(first.key, files_.at(first.key)) || (go_on && !go_on())) return false;
  }
  return true;
}

std::map<int64_t, std::string> RunLogs::attempts() const {
  std::map<int64_t, std::string> found;
  const std::string logs = run_path_ + "/logs";
  if (is_symlink(logs)) return found;
  for (const std::string& name : folder_entries(logs)) {
    const std::string path = cat(logs, "/", name);
    const auto attempt = number_in(name, "attempt-", "");
    if (!attempt || (choice_.attempt >= 0 && *attempt != choice_.attempt)) continue;
    if (!is_symlink(path)) found[*attempt] = path;
  }
  if (!choice_.all_attempts && found.size() > 1) found.erase(found.begin(), std::prev(found.end()));
  return found;
}

Value describe_log_line(const RunLogLine& line) {
  Map out{{"attempt", line.attempt}, {"rank", line.rank}};
  if (line.log.time_ms != 0) out.set("time", time_text(line.log.time_ms));
  out.set("line", line.log.text);
  return out;
}

}  // namespace rtrain::store
