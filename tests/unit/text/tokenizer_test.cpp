#include "host/text/tokenizer.h"

#include <gtest/gtest.h>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/text/decode_stream.h"
#include "host/text/pieces/byte_characters.h"
#include "host/text/trainer.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

std::string message_of(std::string_view json) {
  try {
    Tokenizer::from_json(json);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

// Byte-level BPE over all bytes with these merges.
Tokenizer byte_level(const List& merges, const std::string& pre_tokenizer) {
  Map vocab;
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocab.set(to_utf8(character_of_byte(static_cast<unsigned char>(byte))), byte);
  }
  uint32_t id = 256;
  for (const Value& merge : merges) {
    vocab.set(merge.as_list()[0].as_string() + merge.as_list()[1].as_string(), id++);
  }
  const Value value =
      Map{{"pre_tokenizer", from_json(pre_tokenizer)},
          {"decoder", Map{{"type", "ByteLevel"}}},
          {"added_tokens", List{Map{{"id", 300}, {"content", "<s>"}, {"special", true}}}},
          {"model", Map{{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
  return Tokenizer::from_value(value);
}

constexpr const char* kFast =
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
// The same cuts, by the general way.
constexpr const char* kSlow =
    R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]})";

TEST(Tokenizer, both_ways_of_byte_level_bpe_agree) {
  const List merges = {List{"a", "b"}, List{"ab", "c"}, List{"Ġ", "abc"}, List{"Ã", "©"}};
  const Tokenizer fast = byte_level(merges, kFast), slow = byte_level(merges, kSlow);
  ASSERT_TRUE(fast.pipeline().encode_bytes("a"));
  ASSERT_FALSE(slow.pipeline().encode_bytes("a"));
  for (const char* text : {"", "abc abc", "é <s>abé", "👍 abcabc\n\n x", "<s><s>"}) {
    Encoded a = fast.encode({text, {}}), b = slow.encode({text, {}});
    EXPECT_EQ(a.ids(), b.ids()) << text;
    EXPECT_EQ(a.full().tokens, b.full().tokens) << text;
    EXPECT_EQ(a.full().offsets, b.full().offsets) << text;
    EXPECT_EQ(fast.decode(a.ids(), false), text);
  }
}

TEST(Tokenizer, a_long_word_is_merged_as_a_short_one) {
  const Tokenizer tokenizer = byte_level({List{"a", "a"}, List{"aa", "aa"}}, kFast);
  const std::string word(1'000'001, 'a');
  const auto ids = tokenizer.encode({word, {}}).ids();
  EXPECT_EQ(ids.size(), 250'001u);
  EXPECT_EQ(ids.front(), 257u);
  EXPECT_EQ(ids.back(), static_cast<uint32_t>('a'));
}

TEST(Tokenizer, a_text_that_is_not_utf8_is_refused) {
  const Tokenizer tokenizer = byte_level({}, kFast);
  EXPECT_THROW(tokenizer.encode({"a\xff", {}}), Error);
  EXPECT_THROW(tokenizer.encode({"\xed\xa0\x80", {}}), Error);
}

TEST(Tokenizer, a_batch_gives_the_first_error) {
  const Tokenizer tokenizer = byte_level({}, kFast);
  const std::vector<EncodeInput> inputs(100, {"abc", {}});
  EXPECT_EQ(tokenizer.encode_batch(inputs, {}, 4).size(), 100u);
  std::vector<EncodeInput> wrong = inputs;
  wrong[50].text = "abcde\xff";
  wrong[90].text = "\xff";
  try {
    tokenizer.encode_batch(wrong, {}, 4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_TRUE(says(error.message(), "position 6")) << error.message();
  }
}

TEST(Tokenizer, a_stream_never_splits_a_character) {
  const Tokenizer tokenizer = byte_level({}, kFast);
  const std::string text = "a é 👍🏽!";
  DecodeStream stream(tokenizer.shared_pipeline(), true);
  std::string all;
  const auto ids = tokenizer.encode({text, {}}).ids();
  for (const uint32_t id : ids) {
    const std::string part = stream.step(id);
    EXPECT_EQ(part.find("\xef\xbf\xbd"), std::string::npos);
    all += part;
  }
  EXPECT_EQ(all + stream.finish(), text);
  EXPECT_EQ(stream.step(0xc3), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
}

TEST(Tokenizer, wrong_files_are_named) {
  EXPECT_TRUE(says(message_of("{"), "not JSON"));
  EXPECT_TRUE(says(message_of("[]"), "tokenizer.json: expected a map"));
  EXPECT_TRUE(says(message_of("{}"), "'model'"));
  EXPECT_TRUE(says(message_of(R"({"model": {"type": "X"}})"), "unknown type 'X'"));
  EXPECT_TRUE(says(message_of(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})"),
                   "the id of token 'a'"));
  EXPECT_TRUE(
      says(message_of(R"({"model": {"type": "BPE", "vocab": {"a": 4294967295}, "merges": []}})"),
           "token 'a' has the id 4294967295"));
  EXPECT_TRUE(
      says(message_of(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})"),
           "needs the token 'b'"));
  EXPECT_TRUE(says(message_of(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["ab"]}})"),
                   "entry 0 is not a pair"));
  EXPECT_TRUE(says(message_of(R"({"padding": {"strategy": {"Fixed": 4000000000}},
      "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})"),
                   "'Fixed': expected at most"));
  std::string deep(5000, '[');
  EXPECT_TRUE(says(message_of(deep), "nested deeper"));
}

TEST(Tokenizer, merges_of_the_empty_token_end) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {"": 0, "a": 1, "aa": 2}, "merges": [["a", ""], ["", "a"], ["a", "a"]]}})");
  EXPECT_EQ(tokenizer.encode({"aaaa", {}}).ids(), (std::vector<uint32_t>{2, 2}));
}

