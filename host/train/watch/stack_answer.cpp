#include "host/train/watch/stack_answer.h"

#include "host/base/codec.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/loop/frame.h"

namespace rtrain {
namespace {

// What is around the list in its message.
constexpr size_t kBesides = size_t{64} << 10;

}  // namespace

std::optional<int64_t> asked_rank(const Value& request, size_t num_ranks) {
  if (request["rank"].is_nil()) return std::nullopt;
  const int64_t rank = request["rank"].as_int();
  if (rank >= 0 && static_cast<size_t>(rank) < num_ranks) return rank;
  throw Error(Code::kUsage, cat("--rank ", rank, ": the group has the ranks 0 to ", num_ranks - 1));
}

List stack_answer(std::optional<int64_t> asked, const List& stacks,
                  const std::vector<RankState>& ranks) {
  List out;
  size_t bytes = kBesides;
  for (const Value& stack : stacks) {
    const int64_t rank = stack["rank"].as_int();
    if (asked && rank != *asked) continue;
    Map each = stack.as_map();
    if (static_cast<size_t>(rank) < ranks.size()) {
      each.set("phase", phase_name(ranks[static_cast<size_t>(rank)].phase));
    }
    if (bytes + encode(Value(each)).size() > kMaxFrameBytes) {
      each.set("threads", List{});
      each.set("threads_left_out", true);
    }
    bytes += encode(Value(each)).size();
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace rtrain
