// host/decide/slow/shares.h: how many of a run's virtual ranks each process computes. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rtrain::decide {

// The shares of a group that nothing is known about: as equal as possible.
std::vector<int> even_shares(int num_virtual, int num_ranks);

// Returns the shares with which the slowest process has least to do, if a step then takes clearly
// less time than with the present ones. `work_s`: what a process computes in a step, now.
std::optional<std::vector<int>> better_shares(const std::vector<int>& shares,
                                              const std::vector<double>& work_s);

// The shares of a group, and those that its processes are to have from another attempt on.
class Shares {
 public:
  // `num_virtual` 0: the run has no virtual ranks.
  Shares(int num_virtual, int num_ranks);

  // A group of as many ranks takes the processes over.
  void go_on_from(const Shares& before);
  // Whether the processes should have other shares. False where they were asked for that.
  bool is_unbalanced(const std::vector<double>& work_s);
  // They are asked to, and cancel() withdraws that. Returns the text of the change: "4, 4 → 6, 2".
  std::string change();
  void cancel() { next_ = now_; }

  // Of each process; empty: as equal as possible.
  std::vector<int> uneven() const;

 private:
  std::vector<int> even_;  // empty without virtual ranks
  std::vector<int> now_;
  std::vector<int> next_;
  std::vector<int> wanted_;
};

}  // namespace rtrain::decide
