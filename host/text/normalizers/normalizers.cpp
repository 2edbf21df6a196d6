#include <array>

#include "host/base/error.h"
#include "host/base/text/base64.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/normalizers/normalizer.h"
#include "host/text/normalizers/precompiled.h"
#include "host/text/patterns/pattern.h"
#include "host/text/patterns/pattern_field.h"
#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {
namespace {

bool is_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void apply(NormalForm form, NormalizedString& text) {
  text.transform(normal_form(text.text(), form));
}

class Form final : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void normalize(NormalizedString& text) const override {
    if (!leaves(text.text())) apply(form_, text);
  }
  bool leaves(std::string_view text) const override {
    return form_ == NormalForm::kNfc && is_surely_nfc(text);
  }

 private:
  NormalForm form_;
};

class Bert final : public Normalizer {
 public:
  explicit Bert(const Fields& fields)
      : clean_text_(fields.boolean("clean_text", true)),
        chinese_(fields.boolean("handle_chinese_chars", true)),
        lowercase_(fields.boolean("lowercase", true)),
        strip_accents_(fields.boolean("strip_accents", lowercase_)) {}

  void normalize(NormalizedString& text) const override {
    if (clean_text_) clean(text);
    if (chinese_) separate_ideographs(text);
    if (strip_accents_) {
      apply(NormalForm::kNfd, text);
      text.filter([](char32_t c) { return !(class_of(c) & kNonspacing); });
    }
    if (lowercase_) text.lowercase();
  }

 private:
  static void clean(NormalizedString& text) {
    const auto is_line_break_or_tab = [](char32_t c) {
      return c == '\t' || c == '\n' || c == '\r';
    };
    text.filter([&](char32_t c) {
      const bool is_control = !is_line_break_or_tab(c) && (class_of(c) & kOther);
      return c != 0 && c != 0xfffd && !is_control;
    });
    text.map([](char32_t c) { return is_space(c) ? U' ' : c; });
  }

  static void separate_ideographs(NormalizedString& text) {
    std::vector<ChangedCharacter> out;
    for (const char32_t code : characters_of(text.text())) {
      if (is_ideograph(code)) {
        out.insert(out.end(), {{' ', 0}, {code, 1}, {' ', 1}});
      } else {
        out.push_back({code, 0});
      }
    }
    text.transform(out);
  }

  bool clean_text_, chinese_, lowercase_, strip_accents_;
};

class Strip final : public Normalizer {
 public:
  explicit Strip(const Fields& fields)
      : left_(fields.boolean("strip_left")), right_(fields.boolean("strip_right")) {}
  void normalize(NormalizedString& text) const override { text.strip(left_, right_); }

 private:
  bool left_, right_;
};

class StripAccents final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override {
    text.filter([](char32_t c) { return !(class_of(c) & kMark); });
  }
};

class Lowercase final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override { text.lowercase(); }
};

// What SentencePiece's rule "nmt" does.
class Nmt final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override {
    text.filter([](char32_t c) {
      return !((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
               c == 0x8f || c == 0x9f);
    });
    text.map([](char32_t c) { return becomes_space(c) ? U' ' : c; });
  }

 private:
  static bool becomes_space(char32_t c) {
    return c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
           (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
           c == 0xfeff || c == 0xfffd;
  }
};

class Replace final : public Normalizer {
 public:
  explicit Replace(const Fields& fields)
      : pattern_(pattern_field(fields)), content_(fields.text("content")) {}
  void normalize(NormalizedString& text) const override { text.replace(*pattern_, content_); }

 private:
  PatternPointer pattern_;
  std::string content_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const Fields& fields) : text_(fields.text("prepend")) {}
  void normalize(NormalizedString& text) const override { text.prepend(text_); }

 private:
  std::string text_;
};

class ByteLevel final : public Normalizer {
 public:
  void normalize(NormalizedString& text) const override { text.to_byte_characters(); }
};

class Sequence final : public Normalizer {
 public:
  explicit Sequence(const Fields& fields) {
    for (const Value& part : fields.list("normalizers")) parts_.push_back(make_normalizer(part));
  }
  void normalize(NormalizedString& text) const override {
    for (const auto& part : parts_) part->normalize(text);
  }
  bool leaves(std::string_view text) const override {
    for (const auto& part : parts_) {
      if (!part->leaves(text)) return false;
    }
    return true;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

std::unique_ptr<Normalizer> precompiled(const Fields& fields) {
  const auto table = from_base64(fields.text("precompiled_charsmap"));
  if (!table) fields.refuse("precompiled_charsmap", "base64");
  return std::make_unique<Precompiled>(*table);
}

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const Value& component) {
  const Fields fields(component, "normalizer");
  const std::string type = fields.text("type");
  if (type == "Sequence") return std::make_unique<Sequence>(fields);
  if (type == "NFC") return std::make_unique<Form>(NormalForm::kNfc);
  if (type == "NFD") return std::make_unique<Form>(NormalForm::kNfd);
  if (type == "NFKC") return std::make_unique<Form>(NormalForm::kNfkc);
  if (type == "NFKD") return std::make_unique<Form>(NormalForm::kNfkd);
  if (type == "BertNormalizer") return std::make_unique<Bert>(fields);
  if (type == "Strip") return std::make_unique<Strip>(fields);
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "Nmt") return std::make_unique<Nmt>();
  if (type == "Precompiled") return precompiled(fields);
  if (type == "Replace") return std::make_unique<Replace>(fields);
  if (type == "Prepend") return std::make_unique<Prepend>(fields);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  throw Error(Code::kArgument, cat("normalizer: unknown type '", type, "'"));
}

}  // namespace rtrain::text
