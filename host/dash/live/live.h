// host/dash/live/live.h: streams of events from the store and the logs. One thread asks all streams
// of a process.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/dash/server/event_stream.h"
#include "host/store/read/live_runs.h"
#include "host/store/read/logs/run_logs.h"

namespace rtrain::dash {

// A run at the time of a look.
struct SeenRun {
  std::string run_id;
  bool is_over = false;
  std::string state;  // changes when viewers have something new to see
  std::string json;   // with the keys of `rtrain watch`
};

// What LiveRuns sees, read once for all viewers. It reads the store when its files have changed,
// and once a second. It reads a large store less often, so that this takes a twentieth of a core at
// most.
class LiveFeed {
 public:
  explicit LiveFeed(std::string storage_path)
      : storage_path_(std::move(storage_path)), live_(std::nullopt) {}

  const std::string& storage_path() const { return storage_path_; }
  // The runs that are not over, and the newest of those that have ended since the first look.
  const std::vector<SeenRun>& look();

 private:
  std::string stamp() const;

  std::string storage_path_;
  store::LiveRuns live_;
  std::vector<SeenRun> runs_;
  std::deque<SeenRun> ended_;  // the oldest first; they are not read again
  std::string stamp_;          // of the store's files at the last look
  double looked_at_s_ = 0;
  double look_took_s_ = 0;
};

// Event "runs": the runs that have changed since the last event, as a list with the keys of `rtrain
// watch`. With a `run_id`, only that run, and the stream ends with it; "" means all runs.
std::shared_ptr<EventStream> follow_runs(std::shared_ptr<LiveFeed> feed, std::string run_id);

// Event "lines": the workers' output since the last event, as a list of describe_log_line; first
// the choice's last_lines. Event "end": the run has ended, and no event follows.
std::shared_ptr<EventStream> follow_logs(const store::RunRef& run, store::LogChoice choice);

}  // namespace rtrain::dash
