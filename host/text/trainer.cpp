#include "host/text/trainer.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/pieces/byte_characters.h"
#include "host/text/trainers/bpe_trainer.h"
#include "host/text/trainers/unigram_trainer.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

using Words = std::vector<std::pair<std::string, uint64_t>>;

std::string content_of(const Value& token) {
  return token.is_string() ? token.as_string() : Fields(token, "special_tokens").text("content");
}

std::vector<std::string> special_tokens(const Fields& options) {
  std::vector<std::string> out;
  if (options.find("special_tokens") == nullptr) return out;
  for (const Value& token : options.list("special_tokens")) {
    std::string content = content_of(token);
    if (std::find(out.begin(), out.end(), content) == out.end()) out.push_back(std::move(content));
  }
  return out;
}

std::optional<size_t> optional_count(const Fields& options, const char* name) {
  if (options.find(name) == nullptr) return {};
  return options.count(name);
}

// The first character of each string.
std::string initial_alphabet(const Fields& options) {
  std::string out;
  if (options.find("initial_alphabet") == nullptr) return out;
  for (const Value& part : options.list("initial_alphabet")) {
    if (!part.is_string()) options.refuse("initial_alphabet", "a list of strings");
    const std::string& text = part.as_string();
    if (!text.empty()) append_character(out, character_at(text, 0).code);
  }
  return out;
}

BpeTrainerOptions bpe_options(const Fields& options, std::string_view prefix,
                              std::string_view suffix) {
  BpeTrainerOptions out;
  out.vocab_size = options.count("vocab_size", 30000);
  out.min_frequency = options.count("min_frequency", 0);
  out.special_tokens = special_tokens(options);
  out.initial_alphabet = initial_alphabet(options);
  out.limit_alphabet = optional_count(options, "limit_alphabet");
  out.max_token_length = optional_count(options, "max_token_length");
  out.continuing_subword_prefix = options.text("continuing_subword_prefix", prefix);
  out.end_of_word_suffix = options.text("end_of_word_suffix", suffix);
  return out;
}

Map vocab_of(const std::vector<std::string>& tokens) {
  Map out;
  for (size_t id = 0; id < tokens.size(); ++id) out.set(tokens[id], id);
  return out;
}

Value learned_bpe(const Words& words, const Fields& options, Map model) {
  const auto made = bpe_options(options, model["continuing_subword_prefix"].string_or(""),
                                model["end_of_word_suffix"].string_or(""));
  const LearnedBpe learned = train_bpe(words, made);
  List merges;
  for (const auto& [left, right] : learned.merges) merges.push_back(List{left, right});
  model.set("vocab", vocab_of(learned.tokens));
  model.set("merges", std::move(merges));
  const auto text_or_nil = [](const std::string& text) { return text.empty() ? Value() : text; };
  model.set("continuing_subword_prefix", text_or_nil(made.continuing_subword_prefix));
  model.set("end_of_word_suffix", text_or_nil(made.end_of_word_suffix));
  return model;
}

Value learned_word_piece(const Words& words, const Fields& options, Map model) {
  const auto made = bpe_options(options, model["continuing_subword_prefix"].string_or("##"), "");
  model.set("vocab", vocab_of(train_bpe(words, made).tokens));
  model.set("continuing_subword_prefix", made.continuing_subword_prefix);
  return model;
}

std::string unk_token_of(const Map& unigram) {
  const Value& unk_id = unigram["unk_id"];
  if (unk_id.is_nil()) return "<unk>";
  const auto id = static_cast<size_t>(unk_id.as_int());
  return unigram["vocab"].as_list()[id].as_list()[0].as_string();
}

Value learned_unigram(const Words& words, const Fields& options, Map model) {
  UnigramTrainerOptions made;
  made.vocab_size = options.count("vocab_size", 8000);
  made.special_tokens = special_tokens(options);
  for (const char32_t c : characters_of(initial_alphabet(options))) made.initial_alphabet.insert(c);
  made.unk_token = options.text("unk_token", unk_token_of(model));
  made.shrinking_factor = options.number("shrinking_factor", made.shrinking_factor);
  made.max_piece_length = options.count("max_piece_length", 16);
  made.n_sub_iterations = options.count("n_sub_iterations", 2);
  made.seed_size = options.count("seed_size", 1'000'000);
  if (!(made.shrinking_factor > 0 && made.shrinking_factor < 1)) {
    options.refuse("shrinking_factor", "a number between 0 and 1");
  }
  LearnedUnigram learned = train_unigram(words, made);
  List vocab;
  for (auto& [token, score] : learned.scores) vocab.push_back(List{std::move(token), score});
  model.set("vocab", std::move(vocab));
  model.set("unk_id", learned.unk_id);
  return model;
}

// The most frequent words.
Value learned_word_level(Words words, const Fields& options, Map model) {
  const size_t most = options.count("vocab_size", 30000);
  const uint64_t least = options.count("min_frequency", 0);
  std::stable_sort(words.begin(), words.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> tokens = special_tokens(options);
  for (auto& [word, count] : words) {
    if (tokens.size() >= most) break;
    if (count >= least) tokens.push_back(std::move(word));
  }
  model.set("vocab", vocab_of(tokens));
  return model;
}

}  // namespace

Trainer::Trainer(const Tokenizer& tokenizer, Value options)
    : pipeline_(tokenizer.shared_pipeline()),
      truncation_(tokenizer.truncation),
      padding_(tokenizer.padding),
      options_(std::move(options)) {
  const Fields fields(options_, "train_new_from_iterator");
  if (fields.count("vocab_size", 1) > kMostTokens) {
    fields.refuse("vocab_size", cat("at most ", kMostTokens));
  }
  special_tokens(fields);
}

void Trainer::feed(std::span<const std::string_view> texts) {
  for (const std::string_view text : texts) {
    pipeline_->each_word(text, [&](std::string_view word) { counts_.add(word); });
  }
}

Value Trainer::learned_model() const {
  const bool are_bytes = pipeline_->words_are_bytes();
  Words words;
  for (const auto& [word, count] : counts_.sorted()) {
    words.emplace_back(are_bytes ? characters_of_bytes(word) : std::string(word), count);
  }
  const Fields options(options_, "train_new_from_iterator");
  Map model = pipeline_->model().to_value().as_map();
  const std::string type = model["type"].as_string();
  if (type == "BPE") return learned_bpe(words, options, std::move(model));
  if (type == "WordPiece") return learned_word_piece(words, options, std::move(model));
  if (type == "Unigram") return learned_unigram(words, options, std::move(model));
  return learned_word_level(std::move(words), options, std::move(model));
}

Tokenizer Trainer::train() const {
  const Components& components = pipeline_->components();
  Tokenizer out(
      std::make_shared<Pipeline>(components, make_model(learned_model()), AddedVocabulary()));
  out.truncation = truncation_;
  out.padding = padding_;
  const Value& specials = options_["special_tokens"];
  if (!specials.is_nil()) out.add_tokens(specials, true);
  return out;
}

}  // namespace rtrain::text
