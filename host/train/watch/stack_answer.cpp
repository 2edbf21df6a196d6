#include "host/train/watch/stack_answer.h"

#include "host/base/codec/codec.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/loop/channel/frame.h"

namespace rtrain {
namespace {

// Bytes of the message in addition to the list.
constexpr size_t kBesides = size_t{64} << 10;

}  // namespace

void check_asked_rank(std::optional<int64_t> rank, size_t num_ranks) {
  if (!rank || (*rank >= 0 && static_cast<size_t>(*rank) < num_ranks)) return;
  throw Error(Code::kUsage,
              cat("--rank ", *rank, ": the group has the ranks 0 to ", num_ranks - 1));
}

std::vector<RankStack> stack_answer(std::optional<int64_t> asked,
                                    const std::vector<RankStack>& stacks,
                                    const std::vector<RankState>& ranks) {
  std::vector<RankStack> out;
  size_t bytes = kBesides;
  for (const RankStack& stack : stacks) {
    if (asked && stack.rank != *asked) continue;
    RankStack& each = out.emplace_back(stack);
    const auto rank = static_cast<size_t>(stack.rank);
    if (rank < ranks.size()) each.phase = phase_name(ranks[rank].phase);
    if (bytes + encode(to_value(each)).size() > kMaxFrameBytes) {
      each.threads.clear();
      each.threads_left_out = true;
    }
    bytes += encode(to_value(each)).size();
  }
  return out;
}

}  // namespace rtrain
