#include "host/text/formats/pretrained.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/files/input_file.h"
#include "host/base/text/base64.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/formats/sentencepiece.h"
#include "host/text/formats/tiktoken.h"

namespace rtrain::text {
namespace {

constexpr uint64_t kLargestFile = uint64_t{128} << 20;

std::optional<std::string> read(const std::string& folder, const char* name) {
  const std::string path = cat(folder, "/", name);
  if (!std::filesystem::exists(path)) return {};
  const InputFile file(path, InputFile::Access::kCopy);
  if (file.size() > kLargestFile) {
    throw Error(Code::kArgument, cat(path, ": larger than ", kLargestFile, " bytes"));
  }
  std::string out(file.size(), '\0');
  file.read(0, out.data(), out.size());
  return out;
}

// Runs make() and puts the file's name before its errors.
template <class Make>
auto naming(const std::string& folder, const char* name, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw Error(error.code(), cat(folder, "/", name, ": ", error.message()));
  }
}

Value read_json(const std::string& folder, const char* name) {
  const auto text = read(folder, name);
  if (!text) return Map{};
  Value value = naming(folder, name, [&] { return from_json(*text); });
  if (!value.is_map()) throw Error(Code::kArgument, cat(folder, "/", name, ": not a map"));
  return value;
}

// A token of a configuration: its text, or a map with it.
std::optional<std::string> content_of(const Value& token) {
  if (token.is_string()) return token.as_string();
  if (!token.is_map() || !token["content"].is_string()) return {};
  return token["content"].as_string();
}

constexpr const char* kSpecialNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                         "pad_token", "cls_token", "mask_token"};

Value literal(const char* text) { return Map{{"String", text}}; }
Value expression(const char* text) { return Map{{"Regex", text}}; }

Value replace(Value pattern, const char* content) {
  return Map{{"type", "Replace"}, {"pattern", std::move(pattern)}, {"content", content}};
}

Value sequence(const char* field, List parts) {
  return Map{{"type", "Sequence"}, {field, std::move(parts)}};
}

Value byte_level(bool add_prefix_space, bool use_regex) {
  return Map{{"type", "ByteLevel"},
             {"add_prefix_space", add_prefix_space},
             {"trim_offsets", true},
             {"use_regex", use_regex}};
}

Value split(const char* pattern) {
  return Map{{"type", "Split"},
             {"pattern", expression(pattern)},
             {"behavior", "Isolated"},
             {"invert", false}};
}

constexpr const char* kCl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The files of a folder and what was found in them.
class Reader {
 public:
  explicit Reader(const std::string& folder)
      : folder_(folder),
        config_(read_json(folder, "tokenizer_config.json")),
        class_(config_["tokenizer_class"].string_or("")) {
    if (class_.ends_with("Fast")) class_.resize(class_.size() - 4);
  }

  Pretrained run() {
    Pretrained out;
    read_special_tokens(out);
    read_chat_template(out);
    specials_ = &out.special_tokens;
    out.tokenizer = tokenizer();
    add_default_tokens(out);
    add_tokens(out);
    return out;
  }

 private:
  bool flag(const char* name, bool fallback) const {
    const Value& value = config_[name];
    return value.is_bool() ? value.as_bool() : fallback;
  }

  void read_special_tokens(Pretrained& out) const {
    const Value map = read_json(folder_, "special_tokens_map.json");
    for (const Value* source : {&map, &config_}) {
      for (const char* name : kSpecialNames) {
        if (auto content = content_of((*source)[name])) {
          out.special_tokens.set(name, std::move(*content));
        }
      }
    }
  }

  void read_chat_template(Pretrained& out) const {
    if (auto text = read(folder_, "chat_template.jinja")) {
      out.chat_template = std::move(*text);
      return;
    }
    const Value& value = config_["chat_template"];
    if (value.is_string()) out.chat_template = value;
    if (!value.is_list()) return;
    for (const Value& each : value.as_list()) {
      if (each.is_map() && each["name"] == Value("default")) out.chat_template = each["template"];
    }
  }

