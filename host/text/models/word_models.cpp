#include "host/text/models/word_models.h"

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

uint32_t id_of_unknown(const Vocabulary& vocabulary, const std::string& token) {
  const auto id = vocabulary.id_of(token);
  if (!id) {
    throw Error(Code::kArgument, cat("model: the vocabulary lacks the unk_token '", token, "'"));
  }
  return *id;
}

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, std::string unk_token, std::string prefix,
                     uint32_t longest_word)
    : vocabulary_(std::move(vocabulary)),
      unk_token_(std::move(unk_token)),
      prefix_(std::move(prefix)),
      longest_word_(longest_word) {
  for (uint32_t id = 0; id < vocabulary_.end_id(); ++id) {
    const std::string_view token = vocabulary_.token_of(id).value_or("");
    if (!token.empty()) first_.add(token, id);
    if (token.size() > prefix_.size() && token.starts_with(prefix_)) {
      within_.add(token.substr(prefix_.size()), id);
    }
  }
}

std::unique_ptr<WordPiece> WordPiece::from_value(const Value& component) {
  const Fields fields(component, "model");
  return std::make_unique<WordPiece>(Vocabulary::from_map(fields.map("vocab")),
                                     fields.text("unk_token", "[UNK]"),
                                     fields.text("continuing_subword_prefix", "##"),
                                     fields.count("max_input_chars_per_word", 100));
}

// The longest token at each place. False where there is none.
bool WordPiece::cut(std::string_view piece, std::vector<Token>& out) const {
  for (size_t begin = 0; begin < piece.size();) {
    size_t length = 0;
    uint32_t id = 0;
    const ByteTrie& trie = begin == 0 ? first_ : within_;
    trie.each_prefix(piece.substr(begin), [&](size_t longer, uint32_t its_id) {
      length = longer;
      id = its_id;
    });
    if (length == 0) return false;
    const Range range{static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + length)};
    out.push_back({id, std::string(*vocabulary_.token_of(id)), range});
    begin += length;
  }
  return true;
}

void WordPiece::tokenize(std::string_view piece, std::vector<Token>& out) const {
  const size_t before = out.size();
  if (count_characters(piece) <= longest_word_ && cut(piece, out)) return;
  out.resize(before);
  const uint32_t id = id_of_unknown(vocabulary_, unk_token_);
  out.push_back({id, unk_token_, {0, static_cast<uint32_t>(piece.size())}});
}

Value WordPiece::to_value() const {
  return Map{{"type", "WordPiece"},
             {"unk_token", unk_token_},
             {"continuing_subword_prefix", prefix_},
             {"max_input_chars_per_word", longest_word_},
             {"vocab", vocabulary_.to_map()}};
}

WordLevel::WordLevel(Vocabulary vocabulary, std::string unk_token)
    : vocabulary_(std::move(vocabulary)), unk_token_(std::move(unk_token)) {}

std::unique_ptr<WordLevel> WordLevel::from_value(const Value& component) {
  const Fields fields(component, "model");
  return std::make_unique<WordLevel>(Vocabulary::from_map(fields.map("vocab")),
                                     fields.text("unk_token", "<unk>"));
}

void WordLevel::tokenize(std::string_view piece, std::vector<Token>& out) const {
  const Range range{0, static_cast<uint32_t>(piece.size())};
  if (const auto id = vocabulary_.id_of(piece)) {
    out.push_back({*id, std::string(piece), range});
  } else {
    out.push_back({id_of_unknown(vocabulary_, unk_token_), unk_token_, range});
  }
}

Value WordLevel::to_value() const {
  return Map{{"type", "WordLevel"}, {"vocab", vocabulary_.to_map()}, {"unk_token", unk_token_}};
}

}  // namespace rtrain::text
