// host/dash/live.h: streams of events, from the store and the logs. All of a process are
// asked on one thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/dash/event_stream.h"
#include "host/store/read/live_runs.h"
#include "host/store/read/run_logs.h"

namespace rtrain::dash {

// A run as it was at a look.
struct SeenRun {
  std::string run_id;
  bool is_over = false;
  std::string state;  // differs where a viewer has something to see
  std::string json;   // the keys of `rtrain watch`
};

// The view of LiveRuns, once for all viewers: the store is read when its files have changed, and
// once a second; a large one less often, so that looking takes a twentieth of a core at most.
class LiveFeed {
 public:
  explicit LiveFeed(std::string storage_path)
      : storage_path_(std::move(storage_path)), live_(std::nullopt) {}

  const std::string& storage_path() const { return storage_path_; }
  // The runs that are not over, and the last ones that have ended since the first look.
  const std::vector<SeenRun>& look();

 private:
  std::string stamp() const;

  std::string storage_path_;
  store::LiveRuns live_;
  std::vector<SeenRun> runs_;
  std::deque<SeenRun> ended_;  // the oldest first; they are read no more
  std::string stamp_;          // of the store's files at the last look
  double looked_at_s_ = 0;
  double look_took_s_ = 0;
};

// "runs": those that have changed since the last event, as a list with the keys of `rtrain watch`.
// `run_id`: the only one that is asked for, with whose end the stream ends; empty: all.
std::shared_ptr<EventStream> follow_runs(std::shared_ptr<LiveFeed> feed, std::string run_id);

// "lines": the output of the workers since the last event, as a list of describe_log_line;
// first the choice's last_lines. "end": the run has ended, and nothing comes any more.
std::shared_ptr<EventStream> follow_logs(const store::RunRef& run, store::LogChoice choice);

}  // namespace rtrain::dash
