// host/decide/spare.h: when a node makes, keeps and ends its spare: a process that has run the
// train function up to where it needs to know its rank, and takes the place of the next lost rank.
//
// One for each node, for as long as its processes live. Pure.
#pragma once

#include <cstdint>

namespace rtrain::decide {

class Spare {
 public:
  enum class Order { kNone, kMake, kDrop };

  // All ranks hold a commit, the lost ones' replacements too.
  void on_settled(double now_s);
  // A rank is lost: the node's cores are needed for its replacement, which may be the spare.
  void on_lost();
  // Lost ranks of the group will not be replaced from now on: it ends, or is being stopped.
  void on_over() { is_wanted_ = false; }
  // The spare was ended, since the group has another size than the one for which it was made.
  void on_dropped() { is_ordered_ = false; }

  // What the node is to do, if it has a spare or has none. To be asked about once a second.
  Order next(double now_s, bool exists);

 private:
  bool is_wanted_ = false;
  bool is_settled_ = false;
  bool is_ordered_ = false;  // it was made, and no loss has come since
  int failures_ = 0;
  double not_before_s_ = 0;
};

// What a spare may take from the ranks of its node.
struct SpareCost {
  int64_t bytes = 0;            // of the largest rank
  int64_t available_bytes = 0;  // that can be taken without swapping
  bool has_devices = false;     // the ranks compute on GPUs, whose memory it would take
  int idle_cores = 0;           // that no rank has a thread for
  bool may_be_nice = false;     // it can lower its priority now and raise it later
};
// Whether the ranks do not feel it: half of the free memory is left, and no rank waits for a core.
bool is_affordable(const SpareCost& cost);

}  // namespace rtrain::decide
