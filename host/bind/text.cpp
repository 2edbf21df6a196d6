#include "host/bind/text.h"

#include <array>
#include <memory>

#include "host/lua/class.h"
#include "host/lua/convert.h"
#include "host/text/decode_stream.h"
#include "host/text/formats/pretrained.h"
#include "host/text/packed_ids.h"
#include "host/text/template/chat_template.h"
#include "host/text/tokenizer.h"
#include "host/text/trainer.h"

template <>
struct rtrain::lua::Class<rtrain::text::Tokenizer> {
  using Slot = std::shared_ptr<rtrain::text::Tokenizer>;
  static constexpr const char* kName = "text.Tokenizer";
};

template <>
struct rtrain::lua::Class<rtrain::text::Encoded> {
  using Slot = std::unique_ptr<rtrain::text::Encoded>;
  static constexpr const char* kName = "text.Encoding";
};

template <>
struct rtrain::lua::Class<rtrain::text::DecodeStream> {
  using Slot = std::unique_ptr<rtrain::text::DecodeStream>;
  static constexpr const char* kName = "text.DecodeStream";
};

template <>
struct rtrain::lua::Class<rtrain::text::Trainer> {
  using Slot = std::unique_ptr<rtrain::text::Trainer>;
  static constexpr const char* kName = "text.Trainer";
};

template <>
struct rtrain::lua::Class<rtrain::text::ChatTemplate> {
  using Slot = std::shared_ptr<rtrain::text::ChatTemplate>;
  static constexpr const char* kName = "text.ChatTemplate";
};

