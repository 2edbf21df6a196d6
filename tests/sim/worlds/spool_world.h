// tests/sim/worlds/spool_world.h: a simulated rank on another node than the controller, around
// host/decide/spool_turns.h and host/wire/link_sequence.h.
//
// Each report goes into the spool of its node and over the link of the agent. The agent dies and
// restarts, nodes are cut off, the controller is replaced. The controller acknowledges the reports
// in its store and, after the rank's end, asks the node for the reports in the spool. In the end
// every report must be in the store once, and the spool must stay short.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "host/decide/spool_turns.h"
#include "host/wire/link_sequence.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class SpoolWorld : public World {
 public:
  explicit SpoolWorld(Draws& draws);
  void live() override;

 private:
  struct Record {
    int64_t index;
    uint64_t at, bytes;
  };

  void step_on();
  void report();
  void carry();
  void connect();
  void acknowledge();
  void write();
  void check_spool() const;
  void end_attempt(bool is_controller);
  void begin_attempt();

  Draws& draws_;
  // The node: the rank's spool survives all faults except the loss of the disk.
  decide::SpoolTurns turns_;
  std::array<std::vector<Record>, 2> files_;
  int64_t num_reports_ = 0;
  int64_t acknowledged_ = 0;  // as far as the rank knows
  // The two ends of the link, and the frames in flight.
  std::unique_ptr<wire::LinkSequence> agent_, controller_;
  std::deque<std::string> coming_;
  bool is_connected_ = false;
  // The controller and its store.
  std::deque<int64_t> unwritten_;
  int64_t num_received_ = 0;
  int64_t sent_ = 0;  // how many reports the controller has acknowledged
  std::set<int64_t> stored_;
  std::deque<int64_t> acknowledgements_;  // in flight to the rank
};

}  // namespace rtrain::sim
