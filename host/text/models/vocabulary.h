// host/text/models/vocabulary.h: tokens and their ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/base/value.h"

namespace rtrain::text {

// More tokens than any vocabulary has: a file with more is refused.
inline constexpr size_t kMostTokens = 4'000'000;

class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  // {"token": id, …}. Throws Error(kArgument) for ids that are none or far apart, and for too many.
  static Vocabulary from_map(const Map& map);

  // Replaces the id of a token that is there. Throws Error(kArgument) for an id far above the
  // number of tokens, and for too many.
  void add(std::string_view token, uint32_t id);

  std::optional<uint32_t> id_of(std::string_view token) const;
  // nullopt for an id without a token.
  std::optional<std::string_view> token_of(uint32_t id) const;
  bool has(std::string_view token) const { return ids_.contains(token); }
  size_t size() const { return ids_.size(); }
  // One more than the largest id.
  size_t end_id() const { return tokens_.size(); }
  size_t longest() const { return longest_; }  // bytes of the longest token
  Map to_map() const;                          // in the order of ids

 private:
  std::string_view keep(std::string_view token);

  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t used_ = 0, capacity_ = 0;
  std::unordered_map<std::string_view, uint32_t> ids_;
  std::vector<std::string_view> tokens_;  // by id; without data where there is none
  size_t longest_ = 0;
};

}  // namespace rtrain::text