namespace rtrain::bind {
namespace {

using text::Tokenizer;

std::string_view text_at(lua_State* L, int index, std::string_view what) {
  if (lua_type(L, index) != LUA_TSTRING) {
    throw Error(Code::kArgument, cat(what, ": expected a string, got ", luaL_typename(L, index)));
  }
  size_t size = 0;
  const char* data = lua_tolstring(L, index, &size);
  return {data, size};
}

uint32_t id_at(lua_State* L, int index) {
  const double number = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : -1;
  if (!(number >= 0 && number <= 4294967295.0) || number != static_cast<uint32_t>(number)) {
    throw Error(Code::kArgument, cat("expected an id, a whole number from 0 on, got ",
                                     lua_type(L, index) == LUA_TNUMBER ? lua_tostring(L, index)
                                                                       : luaL_typename(L, index)));
  }
  return static_cast<uint32_t>(number);
}

void check_list(lua_State* L, int index, std::string_view what) {
  if (lua_type(L, index) != LUA_TTABLE) {
    throw Error(Code::kArgument, cat(what, ": expected a list, got ", luaL_typename(L, index)));
  }
}

std::vector<uint32_t> ids_at(lua_State* L, int index) {
  check_list(L, index, "ids");
  std::vector<uint32_t> out(lua_objlen(L, index));
  for (size_t i = 0; i < out.size(); ++i) {
    lua_rawgeti(L, index, static_cast<int>(i + 1));
    out[i] = id_at(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  return out;
}

// The item stays in its list, which keeps the text alive.
std::string_view item_text(lua_State* L, int list, size_t i, std::string_view what) {
  lua_rawgeti(L, list, static_cast<int>(i + 1));
  const std::string_view item = text_at(L, lua_gettop(L), cat(what, " ", i + 1));
  lua_pop(L, 1);
  return item;
}

std::vector<std::string_view> texts_at(lua_State* L, int index) {
  check_list(L, index, "texts");
  std::vector<std::string_view> out(lua_objlen(L, index));
  for (size_t i = 0; i < out.size(); ++i) out[i] = item_text(L, index, i, "text");
  return out;
}

template <class Items, class Push>
int push_list(lua_State* L, const Items& items, const Push& push) {
  lua_createtable(L, static_cast<int>(items.size()), 0);
  int i = 0;
  for (auto& item : items) {
    push(item);
    lua_rawseti(L, -2, ++i);
  }
  return 1;
}

template <class Numbers>
int push_numbers(lua_State* L, const Numbers& numbers) {
  return push_list(L, numbers, [&](auto number) { lua_pushnumber(L, number); });
}

int from_json(lua_State* L) {
  lua::push<Tokenizer>(
      L, std::make_shared<Tokenizer>(Tokenizer::from_json(text_at(L, 1, "tokenizer.json"))));
  return 1;
}

int from_pretrained(lua_State* L) {
  const text::Pretrained found = text::read_pretrained(std::string(text_at(L, 1, "folder")));
  auto tokenizer = std::make_shared<Tokenizer>(Tokenizer::from_value(found.tokenizer));
  tokenizer->add_tokens(found.added_tokens, false);
  lua::push<Tokenizer>(L, std::move(tokenizer));
  lua::push_value(
      L, Map{{"special_tokens", found.special_tokens}, {"chat_template", found.chat_template}});
  return 2;
}

text::EncodeOptions encode_options_at(lua_State* L, int index) {
  return {lua_toboolean(L, index) != 0, lua_toboolean(L, index + 1) != 0};
}

int encode(lua_State* L) {
  text::EncodeInput input{text_at(L, 2, "text"), {}};
  if (!lua_isnil(L, 3)) input.pair = text_at(L, 3, "pair");
  lua::push<text::Encoded>(L, std::make_unique<text::Encoded>(lua::check<Tokenizer>(L, 1)->encode(
                                  input, encode_options_at(L, 4))));
  return 1;
}

template <class Item>
int push_encodings(lua_State* L, std::vector<Item> items) {
  lua_createtable(L, static_cast<int>(items.size()), 0);
  for (size_t i = 0; i < items.size(); ++i) {
    lua::push<text::Encoded>(L, std::make_unique<text::Encoded>(std::move(items[i])));
    lua_rawseti(L, -2, static_cast<int>(i + 1));
  }
  return 1;
}

int encode_batch(lua_State* L) {
  const auto& tokenizer = lua::check<Tokenizer>(L, 1);
  check_list(L, 2, "texts");
  std::vector<text::EncodeInput> inputs(lua_objlen(L, 2));
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].text = item_text(L, 2, i, "text");
    if (!lua_isnil(L, 3)) inputs[i].pair = item_text(L, 3, i, "pair");
  }
  return push_encodings(L, tokenizer->encode_batch(inputs, encode_options_at(L, 4),
                                                   static_cast<size_t>(luaL_checkint(L, 6))));
}

// tokenizer, texts, {add_special_tokens, separator, id_bytes} → ids, lengths
int pack_ids(lua_State* L) {
  const auto& tokenizer = lua::check<Tokenizer>(L, 1);
  const std::vector<std::string_view> texts = texts_at(L, 2);
  const Value options = lua::to_value(L, 3, "options");
  text::PackOptions pack{options["add_special_tokens"].as_bool(),
                         {},
                         static_cast<size_t>(options["id_bytes"].as_int())};
  if (!options["separator"].is_nil()) {
    pack.separator = static_cast<uint32_t>(options["separator"].as_int());
  }
  const text::PackedIds packed = text::pack_ids(*tokenizer, texts, pack);
  lua_pushlstring(L, packed.ids.data(), packed.ids.size());
  lua_pushlstring(L, packed.lengths.data(), packed.lengths.size());
  return 2;
}

int decode(lua_State* L) {
  const auto& tokenizer = lua::check<Tokenizer>(L, 1);
  lua::push_value(L, tokenizer->decode(ids_at(L, 2), lua_toboolean(L, 3) != 0));
  return 1;
}

int decode_batch(lua_State* L) {
  const auto& tokenizer = lua::check<Tokenizer>(L, 1);
  check_list(L, 2, "ids");
  std::vector<std::vector<uint32_t>> lists(lua_objlen(L, 2));
  for (size_t i = 0; i < lists.size(); ++i) {
    lua_rawgeti(L, 2, static_cast<int>(i + 1));
    lists[i] = ids_at(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  const auto texts = tokenizer->decode_batch(lists, lua_toboolean(L, 3) != 0,
                                             static_cast<size_t>(luaL_checkint(L, 4)));
  return push_list(L, texts, [&](const std::string& text) { lua::push_value(L, text); });
}

int decode_stream(lua_State* L) {
  lua::push<text::DecodeStream>(
      L, std::make_unique<text::DecodeStream>(lua::check<Tokenizer>(L, 1)->shared_pipeline(),
                                              lua_toboolean(L, 2) != 0));
  return 1;
}

int stream_step(lua_State* L) {
  lua::push_value(L, lua::check<text::DecodeStream>(L, 1)->step(id_at(L, 2)));
  return 1;
}

int stream_finish(lua_State* L) {
  lua::push_value(L, lua::check<text::DecodeStream>(L, 1)->finish());
  return 1;
}

int token_to_id(lua_State* L) {
  const auto id = lua::check<Tokenizer>(L, 1)->pipeline().id_of(text_at(L, 2, "token"));
  lua::push_value(L, id ? Value(*id) : Value());
  return 1;
}

int id_to_token(lua_State* L) {
  const auto token = lua::check<Tokenizer>(L, 1)->pipeline().token_of(id_at(L, 2));
  lua::push_value(L, token ? Value(*token) : Value());
  return 1;
}

int vocabulary(lua_State* L) {
  const auto entries = lua::check<Tokenizer>(L, 1)->vocabulary(lua_toboolean(L, 2) != 0);
  lua_createtable(L, 0, static_cast<int>(entries.size()));
  for (const auto& [token, id] : entries) {
    lua_pushlstring(L, token.data(), token.size());
    lua_pushnumber(L, id);
    lua_rawset(L, -3);
  }
  return 1;
}

int vocabulary_size(lua_State* L) {
  const size_t size = lua::check<Tokenizer>(L, 1)->vocabulary_size(lua_toboolean(L, 2) != 0);
  lua_pushnumber(L, static_cast<double>(size));
  return 1;
}

int add_tokens(lua_State* L) {
  const size_t added = lua::check<Tokenizer>(L, 1)->add_tokens(lua::to_value(L, 2, "tokens"),
                                                               lua_toboolean(L, 3) != 0);
  lua_pushnumber(L, static_cast<double>(added));
  return 1;
}

int num_special_tokens(lua_State* L) {
  const auto& pipeline = lua::check<Tokenizer>(L, 1)->pipeline();
  lua_pushnumber(L, static_cast<double>(pipeline.num_added_tokens(lua_toboolean(L, 2) != 0)));
  return 1;
}

int truncation(lua_State* L) {
  lua::push_value(L, lua::check<Tokenizer>(L, 1)->truncation_value());
  return 1;
}

int padding(lua_State* L) {
  lua::push_value(L, lua::check<Tokenizer>(L, 1)->padding_value());
  return 1;
}

int set_truncation(lua_State* L) {
  lua::check<Tokenizer>(L, 1)->set_truncation(lua::to_value(L, 2, "truncation"));
  return 0;
}

int set_padding(lua_State* L) {
  lua::check<Tokenizer>(L, 1)->set_padding(lua::to_value(L, 2, "padding"));
  return 0;
}

int to_json(lua_State* L) {
  lua::push_value(L, lua::check<Tokenizer>(L, 1)->to_json(lua_toboolean(L, 2) != 0));
  return 1;
}

int encoding_ids(lua_State* L) { return push_numbers(L, lua::check<text::Encoded>(L, 1)->ids()); }

int encoding_tokens(lua_State* L) {
  return push_list(
      L, lua::check<text::Encoded>(L, 1)->full().tokens,
      [&](const std::string& token) { lua_pushlstring(L, token.data(), token.size()); });
}

int encoding_offsets(lua_State* L) {
  return push_list(L, lua::check<text::Encoded>(L, 1)->full().offsets, [&](const auto& range) {
    lua_createtable(L, 2, 0);
    lua_pushnumber(L, range.begin);
    lua_rawseti(L, -2, 1);
    lua_pushnumber(L, range.end);
    lua_rawseti(L, -2, 2);
  });
}

int encoding_type_ids(lua_State* L) {
  return push_numbers(L, lua::check<text::Encoded>(L, 1)->full().type_ids);
}

int encoding_attention(lua_State* L) {
  return push_numbers(L, lua::check<text::Encoded>(L, 1)->full().attention);
}

int encoding_special(lua_State* L) {
  return push_numbers(L, lua::check<text::Encoded>(L, 1)->full().special);
}

int encoding_overflowing(lua_State* L) {
  return push_encodings(L, lua::check<text::Encoded>(L, 1)->take_overflowing());
}

int encoding_size(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(lua::check<text::Encoded>(L, 1)->ids().size()));
  return 1;
}

int chat_template(lua_State* L) {
  lua::push<text::ChatTemplate>(
      L, std::make_shared<text::ChatTemplate>(text_at(L, 1, "chat template")));
  return 1;
}

int render(lua_State* L) {
  const Value variables = lua::to_value(L, 2, "variables");
  lua::push_value(L, lua::check<text::ChatTemplate>(L, 1)->render(variables.as_map()));
  return 1;
}

int new_trainer(lua_State* L) {
  lua::push<text::Trainer>(L, std::make_unique<text::Trainer>(*lua::check<Tokenizer>(L, 1),
                                                              lua::to_value(L, 2, "options")));
  return 1;
}

int feed(lua_State* L) {
  const std::vector<std::string_view> texts = texts_at(L, 2);
  lua::check<text::Trainer>(L, 1)->feed(texts);
  return 0;
}

int train(lua_State* L) {
  lua::push<Tokenizer>(L, std::make_shared<Tokenizer>(lua::check<text::Trainer>(L, 1)->train()));
  return 1;
}

constexpr std::array kTrainerMethods = {
    lua::method<&feed>("feed"),
    lua::method<&train>("train"),
};

constexpr std::array kTemplateMethods = {
    lua::method<&render>("render"),
};

constexpr std::array kTokenizerMethods = {
    lua::method<&encode>("encode"),
    lua::method<&encode_batch>("encode_batch"),
    lua::method<&pack_ids>("pack_ids"),
    lua::method<&decode>("decode"),
    lua::method<&decode_batch>("decode_batch"),
    lua::method<&decode_stream>("decode_stream"),
    lua::method<&token_to_id>("token_to_id"),
    lua::method<&id_to_token>("id_to_token"),
    lua::method<&vocabulary>("vocabulary"),
    lua::method<&vocabulary_size>("vocabulary_size"),
    lua::method<&add_tokens>("add_tokens"),
    lua::method<&num_special_tokens>("num_special_tokens"),
    lua::method<&truncation>("truncation"),
    lua::method<&padding>("padding"),
    lua::method<&set_truncation>("set_truncation"),
    lua::method<&set_padding>("set_padding"),
    lua::method<&to_json>("to_json"),
    lua::method<&new_trainer>("trainer"),
};

constexpr std::array kEncodingMethods = {
    lua::method<&encoding_ids>("ids"),
    lua::method<&encoding_tokens>("tokens"),
    lua::method<&encoding_offsets>("offsets"),
    lua::method<&encoding_type_ids>("type_ids"),
    lua::method<&encoding_attention>("attention_mask"),
    lua::method<&encoding_special>("special_tokens_mask"),
    lua::method<&encoding_overflowing>("overflowing"),
    lua::method<&encoding_size>("size"),
};

constexpr std::array kStreamMethods = {
    lua::method<&stream_step>("step"),
    lua::method<&stream_finish>("finish"),
};

constexpr std::array kFunctions = {
    lua::method<&from_json>("from_json"),
    lua::method<&from_pretrained>("from_pretrained"),
    lua::method<&chat_template>("chat_template"),
};

}  // namespace

int open_text(lua_State* L) {
  lua::register_class<Tokenizer>(L, kTokenizerMethods);
  lua::register_class<text::Encoded>(L, kEncodingMethods);
  lua::register_class<text::DecodeStream>(L, kStreamMethods);
  lua::register_class<text::ChatTemplate>(L, kTemplateMethods);
  lua::register_class<text::Trainer>(L, kTrainerMethods);
  lua::push_functions(L, kFunctions);
  return 1;
}

}  // namespace rtrain::bind
