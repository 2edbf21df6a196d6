// host/train/watch/stack_answer.h: the answer to `rtrain stack RUN`: the ranks' stacks and phases
// in one message.
//
// Pure. Belongs to the control thread.
#pragma once

#include <optional>
#include <vector>

#include "host/decide/group_state.h"
#include "host/loop/messages/commands.h"

namespace rtrain::train {

// Throws kUsage for a rank that the group does not have.
void check_asked_rank(std::optional<int64_t> rank, size_t num_ranks);

// The stacks of one rank, or of all, with their phases; without other threads if the answer would
// be too large.
std::vector<loop::RankStack> stack_answer(std::optional<int64_t> rank,
                                          const std::vector<loop::RankStack>& stacks,
                                          const std::vector<decide::RankState>& ranks);

}  // namespace rtrain::train
