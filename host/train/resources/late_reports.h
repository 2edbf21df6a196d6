// host/train/resources/late_reports.h: copies reports of ended ranks from the disks of a
// job's nodes (host/store/runs/report_spool.h) to the store, and then lets the nodes remove
// them.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/node/node_server.h"
#include "host/node/node_spool.h"
#include "host/train/record/run_context.h"

namespace rtrain::train {

class LateReportsDelegate {
 public:
  virtual ~LateReportsDelegate() = default;
  virtual void notice(const std::string& text) = 0;
  virtual void warn(const std::string& text) = 0;
  // Reports whose attempt has ended. `done` gets the number of those that the store lacked, or the
  // error that prevented storing them.
  using OnAdded = std::function<void(std::optional<int64_t> added, const std::optional<Error>&)>;
  virtual void add_late_reports(std::vector<Report> reports, OnAdded done) = 0;
};

class LateReports {
 public:
  LateReports(node::NodeServer& nodes, const RunContext& run, LateReportsDelegate& delegate);

  // Reads what an earlier controller of this run has left on this node. Call it once.
  void read_own();
  // The agent of another node has connected.
  void ask(int node, const std::string& name);
  void on_report(int node, const message::Spooled& spooled);
  // All reports of the node were passed to on_report(), or could not be read.
  void on_end(int node, const std::string& problem);
  void drop(int node) { spools_.erase(node); }
  // For attempts below this one: their ends are in the store, and so are all reports that arrived
  // while their ranks lived.
  void forget(int below_attempt);

 private:
  struct Spool {
    std::string name;    // of the node
    int64_t number = 0;  // number of the request that it answers
    std::vector<Report> reports = {};
    bool is_stored = false;
  };

  node::NodeServer& nodes_;
  const RunContext& run_;
  LateReportsDelegate& delegate_;
  std::map<int, Spool> spools_;  // by node; 0: this node
  int64_t num_asked_ = 0;
  node::NodeSpool own_;
};

}  // namespace rtrain::train
