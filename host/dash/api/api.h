// host/dash/api/api.h: answers /api/: the documents of `rtrain ls`, `show`, `metrics`, `logs`,
// `checkpoints`, `diff` and `resources`, from the same readers, in pages; and the actions of
// `edit`, `stop`, `stack` and `profile`.
//
// Any thread: each answer opens the store for itself. An error is answered as {error: {code,
// message}} with a status: 400 for wrong parameters, 404 for a run that does not exist, 500.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "host/dash/api/route.h"
#include "host/dash/live/live.h"
#include "host/dash/live/store_refresh.h"
#include "host/store/read/curves/report_charts.h"
#include "host/store/read/open_store.h"

namespace rtrain::dash {

class Api {
 public:
  // `refresh` knows the problems with an object store; null without one.
  explicit Api(std::string storage_path, std::shared_ptr<const StoreRefresh> refresh = nullptr)
      : storage_path_(std::move(storage_path)),
        refresh_(std::move(refresh)),
        feed_(std::make_shared<LiveFeed>(storage_path_)) {}

  HttpReply answer(const http::HttpRequest& request) const;
  bool may_take_long(const http::HttpRequest& request) const;
  // Ends answers that wait for live runs. Any thread.
  void stop() { stop_.request_stop(); }

  std::stop_token stopping() const { return stop_.get_token(); }
  const std::string& storage_path() const { return storage_path_; }
  // Only for streams.
  std::shared_ptr<LiveFeed> feed() const { return feed_; }
  // Facts about long runs.
  store::ReportCharts& report_charts() const { return *report_charts_; }
  // Returns the store; nothing while the store does not exist.
  std::optional<store::OpenStore> open_store() const {
    return store::OpenStore::open(storage_path_, extremes_);
  }
  // Runs that could not be updated, because their rows in the object store cannot be read: why.
  std::map<std::string, std::string> problems() const {
    return refresh_ == nullptr ? std::map<std::string, std::string>() : refresh_->problems();
  }
  // Throws Error(kNotFound) when the run does not exist, or several have that name.
  store::OpenRun open_run(const std::string& run) const;

 private:
  std::string storage_path_;
  std::shared_ptr<const StoreRefresh> refresh_;
  std::shared_ptr<LiveFeed> feed_;
  std::shared_ptr<store::MetricExtremes> extremes_ = std::make_shared<store::MetricExtremes>();
  std::unique_ptr<store::ReportCharts> report_charts_ = std::make_unique<store::ReportCharts>();
  std::stop_source stop_;
};

}  // namespace rtrain::dash
