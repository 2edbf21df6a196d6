#include "host/text/pipeline.h"

#include <limits>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/base/text/utf8.h"
#include "host/text/pieces/byte_characters.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr size_t kLongestText = std::numeric_limits<int32_t>::max();

void check_text(std::string_view text) {
  if (text.size() > kLongestText) {
    throw Error(Code::kArgument, cat("a text of ", text.size(), " bytes is longer than 2 GiB"));
  }
  if (is_utf8(text)) return;
  const std::string fixed = replace_invalid(text);
  size_t at = 0;
  while (at < text.size() && at < fixed.size() && text[at] == fixed[at]) ++at;
  throw Error(Code::kArgument, cat("the text is not UTF-8: invalid byte at position ", at + 1));
}

// Gives the number of the character at a byte, for bytes in rising order.
class CharacterCounter {
 public:
  explicit CharacterCounter(std::string_view text) : text_(text) {}

  // The range of characters that these bytes are part of.
  Range of(uint32_t begin, uint32_t end) {
    if (end <= begin) return {at(begin), at(begin)};
    const uint32_t first = at(begin);
    return {first, at(end - 1) + 1};
  }

 private:
  uint32_t at(uint32_t byte) {
    if (byte < byte_) {
      byte_ = 0;
      count_ = 0;
    }
    for (; byte_ < byte; ++byte_) {
      count_ += (static_cast<unsigned char>(text_[byte_]) & 0xc0) != 0x80;
    }
    const bool is_inside =
        byte < text_.size() && (static_cast<unsigned char>(text_[byte]) & 0xc0) == 0x80;
    return count_ - (is_inside ? 1 : 0);
  }

  std::string_view text_;
  uint32_t byte_ = 0;
  uint32_t count_ = 0;  // characters that begin before byte_
};

}  // namespace

Pipeline::Pipeline(Components components, std::shared_ptr<const Model> model, AddedVocabulary added)
    : components_(std::move(components)), model_(std::move(model)), added_(std::move(added)) {
  const Components& c = components_;
  if (!c.normalizer.is_nil()) normalizer_ = make_normalizer(c.normalizer);
  if (!c.pre_tokenizer.is_nil()) pre_tokenizer_ = make_pre_tokenizer(c.pre_tokenizer);
  if (!c.post_processor.is_nil()) processor_ = make_processor(c.post_processor);
  if (!c.decoder.is_nil()) decoder_ = make_decoder(c.decoder);
  const auto* bpe = dynamic_cast<const Bpe*>(model_.get());
  scanner_ = byte_level_scanner(c.pre_tokenizer);
  if (bpe != nullptr && scanner_) byte_words_ = ByteWords::make(*bpe, *scanner_);
  frames_[0] = find_frame(false);
  frames_[1] = find_frame(true);
}

std::shared_ptr<const Pipeline> Pipeline::with_tokens(const std::vector<AddedToken>& tokens,
                                                      size_t& num_added) const {
  AddedVocabulary added = added_;
  num_added = added.add(tokens, model_->vocabulary(), normalizer_.get());
  return std::make_shared<Pipeline>(components_, model_, std::move(added));
}

std::optional<Pipeline::Frame> Pipeline::find_frame(bool add_special_tokens) const {
  constexpr uint32_t kText = std::numeric_limits<uint32_t>::max();
  std::vector<Encoding> encodings(1);
  encodings[0].add(kText, "", {}, 0);
  process(encodings, add_special_tokens);
  Frame frame;
  bool is_after = false;
  for (const Encoding& encoding : encodings) {
    for (const uint32_t id : encoding.ids) {
      if (id == kText) {
        if (is_after) return {};
        is_after = true;
      } else {
        (is_after ? frame.after : frame.before).push_back(id);
      }
    }
  }
  if (!is_after) return {};
  return frame;
}

void Pipeline::process(std::vector<Encoding>& encodings, bool add_special_tokens) const {
  if (processor_) processor_->process(encodings, add_special_tokens);
  for (size_t i = 1; i < encodings.size(); ++i) encodings[0].append(encodings[i]);
  encodings.resize(1);
}

size_t Pipeline::num_added_tokens(bool is_pair) const {
  return processor_ ? processor_->num_added(is_pair) : 0;
}

PreTokenized Pipeline::pre_tokenize(std::string_view text) const {
  PreTokenized out(text);
  const auto cut = [&](NormalizedString piece, bool normalized) {
    std::vector<AddedVocabulary::Part> parts;
    added_.find(piece.text(), normalized, parts);
    std::vector<Piece> pieces;
    if (parts.size() == 1 && !parts[0].id) {
      pieces.push_back({std::move(piece), {}});
      return pieces;
    }
    for (const auto& part : parts) {
      Piece made{piece.slice(part.begin, part.end), {}};
      if (part.id) {
        const Range range{0, static_cast<uint32_t>(part.end - part.begin)};
        made.tokens = std::vector{Token{*part.id, made.text.text(), range}};
      }
      pieces.push_back(std::move(made));
    }
    return pieces;
  };
  out.split([&](NormalizedString piece) { return cut(std::move(piece), false); });
  out.split([&](NormalizedString piece) {
    if (normalizer_) normalizer_->normalize(piece);
    return cut(std::move(piece), true);
  });
  if (pre_tokenizer_) pre_tokenizer_->pre_tokenize(out);
  return out;
}

