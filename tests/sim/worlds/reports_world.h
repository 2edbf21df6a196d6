// tests/sim/worlds/reports_world.h: simulated ranks that report, around
// host/decide/report_collector.h and report_flow.h.
//
// Ranks make reports with and without checkpoints, each in its own time, and some ask for the name
// of the checkpoint. Uploads take their time and fail, deadlines pass, a rank returns early. Every
// report must come out once, in order, and no rank may wait forever. Ranks that are far ahead ask
// for acknowledgements (report_flow.h).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "host/decide/report_collector.h"
#include "host/decide/report_flow.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class ReportsWorld : public World {
 public:
  explicit ReportsWorld(Draws& draws);
  void live() override;

 private:
  struct Rank {
    int64_t num_reports;  // how many reports the rank will make
    int64_t made = 0;
    bool has_returned = false;
    std::set<int64_t> uploading;  // reports whose files the rank still has to send
    std::set<int64_t> waiting;    // reports without an answer yet
    std::map<int64_t, std::string>
        asking;  // reports whose checkpoint name the rank asks for, and the proposed name
    std::map<int64_t, std::string> folders;  // the folder of each report that has one
  };
  struct Faults {
    bool fails_uploads, is_uneven, passes_deadlines, ends_early;
  };

  void step_on();
  void report(int rank);
  void report_for_all();
  void ask_to_acknowledge();
  void take_seals(const std::vector<decide::ReportCollector::Seal>& seals);
  void take_names(const std::vector<decide::ReportCollector::Named>& named);
  void check_complete_below() const;
  void end_early();
  void finish_upload(int rank);
  void pass_time();
  void take(const decide::ReportCollector::Progress& progress);
  static std::string folder_of(const Rank& rank, int64_t index);
  void take_complete(const std::vector<Report>& reports);
  void check_end();
  bool is_done() const;

  Draws& draws_;
  Faults faults_;
  std::vector<Rank> ranks_;
  int64_t first_index_;
  decide::ReportCollector collector_;
  int64_t next_complete_;
  decide::ReportFlow flow_;
  int64_t wanted_, acknowledged_;
  std::map<int64_t, std::string> names_;  // the names that rank 0 proposes, by report
  std::set<int64_t> uploads_;             // reports to which some rank has added a checkpoint
  std::set<std::pair<int64_t, std::string>> sealed_;  // folders that a rank has to stage
  bool is_calm_ = false;  // all ranks take turns, and no new fault happens
  int turn_ = 0;
  double now_s_ = 0;
};

}  // namespace rtrain::sim
