// host/text/added_vocabulary.h: tokens that are found in a text before the model sees it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/text/models/byte_trie.h"
#include "host/text/models/vocabulary.h"
#include "host/text/normalizers/normalizer.h"

namespace rtrain::text {

struct AddedToken {
  std::string content;
  bool single_word = false;  // found between words alone
  bool lstrip = false;       // takes white space before it too
  bool rstrip = false;
  bool normalized = true;  // found in the normalized text
  bool special = false;    // left out by decode() on request
  bool operator==(const AddedToken&) const = default;
};

class AddedVocabulary {
 public:
  // A part of a text: an added token, or what lies between them.
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    std::optional<uint32_t> id;
  };

  // Adds tokens, or changes those that are there. A token of the model keeps its id, another one
  // gets the next one. Returns how many are new.
  size_t add(const std::vector<AddedToken>& tokens, const Vocabulary& model,
             const Normalizer* normalizer);

  // Appends parts that cover the text. `normalized`: looks for the tokens with this flag.
  void find(std::string_view text, bool normalized, std::vector<Part>& out) const;

  std::optional<uint32_t> id_of(std::string_view token) const;
  // The normalized text, for a token with that flag.
  std::optional<std::string_view> token_of(uint32_t id) const;
  // Not for one whose normalized text is another, as in tokenizers.
  bool is_special(uint32_t id) const;
  const std::map<uint32_t, AddedToken>& tokens() const { return tokens_; }
  bool empty() const { return tokens_.empty(); }

 private:
  struct Finder {
    ByteTrie trie;
    std::array<bool, 256> first{};
    size_t num_first = 0;
    void add(std::string_view content, uint32_t id);
    // The position from `at` on where a token may begin; the size of the text without one.
    size_t next(std::string_view text, size_t at) const;
  };
  uint32_t next_id(const Vocabulary& model) const;
  void refresh(const Normalizer* normalizer);
  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  std::map<uint32_t, AddedToken> tokens_;
  std::map<std::string, uint32_t, std::less<>> ids_;
  std::map<uint32_t, std::string> shown_;  // the normalized texts
  std::shared_ptr<const Finder> raw_ = std::make_shared<Finder>();
  std::shared_ptr<const Finder> normalized_ = std::make_shared<Finder>();
};

}  // namespace rtrain::text
