// host/train/resources/late_reports.h: brings what ranks that are gone have reported from the disks
// of a job's hosts (host/store/runs/report_spool.h) into the store, and lets the hosts forget it
// then.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/node/host_spool.h"
#include "host/node/node_server.h"
#include "host/train/record/run_context.h"

namespace rtrain {

class LateReportsDelegate {
 public:
  virtual ~LateReportsDelegate() = default;
  virtual void notice(const std::string& text) = 0;
  virtual void warn(const std::string& text) = 0;
  // Reports whose attempt is over. `done` gets how many of them the store did not have, or why they
  // are not in it.
  using OnAdded = std::function<void(std::optional<int64_t> added, const std::optional<Error>&)>;
  virtual void add_late_reports(std::vector<Report> reports, OnAdded done) = 0;
};

class LateReports {
 public:
  LateReports(NodeServer& nodes, const RunContext& run, LateReportsDelegate& delegate);

  // What a former controller of this run has left on this host; once.
  void read_own();
  // The agent of another host has come.
  void ask(int node, const std::string& host);
  void on_report(int node, const message::Spooled& spooled);
  // All that the host has was given to on_report(), or could not be read.
  void on_end(int node, const std::string& problem);
  void drop(int node) { spools_.erase(node); }
  // Of the attempts below that one: their ends are in the store, and so is what came from their
  // ranks while they lived.
  void forget(int below_attempt);

 private:
  struct Spool {
    std::string host;
    int64_t number = 0;  // of the question that it answers
    std::vector<Report> reports = {};
    bool is_stored = false;
  };

  NodeServer& nodes_;
  const RunContext& run_;
  LateReportsDelegate& delegate_;
  std::map<int, Spool> spools_;  // by node; 0 is this host
  int64_t num_asked_ = 0;
  HostSpool own_;
};

}  // namespace rtrain
