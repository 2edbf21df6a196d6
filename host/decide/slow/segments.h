// host/decide/slow/segments.h: what the ranks of a group did in the last spans of time, which are
// judged together. Pure.
//
// A rank's number over all segments is the median of those of the segments, so that one of them
// says nothing. That of the others is the median of theirs in each segment.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "host/decide/rank_facts.h"
#include "host/decide/slow/slow_link.h"

namespace rtrain::decide {

// What a rank did in a segment.
struct SegmentPart {
  double steps = 0;  // of optimizers; of a script without them, collectives
  double elapsed_s = 0;
  TimeFacts times = {};
  double alone_s = 0;  // left out of these: work that only rank 0 does
  HostFacts host = {};
  std::vector<LinkFacts> links = {};
  double stopped = 0;       // the share of looks at which its process was stopped
  double device_waits = 0;  // and at which its device waited in a collective
};
using Segment = std::vector<SegmentPart>;  // by rank

// Numbers of a part.
using PartNumber = double (*)(const SegmentPart& part);
double stopped(const SegmentPart& part);
double step_s(const SegmentPart& part);
// Shares of the segment, and of its steps.
double starved(const SegmentPart& part);
double stolen(const SegmentPart& part);
double slowed(const SegmentPart& part);  // 1: its device is
double throttled(const SegmentPart& part);
double faults(const SegmentPart& part);
double batches(const SegmentPart& part);

double ratio(double part, double whole);
double median(std::vector<double> numbers);

class Segments {
 public:
  static constexpr size_t kSize = 10;  // segments that are judged together

  bool is_full() const { return segments_.size() == kSize; }
  void clear() { segments_.clear(); }
  // The oldest one is forgotten.
  void add(Segment segment);
  const std::deque<Segment>& all() const { return segments_; }
  // The rank's part of the last one.
  const SegmentPart& last(int rank) const { return part(segments_.back(), rank); }
  bool uses_devices() const { return uses_devices_; }

  // The shares of a step that the others lose by the rank, of each segment.
  std::vector<double> lost(int rank) const;

  // REQUIRES of these: there is a segment.
  double own(int rank, PartNumber number) const;
  double others(int rank, PartNumber number) const;
  // Facts of the host arrive in whole seconds, so they are added up.
  double mean(int rank, PartNumber number) const;
  double mean_of_others(int rank, PartNumber number) const;
  // How much more the rank has of it than the others, by the segments in which they lose at least
  // this share: the rest may be from before.
  double more_when_slow(int rank, double share, PartNumber number) const;

 private:
  static const SegmentPart& part(const Segment& segment, int rank) {
    return segment[static_cast<size_t>(rank)];
  }
  double busy(const SegmentPart& part) const;
  double lost(const Segment& segment, int rank) const;
  static double others(const Segment& segment, int rank, PartNumber number);

  std::deque<Segment> segments_;
  bool uses_devices_ = false;
};

}  // namespace rtrain::decide
