// host/track/tracker.h: a program or service that keeps what runs have recorded: MLflow, W&B,
// TensorBoard, a web server.
//
// Each function throws Error(kEnvironment) if the tracker cannot be reached now; it is called again
// with the same items, so they may arrive twice. Error(kArgument): the tracker refuses the items,
// and would again. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "host/base/value.h"
#include "host/store/read/open_store.h"
#include "host/track/run_feed.h"

namespace rtrain::track {

class Tracker {
 public:
  virtual ~Tracker() = default;

  // Where the items go, for messages; the same for the same place.
  virtual std::string target() const = 0;
  // The options that lead another object to the same place, without secrets: a map for JSON.
  virtual Map options() const = 0;
  // Begins the run (host/store/read/run_document.h), or goes on with it where `kept` is what kept()
  // returned before.
  virtual void begin(const Value& run, const Value& kept) = 0;
  // The items of one read of the feed. Reads media from the store.
  virtual void send(std::span<const FeedItem> items, store::OpenStore& store) = 0;
  // The run has ended: FINISHED, ERRORED, ABORTED or PREEMPTED.
  virtual void end(const std::string& status, int64_t ended_ms) = 0;
  // What another object needs to go on with the run: a map for JSON, without secrets.
  virtual Value kept() const = 0;
};

// `options`: kind, and what modules/rtrain/loggers passes for it.
std::unique_ptr<Tracker> make_tracker(const Value& options);

}  // namespace rtrain::track
