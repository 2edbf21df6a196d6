// host/store/read/run_logs.h: the lines that the workers of a run printed, of all ranks in the
// order of time, as the logs grow: <run>/logs/attempt-N/rank-R.log. A symlink is not a log.
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
#include "host/store/read/log_reader.h"
#include "host/store/read/run_resolver.h"

namespace rtrain {

struct LogChoice {
  int64_t rank = -1;          // -1: all
  int64_t attempt = -1;       // -1: the last, or all
  bool all_attempts = false;  // where none is named: also those that are still to come
  int64_t last_lines = 0;     // 0: all; else no fewer than that many of the last ones
  std::function<bool(std::string_view line)> matches = {};  // nothing: every line
};

struct RunLogLine {
  int64_t attempt;
  int64_t rank;
  LogLine log;
};

class RunLogs {
 public:
  RunLogs(const RunRef& run, LogChoice choice);

  // Opens what is there and not yet open. Returns the ranks among these that have printed more than
  // their log keeps.
  std::vector<int64_t> find();

  // The files of the chosen logs as they are now, by attempt and rank, the kept parts of each in
  // their order.
  std::vector<std::string> paths() const;

  // In the order of their times; of lines of one time, or without, those of the first attempt and
  // rank first. With at_end also last lines without a newline. True when there is no further one;
  // false when go_on, asked at each line that is read, said no: the next call goes on from there.
  bool each_new_line(bool at_end, const std::function<void(const RunLogLine& line)>& use,
                     const std::function<bool()>& go_on = {});

 private:
  using Key = std::pair<int64_t, int64_t>;  // attempt and rank
  // What a file has next.
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
  std::set<Next> next_;  // at most one of each file
};

// {attempt, rank, time, line}; without `time` where nothing says.
Value describe_log_line(const RunLogLine& line);

}  // namespace rtrain
