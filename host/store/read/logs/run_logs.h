// host/store/read/logs/run_logs.h: the printed lines of a run's workers, of all ranks in order of
// time, while the logs grow: <run>/logs/attempt-N/rank-R.log. Symlinks are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/value.h"
#include "host/store/read/logs/log_reader.h"
#include "host/store/read/run_resolver.h"

namespace rtrain::store {

struct LogChoice {
  int64_t rank = -1;          // -1: all
  int64_t attempt = -1;       // -1: the last, or all
  bool all_attempts = false;  // if `attempt` is -1: all, including later ones
  int64_t last_lines = 0;     // 0: all; else at least that many of the last ones
  std::function<bool(std::string_view line)> matches = {};  // empty: every line
};

struct RunLogLine {
  int64_t attempt;
  int64_t rank;
  LogLine log;
};

class RunLogs {
 public:
  RunLogs(const RunRef& run, LogChoice choice);

  // Opens new files of the chosen logs. Returns those of their ranks whose log does not have all
  // printed lines any more.
  std::vector<int64_t> find();

  // The current files of the chosen logs, by attempt and rank, with the parts of each in
  // order.
  std::vector<std::string> paths() const;

  // Passes lines to `use` in order of time; lines with the same time or none, by attempt and rank.
  // With at_end includes last lines without a newline. Returns true once there are no more lines;
  // false if go_on, called at each line read, returned false: the next call continues there.
  bool each_new_line(bool at_end, const std::function<void(const RunLogLine& line)>& use,
                     const std::function<bool()>& go_on = {});

 private:
  using Key = std::pair<int64_t, int64_t>;  // attempt and rank
  // The next line of a file.
  struct Next {
    Key key;
    LogLine line;
    bool operator<(const Next& other) const;
  };
  std::map<int64_t, std::string> attempts() const;
  std::map<Key, std::string> chosen() const;

  std::string run_path_;
  LogChoice choice_;
  std::map<Key, LogReader> files_;
  std::set<Next> next_;  // at most one per file
};

// {attempt, rank, time, line}; without `time` if it is unknown.
Value describe_log_line(const RunLogLine& line);

}  // namespace rtrain::store
