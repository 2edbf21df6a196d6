// host/compile/grouping.h: decides which calls of a list become one region.
//
// Calls are known by the memory that they read and write. A group runs where its last call was:
// calls between its members that touch other memory run before it. A group ends when a call needs
// what it computes, or would change what it reads. Later calls that use the group's memory and can
// run before that call still join it.
#pragma once

#include <cstddef>
#include <vector>

namespace rtrain::compile {

struct GroupedCall {
  std::vector<int> reads;   // memory whose numbers it reads, or of which it needs the tensor
  std::vector<int> writes;  // memory that it writes or makes
  int shape = -1;           // calls of equal shape may form a group; -1: it is in no group
  int rows = -1;            // the shape with a number for each row of `shape`; -1: there is none
  bool has_rows = false;    // it computes such numbers out of rows
  bool is_view = false;     // it shows numbers: it joins only a group that computes them
};

// A call whose shape is the `rows` of a group with rows joins it if it uses its memory. The order
// of execution: each item is a single call, or the calls of a group in their order.
std::vector<std::vector<size_t>> group_calls(const std::vector<GroupedCall>& calls,
                                             size_t most_members);

}  // namespace rtrain::compile
