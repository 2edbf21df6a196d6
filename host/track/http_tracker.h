// host/track/http_tracker.h: any web server: JSON with what the run has recorded, by POST.
//
// Each body is a map with run, run_id, type, and under the type's name: begin: the run as
// `rtrain show --json` has it; items: a list of reports {type, index, attempt, time, metrics},
// points {type, key, step, time, value} and media {type, kind, name, step, time, hash}; end:
// {status, time}.
#pragma once

#include <string>

#include "host/track/tracker.h"
#include "host/track/web_service.h"

namespace rtrain::track {

class HttpTracker final : public Tracker {
 public:
  // `options`: url, and those of WebService.
  explicit HttpTracker(const Value& options);

  std::string target() const override { return service_.url(); }
  Map options() const override { return Map{{"kind", "http"}, {"url", service_.url()}}; }
  void begin(const Value& run, const Value& kept) override;
  void send(std::span<const FeedItem> items, store::OpenStore& store) override;
  void end(const std::string& status, int64_t ended_ms) override;
  Value kept() const override { return Map{}; }

 private:
  void post(const char* type, Value value) const;

  WebService service_;
  std::string run_, run_id_;
};

}  // namespace rtrain::track
