// host/text/tokenizer.h: a tokenizer as tokenizer.json describes it.
//
// encode() and decode() may run on several threads at once, but not while another function changes
// the tokenizer.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/text/pipeline.h"

namespace rtrain::text {

enum class TruncationStrategy { kLongestFirst, kOnlyFirst, kOnlySecond };

struct Truncation {
  size_t max_length = 512;
  size_t stride = 0;  // tokens that a part that is cut off has in common with the one before it
  TruncationStrategy strategy = TruncationStrategy::kLongestFirst;
  Side side = Side::kRight;
};

struct PaddingOptions {
  Padding padding;
  std::optional<size_t> length;  // of all; nullopt: that of the longest of a batch
  std::optional<size_t> multiple_of;
};

struct EncodeInput {
  std::string_view text;
  std::optional<std::string_view> pair;
};

struct EncodeOptions {
  bool add_special_tokens = true;
  bool overflowing = false;  // keeps what truncation cuts off
};

class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

  // Reads tokenizer.json. Throws Error(kArgument), which says what is wrong with it.
  static Tokenizer from_json(std::string_view json);
  static Tokenizer from_value(const Value& tokenizer);
  std::string to_json(bool pretty) const;

  // Throws Error(kArgument) for a text that is not UTF-8, where the model lacks its unknown token,
  // and where the stride is too long for the overflowing parts or they are too many.
  Encoded encode(const EncodeInput& input, const EncodeOptions& options = {}) const;
  // On this number of threads, 0: all cores. The first error of the list is thrown.
  std::vector<Encoded> encode_batch(const std::vector<EncodeInput>& inputs,
                                    const EncodeOptions& options, size_t num_threads) const;
  // Ids without a token are left out.
  std::string decode(const std::vector<uint32_t>& ids, bool skip_special_tokens) const {
    return pipeline_->decode(ids, skip_special_tokens);
  }
  std::vector<std::string> decode_batch(const std::vector<std::vector<uint32_t>>& ids,
                                        bool skip_special_tokens, size_t num_threads) const;

  // Returns how many are new.
  size_t add_tokens(const std::vector<AddedToken>& tokens);
  // The same of a list of strings and of maps as in tokenizer.json. `special` is the flag where a
  // map has none.
  size_t add_tokens(const Value& tokens, bool special);

  // All tokens with their ids, in the order of ids.
  std::vector<std::pair<std::string, uint32_t>> vocabulary(bool with_added_tokens) const;

  size_t vocabulary_size(bool with_added_tokens) const;

  const Pipeline& pipeline() const { return *pipeline_; }
  std::shared_ptr<const Pipeline> shared_pipeline() const { return pipeline_; }

  // Sets them to components of tokenizer.json, nil for none. Throws Error(kArgument) for what is
  // wrong with one.
  void set_truncation(const Value& component);
  void set_padding(const Value& component);
  Value truncation_value() const;
  Value padding_value() const;

  std::optional<Truncation> truncation;
  std::optional<PaddingOptions> padding;

 private:
  Encoded encode_unpadded(const EncodeInput& input, const EncodeOptions& options) const;
  void truncate(std::vector<Encoding>& encodings, const EncodeOptions& options) const;
  void split(std::vector<Encoding>& encodings, const std::array<size_t, 2>& lengths) const;
  void pad(std::vector<Encoded>& batch) const;

  std::shared_ptr<const Pipeline> pipeline_;
};

}  // namespace rtrain::text
