#include <array>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/patterns/pattern_field.h"
#include "host/text/pieces/byte_characters.h"
#include "host/text/pre_tokenizers/pre_tokenizer.h"
#include "host/text/pre_tokenizers/scripts.h"
#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {
namespace {

SplitBehavior behavior_field(const Fields& fields, const char* fallback) {
  static constexpr std::array<std::pair<const char*, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  const std::string name =
      fallback == nullptr ? fields.text("behavior") : fields.text("behavior", fallback);
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  throw Error(Code::kArgument, cat(fields.what(), ": unknown behavior '", name, "'"));
}

bool is_punctuation(char32_t c) {
  const bool is_ascii = (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
                        (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return is_ascii || (class_of(c) & kPunctuation);
}

// Splits at a pattern.
class Split final : public PreTokenizer {
 public:
  Split(PatternPointer pattern, SplitBehavior behavior, bool invert = false)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void pre_tokenize(PreTokenized& text) const override {
    text.split_text(
        [&](const NormalizedString& piece) { return piece.split(*pattern_, behavior_, invert_); });
  }

 private:
  PatternPointer pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

std::unique_ptr<PreTokenizer> split_characters(bool (*is_match)(char32_t), SplitBehavior behavior) {
  return std::make_unique<Split>(character_pattern(is_match), behavior);
}

class Sequence final : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<PreTokenizer>> parts) : parts_(std::move(parts)) {}
  void pre_tokenize(PreTokenized& text) const override {
    for (const auto& part : parts_) part->pre_tokenize(text);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::unique_ptr<PreTokenizer> sequence(const Fields& fields) {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  for (const Value& part : fields.list("pretokenizers")) parts.push_back(make_pre_tokenizer(part));
  return std::make_unique<Sequence>(std::move(parts));
}

std::unique_ptr<PreTokenizer> bert() {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  parts.push_back(split_characters(&is_space, SplitBehavior::kRemoved));
  parts.push_back(split_characters(&is_punctuation, SplitBehavior::kIsolated));
  return std::make_unique<Sequence>(std::move(parts));
}

class ByteLevel final : public PreTokenizer {
 public:
  explicit ByteLevel(const Fields& fields)
      : add_prefix_space_(fields.boolean("add_prefix_space")),
        use_regex_(fields.boolean("use_regex", true)),
        pattern_(regex_pattern(kGpt2Pattern)) {}

  void pre_tokenize(PreTokenized& text) const override {
    text.split_text([&](NormalizedString piece) {
      if (add_prefix_space_ && !piece.text().starts_with(' ')) piece.prepend(" ");
      if (!use_regex_) return std::vector{std::move(piece)};
      return piece.split(*pattern_, SplitBehavior::kIsolated);
    });
    text.normalize([](NormalizedString& piece) { piece.to_byte_characters(); });
  }

 private:
  bool add_prefix_space_, use_regex_;
  PatternPointer pattern_;
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(const Fields& fields)
      : replacement_(fields.character("replacement")),
        text_(to_utf8(replacement_)),
        scheme_(fields.text("prepend_scheme", "always")),
        split_(fields.boolean("split", true)),
        space_(literal_pattern(" ")),
        mark_(literal_pattern(text_)) {
    // Older files have one field for it, which was true where it is absent.
    if (fields.find("prepend_scheme") == nullptr && !fields.boolean("add_prefix_space", true)) {
      scheme_ = "never";
    }
    if (scheme_ != "always" && scheme_ != "first" && scheme_ != "never") {
      fields.refuse("prepend_scheme", "always, first or never");
    }
  }

  void pre_tokenize(PreTokenized& text) const override {
    text.split_text([&](NormalizedString piece) {
      piece.replace(*space_, text_);
      const bool prepends = scheme_ == "always" || (scheme_ == "first" && piece.begin() == 0);
      if (prepends && !piece.text().starts_with(text_)) piece.prepend(text_);
      if (!split_) return std::vector{std::move(piece)};
      return piece.split(*mark_, SplitBehavior::kMergedWithNext);
    });
  }

 private:
  char32_t replacement_;
  std::string text_;
  std::string scheme_;
  bool split_;
  PatternPointer space_, mark_;
};

class FixedLength final : public PreTokenizer {
 public:
  explicit FixedLength(uint32_t length) : length_(length) {}

  void pre_tokenize(PreTokenized& text) const override {
    text.split_text([&](const NormalizedString& piece) {
      std::vector<NormalizedString> out;
      const std::string& source = piece.text();
      size_t begin = 0, count = 0;
      for (size_t at = 0; at < source.size();) {
        at += bytes_of_first(static_cast<unsigned char>(source[at]));
        if (++count < length_ && at < source.size()) continue;
        out.push_back(piece.slice(begin, at));
        begin = at;
        count = 0;
      }
      return out;
    });
  }

 private:
  uint32_t length_;
};

std::unique_ptr<PreTokenizer> fixed_length(const Fields& fields) {
  const uint32_t length = fields.count("length", 5);
  if (length == 0) fields.refuse("length", "at least 1");
  return std::make_unique<FixedLength>(length);
}

// Runs of characters of words, and runs of others; white space is left out.
class Whitespace final : public PreTokenizer {
 public:
  void pre_tokenize(PreTokenized& text) const override {
    text.split_text([](const NormalizedString& piece) {
      enum class Kind { kNone, kSpace, kWord, kOther };
      std::vector<NormalizedString> out;
      const std::string& source = piece.text();
      Kind last = Kind::kNone;
      size_t begin = 0;
      for (size_t at = 0; at <= source.size();) {
        const Character c = at < source.size() ? character_at(source, at) : Character{};
        const Kind kind = at == source.size() ? Kind::kNone
                          : is_space(c.code)  ? Kind::kSpace
                          : is_word(c.code)   ? Kind::kWord
                                              : Kind::kOther;
        if (kind != last) {
          if (last == Kind::kWord || last == Kind::kOther) out.push_back(piece.slice(begin, at));
          begin = at;
          last = kind;
        }
        at += c.bytes;
      }
      return out;
    });
  }
};

std::unique_ptr<PreTokenizer> delimiter(const Fields& fields) {
  const std::string delimiter = to_utf8(fields.character("delimiter"));
  return std::make_unique<Split>(literal_pattern(delimiter), SplitBehavior::kRemoved);
}

std::unique_ptr<PreTokenizer> digits(const Fields& fields) {
  return split_characters(
      [](char32_t c) { return (class_of(c) & kNumber) != 0; },
      fields.boolean("individual_digits") ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
}

std::unique_ptr<PreTokenizer> split(const Fields& fields) {
  return std::make_unique<Split>(pattern_field(fields), behavior_field(fields, nullptr),
                                 fields.boolean("invert", false));
}

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const Value& component) {
  const Fields fields(component, "pre_tokenizer");
  const std::string type = fields.text("type");
  if (type == "Sequence") return sequence(fields);
  if (type == "BertPreTokenizer") return bert();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(fields);
  if (type == "CharDelimiterSplit") return delimiter(fields);
  if (type == "Digits") return digits(fields);
  if (type == "FixedLength") return fixed_length(fields);
  if (type == "Metaspace") return std::make_unique<Metaspace>(fields);
  if (type == "Punctuation") {
    return split_characters(&is_punctuation, behavior_field(fields, "Isolated"));
  }
  if (type == "Split") return split(fields);
  if (type == "UnicodeScripts") return std::make_unique<UnicodeScripts>();
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return split_characters(&is_space, SplitBehavior::kRemoved);
  throw Error(Code::kArgument, cat("pre_tokenizer: unknown type '", type, "'"));
}

namespace {

// Bytes as characters, with GPT-2's pattern or none.
bool is_plain_byte_level(const Value& component, bool use_regex) {
  if (!component.is_map() || component["type"] != Value("ByteLevel")) return false;
  const Fields fields(component, "pre_tokenizer");
  return !fields.boolean("add_prefix_space", true) &&
         fields.boolean("use_regex", true) == use_regex;
}

}  // namespace

std::optional<WordScanner> byte_level_scanner(const Value& component) {
  if (is_plain_byte_level(component, true)) return &scan_gpt2;
  if (!component.is_map() || component["type"] != Value("Sequence")) return {};
  const Value& parts = component["pretokenizers"];
  if (!parts.is_list() || parts.as_list().size() != 2) return {};
  const Value& split = parts.as_list()[0];
  if (!split.is_map() || !is_plain_byte_level(parts.as_list()[1], false)) return {};
  if (split["type"] != Value("Split") || split["behavior"] != Value("Isolated")) return {};
  if (split["invert"] == Value(true) || !split["pattern"].is_map()) return {};
  const Value& expression = split["pattern"]["Regex"];
  return expression.is_string() ? known_scanner(expression.as_string()) : std::nullopt;
}

}  // namespace rtrain::text
