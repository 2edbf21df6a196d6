#include "host/decide/absent_ranks.h"

#include "host/base/text/text.h"

namespace rtrain::decide {
namespace {

std::string position(const RankFacts& facts) {
  if (facts.has_returned) return " and has returned from the train function";
  if (facts.calls.empty()) return ": it has called none";
  const CollectiveFacts& last = facts.calls.back();
  return cat(", its last one is collective ", last.sequence, ", ", last.text(),
             last.line.empty() ? "" : " at ", last.line);
}

}  // namespace

Error with_absent_ranks(int rank, const Error& error, const std::vector<PlacedFacts>& ranks) {
  if (error.code() != Code::kTimeout) return error;
  const PlacedFacts& own = ranks.at(static_cast<size_t>(rank));
  std::string text = error.message();
  for (size_t other = 0; other < ranks.size(); ++other) {
    const auto& [host, facts] = ranks[other];
    if (host == own.host || facts.collectives >= own.facts.collectives) continue;
    text += cat("; rank ", other, " on node ", host, " has not come to collective ",
                own.facts.collectives, position(facts));
  }
  return Error(error.code(), text, error.traceback());
}

}  // namespace rtrain::decide
