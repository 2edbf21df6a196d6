// tests/sim/reports_world.h: ranks that report, simulated, around host/decide/report_collector.h.
//
// Ranks make reports with and without checkpoints, each in its own time. Uploads take their time
// and fail, deadlines pass, a rank returns early. Every report must come out once, in order, and no
// rank may wait for ever.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "host/decide/report_collector.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class ReportsWorld : public World {
 public:
  explicit ReportsWorld(Draws& draws);
  void live() override;

 private:
  struct Rank {
    int64_t num_reports;  // that it will make
    int64_t made = 0;
    bool has_returned = false;
    std::set<int64_t> uploading;  // numbers of reports whose files it has to send
    std::set<int64_t> waiting;    // that it was not answered about
  };
  struct Faults {
    bool fails_uploads, is_uneven, passes_deadlines;
  };

  void step_on();
  void report(int rank);
  void finish_upload(int rank);
  void pass_time();
  void take(const ReportCollector::Progress& progress);
  void take_complete(const std::vector<Report>& reports);
  void check_end();
  bool is_done() const;

  Draws& draws_;
  Faults faults_;
  std::vector<Rank> ranks_;
  int64_t first_index_;
  ReportCollector collector_;
  int64_t next_complete_;
  bool is_calm_ = false;  // everybody has a turn, nothing new goes wrong
  int turn_ = 0;
  double now_s_ = 0;
};

}  // namespace rtrain::sim
