#include "host/train/watch/stack_answer.h"

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/channel/frame.h"

namespace rtrain::train {
namespace {

// Bytes of the message in addition to the list.
constexpr size_t kBesides = size_t{64} << 10;

}  // namespace

void check_asked_rank(std::optional<int64_t> rank, size_t num_ranks) {
  if (!rank || (*rank >= 0 && static_cast<size_t>(*rank) < num_ranks)) return;
  throw Error(Code::kUsage,
              cat("--rank ", *rank, ": the group has the ranks 0 to ", num_ranks - 1));
}

std::vector<loop::RankStack> stack_answer(std::optional<int64_t> asked,
                                          const std::vector<loop::RankStack>& stacks,
                                          const std::vector<decide::RankState>& ranks) {
  std::vector<loop::RankStack> out;
  size_t bytes = kBesides;
  for (const loop::RankStack& stack : stacks) {
    if (asked && stack.rank != *asked) continue;
    loop::RankStack& each = out.emplace_back(stack);
    const auto rank = static_cast<size_t>(stack.rank);
    if (rank < ranks.size()) each.phase = decide::phase_name(ranks[rank].phase);
    if (bytes + encode(to_value(each)).size() > loop::kMaxFrameBytes) {
      each.threads.clear();
      each.threads_left_out = true;
    }
    bytes += encode(to_value(each)).size();
  }
  return out;
}

}  // namespace rtrain::train
