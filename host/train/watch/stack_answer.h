// host/train/watch/stack_answer.h: the answer to `rtrain stack RUN`: the stacks of the ranks with
// the phase of each, as one message.
//
// Pure. Belongs to the control thread.
#pragma once

#include <optional>
#include <vector>

#include "host/decide/group_state.h"
#include "host/loop/messages/commands.h"

namespace rtrain {

// Throws kUsage for a rank that the group lacks.
void check_asked_rank(std::optional<int64_t> rank, size_t num_ranks);

// Of the rank, or of all: with their phases, and without their threads where the answer would be
// too large.
std::vector<RankStack> stack_answer(std::optional<int64_t> rank,
                                    const std::vector<RankStack>& stacks,
                                    const std::vector<RankState>& ranks);

}  // namespace rtrain
