// host/track/run_sender.h: one run on its way to one tracker. What has been sent is kept in a file
// of the run's folder (trackers/), so another process goes on where this one ends.
//
// Errors are those of Tracker. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/store/read/open_store.h"
#include "host/track/run_feed.h"
#include "host/track/tracker.h"

namespace rtrain::track {

class RunSender {
 public:
  // `run`: as RUN on a command line. Throws Error(kUsage) for an unknown run, and for wrong
  // `options` of the tracker (make_tracker).
  RunSender(const std::string& storage, const std::string& run, const Value& options);

  // The options of the trackers of that kind to which the run was sent, or begun to be.
  static std::vector<Value> trackers_of(const store::RunRef& run, const std::string& kind);

  // Sends what is new, some hundred items at most. Returns false if there was nothing.
  bool send_next();
  // Tells the tracker that the run has ended, once all was sent. Returns false while it has not
  // ended.
  bool end();

  // Whether an older sender has told the tracker that the run has ended, and the run has not gone
  // on.
  bool has_ended() const { return has_ended_; }
  int64_t sent() const { return sent_; }  // items, of this object
  // Of items that the tracker refused, which are left out: how many, and its last reason.
  int64_t refused() const { return refused_; }
  const std::string& refusal() const { return refusal_; }
  std::string target() const { return tracker_->target(); }

 private:
  void begin();
  void save() const;

  store::OpenRun run_;
  std::unique_ptr<Tracker> tracker_;
  std::optional<RunFeed> feed_;
  std::string file_;
  Value kept_;                   // of the tracker, from an older sender
  std::vector<FeedItem> items_;  // read and not sent
  bool has_begun_ = false, has_ended_ = false;
  int64_t sent_ = 0, refused_ = 0;
  std::string refusal_;
};

}  // namespace rtrain::track
