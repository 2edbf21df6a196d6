#include "host/text/models/vocabulary.h"

#include <algorithm>
#include <cstring>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"

namespace rtrain::text {
namespace {

constexpr size_t kChunkBytes = 1 << 16;
constexpr size_t kLargestId = 16 * kMostTokens;

}  // namespace

Vocabulary Vocabulary::from_map(const Map& map) {
  if (map.size() > kMostTokens) {
    throw Error(Code::kArgument, cat("model: a vocabulary of ", map.size(), " tokens; at most ",
                                     kMostTokens, " are read"));
  }
  Vocabulary out;
  out.ids_.reserve(map.size());
  for (const auto& [key, value] : map) {
    const auto id = as_count(value);
    if (!id) {
      throw Error(Code::kArgument, cat("model: 'vocab': the id of token '", key_text(key),
                                       "' is not a whole number from 0 on"));
    }
    out.add(key_text(key), *id);
  }
  return out;
}

std::string_view Vocabulary::keep(std::string_view token) {
  if (token.size() + 1 > capacity_ - used_) {
    capacity_ = std::max(kChunkBytes, token.size() + 1);
    chunks_.push_back(std::make_unique<char[]>(capacity_));
    used_ = 0;
  }
  char* const at = chunks_.back().get() + used_;
  std::memcpy(at, token.data(), token.size());
  used_ += token.size() + 1;
  return {at, token.size()};
}

void Vocabulary::add(std::string_view token, uint32_t id) {
  if (id > kLargestId || ids_.size() >= kMostTokens) {
    throw Error(Code::kArgument,
                cat("model: token '", token, "' has the id ", id, "; at most ", kMostTokens,
                    " tokens with ids up to ", kLargestId, " are read"));
  }
  if (id >= tokens_.size()) tokens_.resize(id + size_t{1});
  if (const auto found = ids_.find(token); found != ids_.end()) {
    tokens_[id] = found->first;
    found->second = id;
    return;
  }
  const std::string_view kept = keep(token);
  ids_.emplace(kept, id);
  tokens_[id] = kept;
  longest_ = std::max(longest_, token.size());
}

std::optional<uint32_t> Vocabulary::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return {};
  return found->second;
}

std::optional<std::string_view> Vocabulary::token_of(uint32_t id) const {
  if (id >= tokens_.size() || tokens_[id].data() == nullptr) return {};
  return tokens_[id];
}

Map Vocabulary::to_map() const {
  std::vector<std::pair<uint32_t, std::string_view>> entries;
  entries.reserve(ids_.size());
  for (const auto& [token, id] : ids_) entries.emplace_back(id, token);
  std::sort(entries.begin(), entries.end());
  Map out;
  for (const auto& [id, token] : entries) out.set(std::string(token), id);
  return out;
}

}  // namespace rtrain::text
