#include "host/text/models/bpe.h"

#include <array>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {

std::string byte_token(unsigned char byte) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  return cat("<0x", kDigits[byte >> 4], kDigits[byte & 15], ">");
}

namespace {

// Reads one merge: "a b" or ["a", "b"].
std::pair<std::string, std::string> merge_of(const Value& value, size_t rank) {
  const auto refuse = [&]() -> std::pair<std::string, std::string> {
    throw Error(Code::kArgument, cat("model: 'merges': entry ", rank, " is not a pair of tokens"));
  };
  if (value.is_list()) {
    const List& pair = value.as_list();
    if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) return refuse();
    return {pair[0].as_string(), pair[1].as_string()};
  }
  if (!value.is_string()) return refuse();
  const std::string& line = value.as_string();
  const size_t space = line.find(' ');
  if (space == line.npos || line.find(' ', space + 1) != line.npos) return refuse();
  return {line.substr(0, space), line.substr(space + 1)};
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options)
    : vocabulary_(std::move(vocabulary)), table_(merges.size()), options_(std::move(options)) {
  const size_t prefix = options_.continuing_subword_prefix.size();
  const auto id_of = [&](const std::string& token, size_t rank) {
    const auto id = vocabulary_.id_of(token);
    if (!id) {
      throw Error(Code::kArgument, cat("model: 'merges': entry ", rank, " needs the token '", token,
                                       "', which the vocabulary lacks"));
    }
    return *id;
  };
  pairs_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const uint32_t left_id = id_of(left, rank), right_id = id_of(right, rank);
    if (right.size() < prefix) id_of("", rank);
    const uint32_t id = id_of(left + right.substr(std::min(prefix, right.size())), rank);
    pairs_.emplace_back(left_id, right_id);
    table_.set(left_id, right_id, {static_cast<uint32_t>(rank), id});
  }
  if (options_.unk_token) unk_id_ = vocabulary_.id_of(*options_.unk_token);
}

std::unique_ptr<Bpe> Bpe::from_value(const Value& component) {
  const Fields fields(component, "model");
  BpeOptions options;
  options.dropout = fields.number("dropout", 0);
  if (!(options.dropout >= 0 && options.dropout <= 1)) {
    fields.refuse("dropout", "a number between 0 and 1");
  }
  options.unk_token = fields.optional_text("unk_token");
  options.continuing_subword_prefix = fields.text("continuing_subword_prefix", "");
  options.end_of_word_suffix = fields.text("end_of_word_suffix", "");
  options.fuse_unk = fields.boolean("fuse_unk", false);
  options.byte_fallback = fields.boolean("byte_fallback", false);
  options.ignore_merges = fields.boolean("ignore_merges", false);
  const List& list = fields.list("merges");
  if (list.size() > 2 * kMostTokens) {
    throw Error(Code::kArgument,
                cat("model: ", list.size(), " merges; at most ", 2 * kMostTokens, " are read"));
  }
  Merges merges;
  merges.reserve(list.size());
  for (size_t rank = 0; rank < list.size(); ++rank) merges.push_back(merge_of(list[rank], rank));
  return std::make_unique<Bpe>(Vocabulary::from_map(fields.map("vocab")), merges, options);
}

// The symbols that a piece begins with, one for each character or byte.
class Bpe::Word {
 public:
  Word(const Bpe& model, std::string_view piece, Symbols& out)
      : model_(model), piece_(piece), out_(out) {}

  void run() {
    for (size_t at = 0; at < piece_.size();) {
      const uint32_t bytes = bytes_of_first(static_cast<unsigned char>(piece_[at]));
      add_character(at, bytes);
      at += bytes;
    }
    flush_unk();
  }

 private:
  void add_character(size_t at, uint32_t bytes) {
    const BpeOptions& options = model_.options_;
    std::string_view token = piece_.substr(at, bytes);
    std::string longer;
    const bool has_prefix = at > 0 && !options.continuing_subword_prefix.empty();
    const bool has_suffix = at + bytes == piece_.size() && !options.end_of_word_suffix.empty();
    if (has_prefix || has_suffix) {
      if (has_prefix) longer = options.continuing_subword_prefix;
      longer += token;
      if (has_suffix) longer += options.end_of_word_suffix;
      token = longer;
    }
    if (const auto id = model_.vocabulary_.id_of(token)) {
      flush_unk();
      return out_.add(*id, bytes);
    }
    if (options.byte_fallback && add_bytes(token)) return;
    if (options.unk_token) add_unk(bytes);
  }

  bool add_bytes(std::string_view token) {
    std::vector<uint32_t> ids;
    for (const char byte : token) {
      const auto id = model_.vocabulary_.id_of(byte_token(static_cast<unsigned char>(byte)));
      if (!id) return false;
      ids.push_back(*id);
    }
    for (const uint32_t id : ids) out_.add(id, 1);
    return true;
  }

  void add_unk(uint32_t bytes) {
    if (!model_.unk_id_) {
      throw Error(Code::kArgument, cat("model: the vocabulary lacks the unk_token '",
                                       *model_.options_.unk_token, "'"));
    }
    if (!model_.options_.fuse_unk) flush_unk();
    unk_bytes_ += bytes;
  }

  void flush_unk() {
    if (unk_bytes_ > 0) out_.add(*model_.unk_id_, unk_bytes_);
    unk_bytes_ = 0;
  }

  const Bpe& model_;
  std::string_view piece_;
  Symbols& out_;
  uint32_t unk_bytes_ = 0;
};

void Bpe::add_tokens(const Symbols& symbols, std::vector<Token>& out) const {
  uint32_t at = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Range range{at, at + symbols.bytes[i]};
    out.push_back({symbols.ids[i], std::string(*vocabulary_.token_of(symbols.ids[i])), range});
    at = range.end;
  }
}

void Bpe::tokenize(std::string_view piece, std::vector<Token>& out) const {
  if (piece.empty()) return;
  if (options_.ignore_merges && options_.dropout <= 0) {
    if (const auto id = vocabulary_.id_of(piece)) {
      out.push_back({*id, std::string(piece), {0, static_cast<uint32_t>(piece.size())}});
      return;
    }
  }
  Symbols symbols;
  Word(*this, piece, symbols).run();
  merge_symbols(table_, symbols, options_.dropout);
  add_tokens(symbols, out);
}

Value Bpe::to_value() const {
  List merges;
  merges.reserve(pairs_.size());
  for (const auto& [left, right] : pairs_) {
    merges.push_back(List{Value(*vocabulary_.token_of(left)), Value(*vocabulary_.token_of(right))});
  }
  const auto text_or_nil = [](const std::string& text) { return text.empty() ? Value() : text; };
  return Map{{"type", "BPE"},
             {"dropout", options_.dropout > 0 ? Value(options_.dropout) : Value()},
             {"unk_token", options_.unk_token ? Value(*options_.unk_token) : Value()},
             {"continuing_subword_prefix", text_or_nil(options_.continuing_subword_prefix)},
             {"end_of_word_suffix", text_or_nil(options_.end_of_word_suffix)},
             {"fuse_unk", options_.fuse_unk},
             {"byte_fallback", options_.byte_fallback},
             {"ignore_merges", options_.ignore_merges},
             {"vocab", vocabulary_.to_map()},
             {"merges", std::move(merges)}};
}

}  // namespace rtrain::text
