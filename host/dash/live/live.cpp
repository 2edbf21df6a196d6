#include "host/dash/live/live.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/claim/run_lock.h"
#include "host/store/read/logs/newest_lines.h"

namespace rtrain::dash {
namespace {

// The files do not change when a controller dies, so the store is read at least that often.
constexpr double kAtLeastEveryS = 1;
constexpr double kPartOfACore = 0.05;

// The number of ended runs that are kept, so that every viewer sees them end.
constexpr size_t kMostEnded = 100;

SeenRun seen(const Value& run) {
  // The figures that every look reads from /proc are left out.
  std::string state =
      cat(run["status"].as_string(), " ", run["attempt"].as_int(), " ", run["reports"].as_int(),
          " ", to_json(run["logged"]), " ", to_json(run["last_checkpoint"]));
  return {.run_id = run["run_id"].as_string(),
          .is_over = store::is_over(run),
          .state = std::move(state),
          .json = to_json(run)};
}

class RunEvents : public EventStream {
 public:
  RunEvents(std::shared_ptr<LiveFeed> feed, std::string run_id)
      : feed_(std::move(feed)), run_id_(std::move(run_id)) {}

  std::string next() override {
    try {
      if (run_id_.empty()) return changes(feed_->look());
      if (shown_.empty()) return own_look();
      const std::vector<SeenRun>& runs = feed_->look();
      const bool is_there = std::ranges::find(runs, run_id_, &SeenRun::run_id) != runs.end();
      // A run that the feed lacks is newer than its look, or was removed, which is an error.
      return is_there ? changes(runs) : own_look();
    } catch (const Error& e) {
      over_ = true;
      return event_text("error", Map{{"message", e.message()}});
    }
  }

  bool is_over() const override { return over_; }

 private:
  // Reads a run that may have ended before the feed began. Throws Error(kUsage) if it was removed.
  std::string own_look() {
    std::vector<SeenRun> runs;
    for (const Value& run :
         store::LiveRuns(run_id_).look(store::OpenStore::open(feed_->storage_path()))) {
      runs.push_back(seen(run));
    }
    return changes(runs);
  }

  std::string changes(const std::vector<SeenRun>& runs) {
    std::vector<std::string> changed;
    for (const SeenRun& run : runs) {
      if (!run_id_.empty() && run.run_id != run_id_) continue;
      if (!run_id_.empty() && run.is_over) over_ = true;
      std::string& last = shown_[run.run_id];
      if (run.state == last) continue;
      last = run.state;
      changed.push_back(run.json);
    }
    if (changed.empty()) return "";
    return cat("event: runs\ndata: [", join(changed, ","), "]\n\n");
  }

  std::shared_ptr<LiveFeed> feed_;
  std::string run_id_;
  std::map<std::string, std::string> shown_;  // the state, by run id
  bool over_ = false;
};

class LogEvents : public EventStream {
 public:
  LogEvents(const store::RunRef& run, store::LogChoice choice)
      : path_(run.path),
        newest_(static_cast<size_t>(choice.last_lines)),
        logs_(run, std::move(choice)) {}

  std::string next() override {
    if (over_) return "";
    // This is asked before reading, so that lines written before the end are read too.
    const bool has_ended = !store::RunLock::is_held(path_);
    try {
      if (!read(has_ended)) return "";
      over_ = has_ended;
      return cat(lines(), over_ ? event_text("end", Map{}) : "");
    } catch (const Error& e) {
      over_ = true;
      return event_text("error", Map{{"message", e.message()}});
    }
  }

  bool is_over() const override { return over_; }

 private:
  // A viewer of a run that prints more lines than that at once gets the newest ones.
  static constexpr size_t kMostAtOnce = 2000;
  // All viewers share one thread, so a long log is read in slices of that time.
  static constexpr double kSliceS = 0.1;

  // Returns false when there is more to read.
  bool read(bool at_end) {
    logs_.find();
    const double until_s = monotonic_s() + kSliceS;
    return logs_.each_new_line(
        at_end, [this](const store::RunLogLine& line) { newest_.add(line); },
        [until_s] { return monotonic_s() < until_s; });
  }

  std::string lines() {
    List lines = store::describe_log_lines(newest_);
    newest_ = store::NewestLines(kMostAtOnce);
    return lines.empty() ? "" : event_text("lines", std::move(lines));
  }

  std::string path_;
  store::NewestLines newest_;  // for the next event
  store::RunLogs logs_;
  bool over_ = false;
};

}  // namespace

const std::vector<SeenRun>& LiveFeed::look() {
  std::string now = stamp();
  const double now_s = monotonic_s();
  const double since_s = now_s - looked_at_s_;
  if (since_s < look_took_s_ / kPartOfACore) return runs_;
  if (now == stamp_ && since_s < kAtLeastEveryS) return runs_;
  stamp_ = std::move(now);
  looked_at_s_ = now_s;
  runs_.clear();
  for (const Value& run : live_.look(store::OpenStore::open(storage_path_))) {
    runs_.push_back(seen(run));
    std::erase_if(ended_, [&](const SeenRun& old) { return old.run_id == runs_.back().run_id; });
  }
  for (const SeenRun& run : runs_) {
    if (!run.is_over) continue;
    live_.forget(run.run_id);
    ended_.push_back(run);
  }
  std::erase_if(runs_, [](const SeenRun& run) { return run.is_over; });
  if (ended_.size() > kMostEnded) ended_.erase(ended_.begin(), ended_.end() - kMostEnded);
  runs_.insert(runs_.end(), ended_.begin(), ended_.end());
  look_took_s_ = monotonic_s() - now_s;
  return runs_;
}

std::string LiveFeed::stamp() const {
  std::string out;
  for (const char* file : {"/rtrain.db", "/rtrain.db-wal"}) {
    struct stat facts {};
    if (::stat((storage_path_ + file).c_str(), &facts) != 0) continue;
    out += cat(int64_t{facts.st_size}, " ", int64_t{facts.st_mtim.tv_sec}, " ",
               int64_t{facts.st_mtim.tv_nsec}, " ");
  }
  return out;
}

std::shared_ptr<EventStream> follow_runs(std::shared_ptr<LiveFeed> feed, std::string run_id) {
  return std::make_shared<RunEvents>(std::move(feed), std::move(run_id));
}

std::shared_ptr<EventStream> follow_logs(const store::RunRef& run, store::LogChoice choice) {
  return std::make_shared<LogEvents>(run, std::move(choice));
}

}  // namespace rtrain::dash
