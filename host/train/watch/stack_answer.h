// host/train/watch/stack_answer.h: the answer to `rtrain stack RUN`: the stacks of the ranks with
// the phase of each, as one message.
//
// Pure. Belongs to the control thread.
#pragma once

#include <optional>
#include <vector>

#include "host/base/value.h"
#include "host/train/group/group_state.h"

namespace rtrain {

// The rank that is asked for; nothing: all of them. Throws kUsage for one that the group lacks.
std::optional<int64_t> asked_rank(const Value& request, size_t num_ranks);

// By rank {rank, pid, phase, state, lua, threads, collectives}; `threads` stays empty, and
// `threads_left_out` is true, where the message would be too large.
List stack_answer(std::optional<int64_t> rank, const List& stacks,
                  const std::vector<RankState>& ranks);

}  // namespace rtrain
