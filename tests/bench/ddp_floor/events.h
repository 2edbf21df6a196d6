// tests/bench/ddp_floor/events.h: marks moments, in the format of ../events.lua, and a stopwatch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "host/base/files/fd.h"

namespace rtrain::floor {

// Writes lines of "seconds pid name value" to one file for each rank, on the clock that all
// processes share.
class Events {
 public:
  Events(const std::string& folder, int rank);
  void mark(const std::string& name, double value = 0);

 private:
  Fd file_;
};

// Adds up the time of each part of a step.
class Stopwatch {
 public:
  Stopwatch() { restart(); }
  void restart();
  void lap(const char* part);
  const std::vector<std::pair<std::string, double>>& parts() const { return parts_; }

 private:
  double last_s_ = 0;
  std::vector<std::pair<std::string, double>> parts_;
};

}  // namespace rtrain::floor
