// host/track/tensorboard_tracker.h: TensorBoard: event files that it reads while the run goes on.
#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "host/store/import/event_file.h"
#include "host/track/run_events.h"
#include "host/track/tracker.h"

namespace rtrain::track {

class TensorBoardTracker final : public Tracker {
 public:
  // `options`: log_dir; empty or nil for the folder `tensorboard` in the run's folder.
  explicit TensorBoardTracker(const Value& options);

  std::string target() const override { return log_dir_; }
  Map options() const override { return Map{{"kind", "tensorboard"}, {"log_dir", log_dir_}}; }
  void begin(const Value& run, const Value& kept) override;
  void send(std::span<const FeedItem> items, store::OpenStore& store) override;
  void end(const std::string& status, int64_t ended_ms) override;
  Value kept() const override { return Map{}; }

 private:
  void flush();

  std::string log_dir_;
  std::string run_id_, path_;
  std::ofstream out_;
  std::optional<store::EventFile> file_;
  std::optional<RunEvents> events_;
};

}  // namespace rtrain::track
