// host/dash/api.h: the answers of /api/: the documents of `rtrain ls`, `show`, `metrics`, `logs`,
// `checkpoints`, `diff` and `resources`, from the same readers, a page at a time; and what `edit`,
// `stop`, `stack` and `profile` do.
//
// For any thread: each answer opens the store for itself. What cannot be answered is {error: {code,
// message}} with a status: 400 for wrong parameters, 404 for a run that is not there, 500.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "host/dash/live.h"
#include "host/dash/route.h"
#include "host/dash/store_refresh.h"
#include "host/store/read/run_reader.h"

namespace rtrain::dash {

class Api {
 public:
  // Null: nothing is known of problems with an object store.
  explicit Api(std::string storage_path, std::shared_ptr<const StoreRefresh> refresh = nullptr)
      : storage_path_(std::move(storage_path)),
        refresh_(std::move(refresh)),
        feed_(std::make_shared<LiveFeed>(storage_path_)) {}

  static std::span<const Route> routes();

  HttpReply answer(const http::HttpRequest& request) const;
  bool may_take_long(const http::HttpRequest& request) const;
  // Ends answers that wait for live runs. Any thread.
  void stop() { stop_.request_stop(); }

  std::stop_token stopping() const { return stop_.get_token(); }
  const std::string& storage_path() const { return storage_path_; }
  // For streams alone.
  std::shared_ptr<LiveFeed> feed() const { return feed_; }
  // Facts about long runs.
  store::ReportCharts& report_charts() const { return *report_charts_; }
  // The store, or nothing as long as there is none.
  std::optional<store::RunReader> reader() const { return store::RunReader::open(storage_path_); }
  // Runs that are as they were, since what the object store has of them cannot be read: why.
  std::map<std::string, std::string> problems() const {
    return refresh_ == nullptr ? std::map<std::string, std::string>() : refresh_->problems();
  }
  // Error(kNotFound) for a run that is not there, or that could be several.
  store::OpenRun open_run(const std::string& run) const;

 private:
  std::string storage_path_;
  std::shared_ptr<const StoreRefresh> refresh_;
  std::shared_ptr<LiveFeed> feed_;
  std::unique_ptr<store::ReportCharts> report_charts_ = std::make_unique<store::ReportCharts>();
  std::stop_source stop_;
};

}  // namespace rtrain::dash
