// tests/sim/worlds/link_world.h: a simulated link between two nodes, around
// host/wire/link_sequence.h.
//
// Connections break and lose frames in flight, each end notices the break in its own time,
// processes restart, waiting frames are dropped. Frames must arrive in order and once, and in the
// end all frames that were sent and not dropped must have arrived.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/wire/link_sequence.h"
#include "tests/sim/world.h"

namespace rtrain::sim {

class LinkWorld : public World {
 public:
  explicit LinkWorld(Draws& draws);
  void live() override;

 private:
  static constexpr int kClient = 0, kServer = 1;
  // A process at one end of the link; `life` is the number of processes there so far.
  struct End {
    std::unique_ptr<wire::LinkSequence> sequence;
    int life = 0;
    int64_t num_sent = 0;
    uint64_t acked = 0;
    std::optional<size_t> connection;
    bool is_greeted = false;  // the greeting is over: the connection carries frames
  };
  struct Connection {
    std::array<std::deque<std::string>, 2> coming;  // frames in flight to each end
    bool is_broken = false;
  };
  // What the other end knows of the frames that one process has sent.
  struct Sent {
    std::set<int64_t> arrived, dropped;
  };

  void step_on();
  void begin(int end);
  void dial();
  void send(int end);
  void drop(int end);
  void pump(int end);
  void take(int end);
  void handle(int end, const wire::WireFrame& frame);
  void greet(size_t connection, const wire::LinkHello& hello);
  void welcome(const wire::LinkWelcome& welcome);
  void attach(int end, size_t connection);
  void arrive(int end, std::string_view payload);
  void lose_connection(size_t connection);
  void write(int from, const wire::WireFrame& frame);
  bool is_done() const;

  Draws& draws_;
  bool may_restart_, may_drop_;
  std::array<End, 2> ends_;
  std::vector<Connection> connections_;
  size_t num_greeted_ = 0;  // the server has greeted or ended all connections below this number
  std::array<std::map<int, Sent>, 2> sent_;    // by end and life
  std::set<std::array<int64_t, 4>> arrivals_;  // end, its life, the sender's life, frame number
  bool is_calm_ = false;                       // both ends take turns, and no new fault happens
  int turn_ = 0;
};

}  // namespace rtrain::sim