TEST(Tokenizer, what_it_writes_is_what_it_reads) {
  const Tokenizer tokenizer = byte_level({Value(List{"a", "b"})}, kFast);
  const std::string json = tokenizer.to_json(true);
  EXPECT_EQ(Tokenizer::from_json(json).to_json(true), json);
}

TEST(Tokenizer, training_merges_the_most_frequent_pair) {
  const Tokenizer empty = Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": {"type": "Whitespace"}})");
  Trainer trainer(empty, Map{{"vocab_size", 6}, {"special_tokens", List{"<s>"}}});
  const std::vector<std::string_view> texts = {"ab ab", "abc ab bc"};
  trainer.feed(texts);
  const Tokenizer made = trainer.train();
  EXPECT_EQ(made.pipeline().id_of("<s>"), 0u);
  EXPECT_EQ(made.pipeline().id_of("ab"), 4u);
  EXPECT_EQ(made.vocabulary_size(true), 6u);
}

TEST(Tokenizer, unigram_and_word_piece_learn_all_characters) {
  for (
      const char* model :
      {R"({"type": "Unigram", "vocab": [], "unk_id": null})",
       R"({"type": "WordPiece", "vocab": {}, "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100})"}) {
    const Tokenizer empty = Tokenizer::from_json(
        std::string(R"({"pre_tokenizer": {"type": "Whitespace"}, "model": )") + model + "}");
    Trainer trainer(
        empty, Map{{"vocab_size", 40}, {"special_tokens", List{"[UNK]"}}, {"unk_token", "[UNK]"}});
    const std::vector<std::string_view> texts = {"lower lowest slow slower", "the slowest low",
                                                 "low low lower"};
    trainer.feed(texts);
    const Tokenizer made = trainer.train();
    EXPECT_LE(made.vocabulary_size(true), 40u);
    Encoded encoded = made.encode({"lowest slower", {}});
    for (const uint32_t id : encoded.ids()) EXPECT_NE(id, 0u) << model;
    EXPECT_LT(encoded.ids().size(), 10u) << model;
  }
}

}  // namespace
}  // namespace rtrain::text
