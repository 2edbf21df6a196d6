#include <array>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/tokenizer.h"

namespace rtrain::text {
namespace {

constexpr size_t kLargestFile = size_t{128} << 20;

constexpr size_t kLongestPadding = size_t{1} << 24;  // tokens

AddedToken added_token(const Value& value, bool special = false) {
  AddedToken out;
  if (value.is_string()) {
    out.content = value.as_string();
    out.special = special;
    out.normalized = !special;
    return out;
  }
  const Fields fields(value, "added_tokens");
  out.content = fields.text("content");
  out.single_word = fields.boolean("single_word", false);
  out.lstrip = fields.boolean("lstrip", false);
  out.rstrip = fields.boolean("rstrip", false);
  out.special = fields.boolean("special", special);
  out.normalized = fields.boolean("normalized", !out.special);
  return out;
}

Side side_of(const Fields& fields) {
  const std::string side = fields.text("direction", "Right");
  if (side == "Left") return Side::kLeft;
  if (side != "Right") fields.refuse("direction", "Left or Right");
  return Side::kRight;
}

constexpr std::array<const char*, 3> kStrategies = {"LongestFirst", "OnlyFirst", "OnlySecond"};

Truncation truncation_of(const Value& value) {
  const Fields fields(value, "truncation");
  Truncation out;
  out.max_length = fields.count("max_length");
  out.stride = fields.count("stride", 0);
  out.side = side_of(fields);
  const std::string strategy = fields.text("strategy", "LongestFirst");
  for (size_t i = 0; i < kStrategies.size(); ++i) {
    if (strategy != kStrategies[i]) continue;
    out.strategy = static_cast<TruncationStrategy>(i);
    return out;
  }
  fields.refuse("strategy", "LongestFirst, OnlyFirst or OnlySecond");
}

PaddingOptions padding_of(const Value& value) {
  const Fields fields(value, "padding");
  PaddingOptions out;
  out.padding.id = fields.count("pad_id", 0);
  out.padding.type_id = fields.count("pad_type_id", 0);
  out.padding.token = fields.text("pad_token", "[PAD]");
  out.padding.side = side_of(fields);
  if (fields.find("pad_to_multiple_of") != nullptr) {
    out.multiple_of = fields.count("pad_to_multiple_of");
  }
  if (out.multiple_of > kLongestPadding) {
    fields.refuse("pad_to_multiple_of", cat("at most ", kLongestPadding));
  }
  const Value* strategy = fields.find("strategy");
  if (strategy != nullptr && strategy->is_map()) {
    const Fields fixed(*strategy, "padding: 'strategy'");
    out.length = fixed.count("Fixed");
    if (out.length > kLongestPadding) fixed.refuse("Fixed", cat("at most ", kLongestPadding));
  }
  return out;
}

Value to_value(const Truncation& truncation) {
  return Map{{"direction", truncation.side == Side::kLeft ? "Left" : "Right"},
             {"max_length", truncation.max_length},
             {"strategy", kStrategies[static_cast<size_t>(truncation.strategy)]},
             {"stride", truncation.stride}};
}

Value to_value(const PaddingOptions& options) {
  return Map{{"strategy", options.length ? Value(Map{{"Fixed", *options.length}}) : "BatchLongest"},
             {"direction", options.padding.side == Side::kLeft ? "Left" : "Right"},
             {"pad_to_multiple_of", options.multiple_of ? Value(*options.multiple_of) : Value()},
             {"pad_id", options.padding.id},
             {"pad_type_id", options.padding.type_id},
             {"pad_token", options.padding.token}};
}

Value to_value(uint32_t id, const AddedToken& token) {
  return Map{{"id", id},
             {"content", token.content},
             {"single_word", token.single_word},
             {"lstrip", token.lstrip},
             {"rstrip", token.rstrip},
             {"normalized", token.normalized},
             {"special", token.special}};
}

Value or_nil(const Fields& fields, const char* name) {
  const Value* value = fields.find(name);
  return value == nullptr ? Value() : *value;
}

// Writes all fields of ByteLevel, which are optional here: Python's tokenizers reads no other.
Value completed(const Value& component) {
  if (component.is_list()) {
    List out;
    for (const Value& each : component.as_list()) out.push_back(completed(each));
    return out;
  }
  if (!component.is_map()) return component;
  Map out;
  for (const auto& [name, value] : component.as_map()) out.set(name, completed(value));
  if (component["type"] != Value("ByteLevel")) return out;
  for (const char* name : {"add_prefix_space", "trim_offsets", "use_regex"}) {
    if (component[name].is_nil()) out.set(name, true);
  }
  return out;
}

}  // namespace

Tokenizer Tokenizer::from_json(std::string_view json) {
  if (json.size() > kLargestFile) {
    throw Error(Code::kArgument, cat("tokenizer.json of ", json.size(), " bytes; at most ",
                                     kLargestFile, " are read"));
  }
  return from_value(rtrain::from_json(json));
}

Tokenizer Tokenizer::from_value(const Value& value) {
  const Fields fields(value, "tokenizer.json");
  std::shared_ptr<const Model> model = make_model(fields.get("model"));
  Components components{or_nil(fields, "normalizer"), or_nil(fields, "pre_tokenizer"),
                        or_nil(fields, "post_processor"), or_nil(fields, "decoder")};
  AddedVocabulary added;
  if (fields.find("added_tokens") != nullptr) {
    std::vector<AddedToken> tokens;
    for (const Value& token : fields.list("added_tokens")) tokens.push_back(added_token(token));
    std::unique_ptr<Normalizer> normalizer;
    if (!components.normalizer.is_nil()) normalizer = make_normalizer(components.normalizer);
    added.add(tokens, model->vocabulary(), normalizer.get());
  }
  Tokenizer out(
      std::make_shared<Pipeline>(std::move(components), std::move(model), std::move(added)));
  out.set_truncation(or_nil(fields, "truncation"));
  out.set_padding(or_nil(fields, "padding"));
  return out;
}

void Tokenizer::set_truncation(const Value& component) {
  truncation = component.is_nil() ? std::nullopt : std::optional(truncation_of(component));
}

void Tokenizer::set_padding(const Value& component) {
  padding = component.is_nil() ? std::nullopt : std::optional(padding_of(component));
}

Value Tokenizer::truncation_value() const { return truncation ? to_value(*truncation) : Value(); }
Value Tokenizer::padding_value() const { return padding ? to_value(*padding) : Value(); }

size_t Tokenizer::add_tokens(const Value& tokens, bool special) {
  std::vector<AddedToken> out;
  for (const Value& token : tokens.as_list()) out.push_back(added_token(token, special));
  return add_tokens(out);
}

std::string Tokenizer::to_json(bool pretty) const {
  List added;
  for (const auto& [id, token] : pipeline_->added().tokens()) {
    added.push_back(to_value(id, token));
  }
  const Components& components = pipeline_->components();
  const Value value = Map{{"version", "1.0"},
                          {"truncation", truncation_value()},
                          {"padding", padding_value()},
                          {"added_tokens", std::move(added)},
                          {"normalizer", components.normalizer},
                          {"pre_tokenizer", completed(components.pre_tokenizer)},
                          {"post_processor", completed(components.post_processor)},
                          {"decoder", completed(components.decoder)},
                          {"model", pipeline_->model().to_value()}};
  return rtrain::to_json(value, pretty ? 2 : 0);
}

}  // namespace rtrain::text
