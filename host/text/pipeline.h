// host/text/pipeline.h: the components of a tokenizer and what they do one after the other.
//
// A Pipeline that encodes does not change: any thread may use it. A tokenizer that gets more tokens
// makes a new one.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "host/base/value.h"
#include "host/text/added_vocabulary.h"
#include "host/text/decoders/decoder.h"
#include "host/text/encoded.h"
#include "host/text/models/byte_words.h"
#include "host/text/models/model.h"
#include "host/text/normalizers/normalizer.h"
#include "host/text/pre_tokenizers/pre_tokenizer.h"
#include "host/text/processors/processor.h"

namespace rtrain::text {

// The components as tokenizer.json has them; nil for none.
struct Components {
  Value normalizer, pre_tokenizer, post_processor, decoder;
};

class Pipeline {
 public:
  // Throws Error(kArgument), which names the component that is wrong.
  Pipeline(Components components, std::shared_ptr<const Model> model, AddedVocabulary added);

  // A pipeline with more tokens.
  std::shared_ptr<const Pipeline> with_tokens(const std::vector<AddedToken>& tokens,
                                              size_t& num_added) const;

  // Throws Error(kArgument) for a text that is not UTF-8 or is longer than 2 GiB.
  Encoding encode(std::string_view text, uint32_t type_id) const;
  // The same by byte-level BPE; nullopt where that cannot be.
  std::optional<ByteTokens> encode_bytes(std::string_view text) const;
  Encoding to_encoding(const ByteTokens& tokens) const;

  // The ids that the post-processor puts before and after a text's; nullopt if it does more.
  struct Frame {
    std::vector<uint32_t> before, after;
  };
  const std::optional<Frame>& frame(bool add_special_tokens) const {
    return frames_[add_special_tokens ? 1 : 0];
  }
  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const;
  size_t num_added_tokens(bool is_pair) const;

  std::string decode(const std::vector<uint32_t>& ids, bool skip_special_tokens) const;

  // Calls see(word) for each piece that the model would see, without regard to added tokens. With
  // words_are_bytes() they are bytes, which the model would see as characters that stand for them.
  void each_word(std::string_view text, const std::function<void(std::string_view)>& see) const;
  bool words_are_bytes() const { return scanner_.has_value(); }

  const Components& components() const { return components_; }
  const Model& model() const { return *model_; }
  const AddedVocabulary& added() const { return added_; }
  std::optional<uint32_t> id_of(std::string_view token) const;
  std::optional<std::string_view> token_of(uint32_t id) const;

 private:
  std::optional<Frame> find_frame(bool add_special_tokens) const;
  PreTokenized pre_tokenize(std::string_view text) const;
  std::unique_ptr<ByteWords::Cache> take_cache() const;
  void return_cache(std::unique_ptr<ByteWords::Cache> cache) const;

  Components components_;
  std::shared_ptr<const Model> model_;
  AddedVocabulary added_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<Processor> processor_;
  std::unique_ptr<Decoder> decoder_;
  std::optional<WordScanner> scanner_;  // where it alone cuts words
  std::unique_ptr<ByteWords> byte_words_;
  std::optional<Frame> frames_[2];
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ByteWords::Cache>> caches_;
};

}  // namespace rtrain::text
