#include "host/text/formats/tiktoken.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "host/base/error.h"
#include "host/base/text/base64.h"
#include "host/base/text/text.h"
#include "host/text/models/vocabulary.h"
#include "host/text/pieces/byte_characters.h"

namespace rtrain::text {
namespace {

constexpr size_t kLongestToken = 4096;

struct RankedToken {
  std::string bytes;
  uint32_t rank = 0;
};

RankedToken token_of(std::string_view line, size_t number) {
  const auto refuse = [&]() -> RankedToken {
    throw Error(Code::kArgument, cat("line ", number, " is not a token in base64 and its rank"));
  };
  const size_t space = line.find(' ');
  if (space == line.npos) return refuse();
  auto bytes = from_base64(line.substr(0, space));
  RankedToken out;
  const std::string_view rank = line.substr(space + 1);
  const auto read = std::from_chars(rank.data(), rank.data() + rank.size(), out.rank);
  if (!bytes || bytes->empty() || bytes->size() > kLongestToken || read.ec != std::errc() ||
      read.ptr != rank.data() + rank.size()) {
    return refuse();
  }
  out.bytes = std::move(*bytes);
  return out;
}

}  // namespace

bool is_tiktoken(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, std::min<size_t>(bytes.find('\n'), 4096));
  const size_t space = line.find(' ');
  return space != line.npos && from_base64(line.substr(0, space)).has_value();
}

Value model_of_tiktoken(std::string_view bytes) {
  std::vector<RankedToken> tokens;
  size_t number = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    ++number;
    if (end > at) tokens.push_back(token_of(bytes.substr(at, end - at), number));
    if (tokens.size() > kMostTokens) throw Error(Code::kArgument, "too many tokens");
    at = end + 1;
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::unordered_map<std::string_view, uint32_t> ranks;
  Map vocab;
  for (const RankedToken& token : tokens) {
    ranks.emplace(token.bytes, token.rank);
    vocab.set(characters_of_bytes(token.bytes), token.rank);
  }
  // Every pair of tokens that makes a token may be merged, at the rank of what it makes.
  List merges;
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, size_t>> cuts;
  for (const RankedToken& token : tokens) {
    cuts.clear();
    const std::string_view all = token.bytes;
    for (size_t cut = 1; cut < all.size(); ++cut) {
      const auto left = ranks.find(all.substr(0, cut)), right = ranks.find(all.substr(cut));
      if (left == ranks.end() || right == ranks.end()) continue;
      cuts.push_back({{left->second, right->second}, cut});
    }
    std::sort(cuts.begin(), cuts.end());
    for (const auto& [pair, cut] : cuts) {
      merges.push_back(List{Value(characters_of_bytes(all.substr(0, cut))),
                            Value(characters_of_bytes(all.substr(cut)))});
    }
  }
  return Map{{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", std::move(merges)}};
}

}  // namespace rtrain::text
