// tests/sim/link_world.h: a link between two hosts, simulated, around host/wire/link_sequence.h.
//
// Connections break and lose what is under way, each end notices it in its own time, processes
// begin again, frames that wait are dropped. Whatever comes must come in order and once, and in the
// end all that was sent and not dropped has come.
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
  // A process at an end of the link; `life` counts the processes there.
  struct End {
    std::unique_ptr<LinkSequence> sequence;
    int life = 0;
    int64_t num_sent = 0;
    uint64_t acked = 0;
    std::optional<size_t> connection;
    bool is_greeted = false;  // the connection carries frames
  };
  struct Connection {
    std::array<std::deque<std::string>, 2> coming;  // frames on their way to an end
    bool is_broken = false;
  };
  // What one process has sent, as far as the other end's processes have it.
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
  void handle(int end, const WireFrame& frame);
  void greet(size_t connection, const LinkHello& hello);
  void welcome(const LinkWelcome& welcome);
  void attach(int end, size_t connection);
  void arrive(int end, std::string_view payload);
  void lose_connection(size_t connection);
  void write(int from, const WireFrame& frame);
  bool is_done() const;

  Draws& draws_;
  bool may_restart_, may_drop_;
  std::array<End, 2> ends_;
  std::vector<Connection> connections_;
  size_t num_greeted_ = 0;                     // connections up to that one are over for the server
  std::array<std::map<int, Sent>, 2> sent_;    // by end and life
  std::set<std::array<int64_t, 4>> arrivals_;  // end, its life, the sender's life, number
  bool is_calm_ = false;                       // everybody has a turn, nothing new goes wrong
  int turn_ = 0;
};

}  // namespace rtrain::sim