  // The names that BERT's tokens have where the folder says nothing.
  static void add_default_tokens(Pretrained& out) {
    const Value& model = out.tokenizer.as_map()["model"];
    const bool is_made = out.tokenizer["added_tokens"].is_nil();
    if (!is_made || !model.is_map() || model["type"] != Value("WordPiece")) return;
    for (const char* token : {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"}) {
      std::string name = std::string(token).substr(1, std::string_view(token).size() - 2);
      for (char& c : name) c = static_cast<char>(c - 'A' + 'a');
      name += "_token";
      if (out.special_tokens[name].is_nil()) out.special_tokens.set(name, token);
    }
  }

  void add_tokens(Pretrained& out) const {
    const Value& decoder = config_["added_tokens_decoder"];
    std::vector<std::pair<int64_t, Value>> tokens;
    if (decoder.is_map()) {
      for (const auto& [key, token] : decoder.as_map()) {
        tokens.emplace_back(std::atoll(key_text(key).c_str()), token);
      }
    }
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [id, token] : tokens) out.added_tokens.push_back(std::move(token));
    const Value added = read_json(folder_, "added_tokens.json");
    std::vector<std::pair<int64_t, std::string>> more;
    for (const auto& [key, id] : added.as_map()) {
      if (id.is_int()) more.emplace_back(id.as_int(), key_text(key));
    }
    std::sort(more.begin(), more.end());
    const auto is_there = [&](const std::string& content) {
      return std::any_of(out.added_tokens.begin(), out.added_tokens.end(),
                         [&](const Value& token) { return content_of(token) == content; });
    };
    for (const auto& [id, content] : more) {
      if (!is_there(content)) out.added_tokens.push_back(content);
    }
    for (const auto& [name, token] : out.special_tokens) {
      if (is_there(token.as_string())) continue;
      out.added_tokens.push_back(Map{{"content", token}, {"special", true}});
    }
  }

  Value tokenizer() const {
    if (const auto text = read(folder_, "tokenizer.json")) {
      return naming(folder_, "tokenizer.json", [&] { return from_json(*text); });
    }
    for (const char* name :
         {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "qwen.tiktoken"}) {
      const auto bytes = read(folder_, name);
      if (!bytes) continue;
      return naming(folder_, name, [&] {
        return is_tiktoken(*bytes) ? of_tiktoken(*bytes) : of_sentencepiece(*bytes);
      });
    }
    if (const auto merges = read(folder_, "merges.txt")) {
      return naming(folder_, "merges.txt", [&] { return of_merges(*merges); });
    }
    if (const auto vocab = read(folder_, "vocab.txt")) return of_word_piece(*vocab);
    throw Error(Code::kNotFound, cat(folder_,
                                     " has no tokenizer: none of tokenizer.json, tokenizer.model, "
                                     "spiece.model, merges.txt, vocab.txt"));
  }

  // Template with special tokens around a text, which the vocabulary must have.
  static Value around(const Map& vocab, const std::vector<std::string>& before,
                      const std::vector<std::string>& after) {
    Map specials;
    const auto parts = [&](const char* sequence, uint32_t type_id) {
      List out;
      const auto add = [&](const std::vector<std::string>& tokens) {
        for (const std::string& token : tokens) {
          out.push_back(Map{{"SpecialToken", Map{{"id", token}, {"type_id", type_id}}}});
          const Value* id = vocab.find(token);
          specials.set(token, Map{{"id", token},
                                  {"ids", List{id == nullptr ? Value(0) : *id}},
                                  {"tokens", List{Value(token)}}});
        }
      };
      add(before);
      out.push_back(Map{{"Sequence", Map{{"id", sequence}, {"type_id", type_id}}}});
      add(after);
      return out;
    };
    List single = parts("A", 0), pair = single;
    for (Value& part : parts("B", 1)) pair.push_back(std::move(part));
    return Map{{"type", "TemplateProcessing"},
               {"single", std::move(single)},
               {"pair", std::move(pair)},
               {"special_tokens", std::move(specials)}};
  }

