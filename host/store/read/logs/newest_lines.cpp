#include "host/store/read/logs/newest_lines.h"

#include <utility>

namespace rtrain::store {

// Reuses the memory of the oldest line for the new one.
void NewestLines::add(const RunLogLine& line) {
  if (most_ == 0) return;
  std::string text;
  if (lines_.size() == most_) {
    text = std::move(lines_.front().text);
    lines_.pop_front();
  }
  text.assign(line.log.text);
  lines_.push_back({line, std::move(text)});
}

void NewestLines::take(const std::function<void(const RunLogLine& line)>& use) {
  for (Kept& kept : lines_) {
    kept.line.log.text = kept.text;
    use(kept.line);
  }
  lines_.clear();
}

List describe_log_lines(NewestLines& lines) {
  List out;
  lines.take([&](const RunLogLine& line) { out.push_back(describe_log_line(line)); });
  return out;
}

}  // namespace rtrain::store
