// host/track/mlflow_tracker.h: MLflow's tracking server, by its REST API 2.0.
//
// Reports and points of train.log become metrics, with the report's index or the logged step as
// step; train_loop_config becomes parameters; media become artifacts below media/, where the server
// takes artifacts itself.
#pragma once

#include <string>

#include "host/track/point_names.h"
#include "host/track/tracker.h"
#include "host/track/web_service.h"

namespace rtrain::track {

class MlflowTracker final : public Tracker {
 public:
  // `options`: tracking_uri, experiment_name, run_name (else the run's name), tags (a map of
  // texts), and those of WebService. What is nil comes from MLflow's variables, MLFLOW_TRACKING_URI
  // and so on. Throws Error(kUsage) without tracking_uri.
  explicit MlflowTracker(const Value& options);

  std::string target() const override;
  Map options() const override;
  void begin(const Value& run, const Value& kept) override;
  void send(std::span<const FeedItem> items, store::OpenStore& store) override;
  void end(const std::string& status, int64_t ended_ms) override;
  Value kept() const override;

 private:
  Value call(const std::string& function, const Map& body) const;
  std::string experiment_id() const;
  void log_params(const Value& config) const;
  void log_metrics(const List& metrics) const;
  void log_artifact(const store::MediaRow& row, const std::string& content) const;

  WebService service_;
  std::string experiment_, run_name_;
  Map tags_;
  std::string run_id_;  // rtrain's
  std::string mlflow_run_, artifacts_;
  PointNames names_;
};

}  // namespace rtrain::track