Encoding Pipeline::encode(std::string_view text, uint32_t type_id) const {
  check_text(text);
  PreTokenized pieces = pre_tokenize(text);
  CharacterCounter characters(text);
  Encoding out;
  std::vector<Token> made;
  for (Piece& piece : pieces.pieces()) {
    made.clear();
    if (piece.tokens) {
      made.swap(*piece.tokens);
    } else {
      model_->tokenize(piece.text.text(), made);
    }
    for (Token& token : made) {
      const Range bytes = piece.text.original(token.range.begin, token.range.end);
      out.add(token.id, std::move(token.text), characters.of(bytes.begin, bytes.end), type_id);
    }
  }
  return out;
}

void Pipeline::each_word(std::string_view text,
                         const std::function<void(std::string_view)>& see) const {
  check_text(text);
  if (scanner_ && (!normalizer_ || normalizer_->leaves(text))) {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const char* const next = (*scanner_)(at, end);
      see({at, static_cast<size_t>(next - at)});
      at = next;
    }
    return;
  }
  PreTokenized pieces(text);
  if (normalizer_) {
    pieces.normalize([&](NormalizedString& piece) { normalizer_->normalize(piece); });
  }
  if (pre_tokenizer_) pre_tokenizer_->pre_tokenize(pieces);
  for (const Piece& piece : pieces.pieces()) {
    see(scanner_ ? *bytes_of_characters(piece.text.text()) : piece.text.text());
  }
}

std::unique_ptr<ByteWords::Cache> Pipeline::take_cache() const {
  const std::lock_guard lock(mutex_);
  if (caches_.empty()) return std::make_unique<ByteWords::Cache>();
  auto cache = std::move(caches_.back());
  caches_.pop_back();
  return cache;
}

void Pipeline::return_cache(std::unique_ptr<ByteWords::Cache> cache) const {
  const std::lock_guard lock(mutex_);
  caches_.push_back(std::move(cache));
}

std::optional<ByteTokens> Pipeline::encode_bytes(std::string_view text) const {
  if (!byte_words_) return {};
  check_text(text);
  if (normalizer_ && !normalizer_->leaves(text)) return {};
  ByteTokens out;
  out.text = text;
  out.ids.reserve(text.size() / 4 + 16);
  out.ends.reserve(text.size() / 4 + 16);
  auto cache = take_cache();
  std::vector<AddedVocabulary::Part> parts, inner;
  added_.find(text, false, parts);
  const auto add_token = [&](uint32_t id, size_t end) {
    out.added.push_back(static_cast<uint32_t>(out.ids.size()));
    out.ids.push_back(id);
    out.ends.push_back(static_cast<uint32_t>(end));
  };
  for (const auto& part : parts) {
    if (part.id) {
      add_token(*part.id, part.end);
      continue;
    }
    inner.clear();
    added_.find(text.substr(part.begin, part.end - part.begin), true, inner);
    for (const auto& piece : inner) {
      const size_t begin = part.begin + piece.begin, end = part.begin + piece.end;
      if (piece.id) {
        add_token(*piece.id, end);
      } else {
        byte_words_->encode(text.substr(begin, end - begin), static_cast<uint32_t>(begin), *cache,
                            out.ids, out.ends);
      }
    }
  }
  return_cache(std::move(cache));
  return out;
}

Encoding Pipeline::to_encoding(const ByteTokens& tokens) const {
  Encoding out;
  CharacterCounter characters(tokens.text);
  auto added = tokens.added.begin();
  uint32_t begin = 0;
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    const uint32_t end = tokens.ends[i];
    std::string token;
    if (added != tokens.added.end() && *added == i) {
      token = tokens.text.substr(begin, end - begin);
      ++added;
    } else {
      token = *model_->vocabulary().token_of(tokens.ids[i]);
    }
    out.add(tokens.ids[i], std::move(token), characters.of(begin, end), 0);
    begin = end;
  }
  return out;
}

const Encoding& Encoded::full() {
  if (!full_) {
    std::vector<Encoding> encodings;
    encodings.push_back(pipeline_->to_encoding(tokens_));
    pipeline_->process(encodings, add_special_tokens_);
    full_ = std::move(encodings[0]);
    tokens_ = {};
  }
  return *full_;
}

Encoding Encoded::take() {
  full();
  return std::move(*full_);
}

std::string Pipeline::decode(const std::vector<uint32_t>& ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  for (const uint32_t id : ids) {
    const auto token = token_of(id);
    if (!token) continue;
    if (skip_special_tokens && added_.is_special(id)) continue;
    tokens.emplace_back(*token);
  }
  if (!decoder_) return join(tokens, " ");
  if (tokens.empty()) return {};
  decoder_->decode(tokens);
  return join(tokens, "");
}

std::optional<uint32_t> Pipeline::id_of(std::string_view token) const {
  const auto id = added_.id_of(token);
  return id ? id : model_->vocabulary().id_of(token);
}

std::optional<std::string_view> Pipeline::token_of(uint32_t id) const {
  const auto token = added_.token_of(id);
  return token ? token : model_->vocabulary().token_of(id);
}

}  // namespace rtrain::text