  std::string special(const char* name, const char* fallback) const {
    return (*specials_)[name].string_or(fallback);
  }

  Value of_tiktoken(std::string_view bytes) const {
    Map model = model_of_tiktoken(bytes).as_map();
    const bool is_qwen = class_.starts_with("Qwen");
    return Map{{"pre_tokenizer", sequence("pretokenizers", {split(is_qwen ? kQwen2 : kCl100k),
                                                            byte_level(false, false)})},
               {"normalizer", is_qwen ? Value(Map{{"type", "NFC"}}) : Value()},
               {"post_processor", byte_level(false, true)},
               {"decoder", byte_level(true, true)},
               {"model", std::move(model)}};
  }

  Value of_sentencepiece(std::string_view bytes) const {
    const SentencePieceModel model = read_sentencepiece(bytes);
    Map vocab;
    List added;
    for (uint32_t id = 0; id < model.pieces.size(); ++id) {
      const auto& piece = model.pieces[id];
      vocab.set(piece.text, id);
      using Type = SentencePieceModel::PieceType;
      const bool is_control = piece.type == Type::kControl || piece.type == Type::kUnknown;
      if (is_control || piece.type == Type::kUserDefined) {
        added.push_back(Map{
            {"id", id}, {"content", piece.text}, {"normalized", false}, {"special", is_control}});
      }
    }
    Map out = model.kind == SentencePieceModel::Kind::kBpe ? bpe_pipeline(model)
                                                           : unigram_pipeline(model);
    out.set("added_tokens", std::move(added));
    out.set("post_processor", post_processor(model, vocab));
    out.set("model", model_of_sentencepiece(model));
    return out;
  }

  Value post_processor(const SentencePieceModel& model, const Map& vocab) const {
    const auto text_of = [&](int64_t id) {
      const bool is_there = id >= 0 && id < static_cast<int64_t>(model.pieces.size());
      return is_there ? model.pieces[static_cast<size_t>(id)].text : std::string();
    };
    const bool is_bpe = model.kind == SentencePieceModel::Kind::kBpe;
    std::vector<std::string> before, after;
    if (flag("add_bos_token", is_bpe))
      before.push_back(special("bos_token", text_of(model.bos_id).c_str()));
    if (flag("add_eos_token", !is_bpe))
      after.push_back(special("eos_token", text_of(model.eos_id).c_str()));
    std::erase(before, "");
    std::erase(after, "");
    return before.empty() && after.empty() ? Value() : around(vocab, before, after);
  }

