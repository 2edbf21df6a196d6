#include "host/track/tensorboard_tracker.h"

#include <cerrno>
#include <cstring>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/store/files/file.h"

namespace rtrain::track {

TensorBoardTracker::TensorBoardTracker(const Value& options)
    : log_dir_(options["log_dir"].string_or("")) {}

// Each object writes a file of its own: TensorBoard reads all files of a folder as one run.
void TensorBoardTracker::begin(const Value& run, const Value&) {
  if (log_dir_.empty()) log_dir_ = cat(run["path"].as_string(), "/tensorboard");
  run_id_ = run["run_id"].as_string();
  store::make_folders(store::absolute_path(log_dir_));
  const int64_t began_ms = now_ms();
  path_ = cat(log_dir_, "/events.out.tfevents.", began_ms / 1000, ".rtrain.", began_ms % 1000);
  out_.open(path_, std::ios::binary | std::ios::app);
  file_.emplace(out_, began_ms);
  events_.emplace(*file_);
  if (run["metrics"].is_map()) events_->know(run["metrics"]);
  flush();
}

void TensorBoardTracker::send(std::span<const FeedItem> items, store::OpenStore& store) {
  for (const FeedItem& item : items) {
    if (const auto* report = std::get_if<store::RankReport>(&item)) {
      events_->add(*report);
    } else if (const auto* logged = std::get_if<FeedPoint>(&item)) {
      events_->add_point(logged->key, logged->point.step, logged->point.time_ms,
                         logged->point.value);
    } else if (const auto* row = std::get_if<store::MediaRow>(&item)) {
      events_->add_media(*row, store::read_media_content(store.database(), run_id_, row->hash));
    }
  }
  flush();
}

void TensorBoardTracker::end(const std::string&, int64_t) { flush(); }

void TensorBoardTracker::flush() {
  errno = 0;
  out_.flush();
  if (out_.good()) return;
  throw Error(Code::kEnvironment,
              cat("cannot write ", path_, ": ", std::string(std::strerror(errno))));
}

}  // namespace rtrain::track