  Map bpe_pipeline(const SentencePieceModel& model) const {
    List steps,
        undo{replace(literal("▁"), " "), Map{{"type", "ByteFallback"}}, Map{{"type", "Fuse"}}};
    if (class_.starts_with("Gemma") || !model.add_dummy_prefix) {
      return Map{{"normalizer", replace(literal(" "), "▁")},
                 {"pre_tokenizer", Map{{"type", "Split"},
                                       {"pattern", literal(" ")},
                                       {"behavior", "MergedWithPrevious"},
                                       {"invert", false}}},
                 {"decoder", sequence("decoders", std::move(undo))}};
    }
    undo.push_back(Map{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    if (!flag("legacy", false)) {
      return Map{{"pre_tokenizer", Map{{"type", "Metaspace"},
                                       {"replacement", "▁"},
                                       {"prepend_scheme", "first"},
                                       {"split", false}}},
                 {"decoder", sequence("decoders", std::move(undo))}};
    }
    steps.push_back(Map{{"type", "Prepend"}, {"prepend", "▁"}});
    steps.push_back(replace(literal(" "), "▁"));
    return Map{{"normalizer", sequence("normalizers", std::move(steps))},
               {"decoder", sequence("decoders", std::move(undo))}};
  }

  static Map unigram_pipeline(const SentencePieceModel& model) {
    List steps;
    if (!model.charsmap.empty()) {
      steps.push_back(
          Map{{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(model.charsmap)}});
    }
    steps.push_back(Map{{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    steps.push_back(replace(expression(" {2,}"), "▁"));
    const Value metaspace = Map{{"type", "Metaspace"},
                                {"replacement", "▁"},
                                {"prepend_scheme", model.add_dummy_prefix ? "always" : "never"},
                                {"split", true}};
    return Map{{"normalizer", sequence("normalizers", std::move(steps))},
               {"pre_tokenizer", metaspace},
               {"decoder", metaspace}};
  }

  // vocab.json and merges.txt: GPT-2, RoBERTa, Qwen 2.
  Value of_merges(std::string_view text) const {
    const Value vocab = read_json(folder_, "vocab.json");
    List merges;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty() && !(at == 0 && line.starts_with("#version"))) merges.push_back(line);
      at = end + 1;
    }
    const bool adds_space = flag("add_prefix_space", false);
    Map out{{"pre_tokenizer", byte_level(adds_space, true)},
            {"post_processor", Map{{"type", "ByteLevel"},
                                   {"add_prefix_space", true},
                                   {"trim_offsets", false},
                                   {"use_regex", true}}},
            {"decoder", byte_level(true, true)},
            {"model", Map{{"type", "BPE"}, {"vocab", vocab}, {"merges", std::move(merges)}}}};
    if (class_.starts_with("Qwen2")) {
      out.set("normalizer", Map{{"type", "NFC"}});
      out.set("pre_tokenizer",
              sequence("pretokenizers", {split(kQwen2), byte_level(adds_space, false)}));
    }
    if (class_.starts_with("Roberta")) {
      const auto pair = [&](const char* name, const char* fallback) {
        const std::string token = special(name, fallback);
        return List{Value(token), vocab[token].is_nil() ? Value(0) : vocab[token]};
      };
      out.set("post_processor", Map{{"type", "RobertaProcessing"},
                                    {"sep", pair("sep_token", "</s>")},
                                    {"cls", pair("cls_token", "<s>")},
                                    {"trim_offsets", true},
                                    {"add_prefix_space", adds_space}});
    }
    return out;
  }

  // vocab.txt: BERT.
  Value of_word_piece(std::string_view text) const {
    Map vocab;
    uint32_t id = 0;
    for (size_t at = 0; at < text.size(); ++id) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      if (line.ends_with('\r')) line.remove_suffix(1);
      vocab.set(std::string(line), id);
      at = end + 1;
    }
    const Value& accents = config_["strip_accents"];
    const Value processor =
        around(vocab, {special("cls_token", "[CLS]")}, {special("sep_token", "[SEP]")});
    Map fixed = processor.as_map();
    // "[CLS] A [SEP] B [SEP]": the second part has no [CLS].
    List& pair = fixed.find("pair")->as_list();
    pair.erase(pair.begin() + 3);
    return Map{{"normalizer", Map{{"type", "BertNormalizer"},
                                  {"clean_text", true},
                                  {"handle_chinese_chars", flag("tokenize_chinese_chars", true)},
                                  {"strip_accents", accents.is_bool() ? accents : Value()},
                                  {"lowercase", flag("do_lower_case", true)}}},
               {"pre_tokenizer", Map{{"type", "BertPreTokenizer"}}},
               {"post_processor", std::move(fixed)},
               {"decoder", Map{{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
               {"model", Map{{"type", "WordPiece"},
                             {"unk_token", special("unk_token", "[UNK]")},
                             {"continuing_subword_prefix", "##"},
                             {"max_input_chars_per_word", 100},
                             {"vocab", std::move(vocab)}}}};
  }

  std::string folder_;
  Value config_;
  std::string class_;
  const Map* specials_ = nullptr;
};

}  // namespace

Pretrained read_pretrained(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(Code::kNotFound, cat(folder, " is not a folder"));
  }
  return Reader(folder).run();
}

}  // namespace rtrain::text
