#include <algorithm>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/text/fields/fields.h"
#include "host/text/processors/processor.h"
#include "host/text/processors/template_processor.h"
#include "host/text/unicode/characters.h"
#include "host/text/unicode/classes.h"

namespace rtrain::text {
namespace {

// A token and its id: ["[SEP]", 102].
struct Special {
  Special(const Fields& fields, const char* name) {
    const List& pair = fields.list(name);
    if (pair.size() != 2 || !pair[0].is_string() || !as_count(pair[1])) {
      fields.refuse(name, "a token and its id");
    }
    token = pair[0].as_string();
    id = *as_count(pair[1]);
  }
  std::string token;
  uint32_t id;
};

// Takes white space at both ends of tokens out of their offsets.
void trim_offsets(Encoding& encoding, bool add_prefix_space) {
  const auto is_blank = [](char32_t c) { return c == 0x120 || is_space(c); };
  for (size_t i = 0; i < encoding.size(); ++i) {
    const std::vector<char32_t> token = characters_of(encoding.tokens[i]);
    const auto first = std::find_if_not(token.begin(), token.end(), is_blank);
    const auto last = std::find_if_not(token.rbegin(), token.rend(), is_blank);
    auto before = static_cast<uint32_t>(first - token.begin());
    const auto after = static_cast<uint32_t>(last - token.rbegin());
    Range& range = encoding.offsets[i];
    if (before > 0) {
      // One space in front may be the one that was added.
      const bool is_first = i == 0 || range.begin == 0;
      if (is_first && add_prefix_space && before == 1) before = 0;
      range.begin = std::min(range.begin + before, range.end);
    }
    if (after > 0 && range.end >= after) range.end = std::max(range.end - after, range.begin);
  }
  for (Encoding& part : encoding.overflowing) trim_offsets(part, add_prefix_space);
}

void set_all_type_ids(Encoding& encoding, uint32_t type_id) {
  encoding.set_type_id(type_id);
  for (Encoding& part : encoding.overflowing) part.set_type_id(type_id);
}

// "[CLS] A [SEP] B [SEP]".
class Bert final : public Processor {
 public:
  explicit Bert(const Fields& fields) : sep_(fields, "sep"), cls_(fields, "cls") {}

  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override {
    if (!add_special_tokens || encodings.empty()) return;
    Encoding out;
    out.add_special(cls_.id, cls_.token, 0);
    for (uint32_t i = 0; i < encodings.size(); ++i) {
      set_all_type_ids(encodings[i], i);
      out.append(encodings[i]);
      out.add_special(sep_.id, sep_.token, i);
    }
    encodings.clear();
    encodings.push_back(std::move(out));
  }
  size_t num_added(bool is_pair) const override { return is_pair ? 3 : 2; }

 private:
  Special sep_, cls_;
};

// "<s> A </s></s> B </s>".
class Roberta final : public Processor {
 public:
  explicit Roberta(const Fields& fields)
      : sep_(fields, "sep"),
        cls_(fields, "cls"),
        trim_offsets_(fields.boolean("trim_offsets", true)),
        add_prefix_space_(fields.boolean("add_prefix_space", true)) {}

  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override {
    for (Encoding& encoding : encodings) {
      if (trim_offsets_) trim_offsets(encoding, add_prefix_space_);
      if (add_special_tokens) {
        set_all_type_ids(encoding, 0);
      } else {
        encoding.set_type_id(0);
      }
    }
    if (!add_special_tokens || encodings.empty()) return;
    Encoding out;
    for (size_t i = 0; i < encodings.size(); ++i) {
      const Special& before = i == 0 ? cls_ : sep_;
      out.add_special(before.id, before.token, 0);
      out.append(encodings[i]);
      out.add_special(sep_.id, sep_.token, 0);
    }
    encodings.clear();
    encodings.push_back(std::move(out));
  }
  size_t num_added(bool is_pair) const override { return is_pair ? 4 : 2; }

 private:
  Special sep_, cls_;
  bool trim_offsets_, add_prefix_space_;
};

class ByteLevel final : public Processor {
 public:
  explicit ByteLevel(const Fields& fields)
      : trim_offsets_(fields.boolean("trim_offsets")),
        add_prefix_space_(fields.boolean("add_prefix_space")) {}

  void process(std::vector<Encoding>& encodings, bool) const override {
    if (!trim_offsets_) return;
    for (Encoding& encoding : encodings) trim_offsets(encoding, add_prefix_space_);
  }
  size_t num_added(bool) const override { return 0; }

 private:
  bool trim_offsets_, add_prefix_space_;
};

class Sequence final : public Processor {
 public:
  explicit Sequence(const Fields& fields) {
    for (const Value& part : fields.list("processors")) parts_.push_back(make_processor(part));
  }
  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override {
    for (const auto& part : parts_) part->process(encodings, add_special_tokens);
  }
  size_t num_added(bool is_pair) const override {
    size_t count = 0;
    for (const auto& part : parts_) count += part->num_added(is_pair);
    return count;
  }

 private:
  std::vector<std::unique_ptr<Processor>> parts_;
};

}  // namespace

std::unique_ptr<Processor> make_processor(const Value& component) {
  const Fields fields(component, "post_processor");
  const std::string type = fields.text("type");
  if (type == "TemplateProcessing") return std::make_unique<TemplateProcessor>(fields);
  if (type == "BertProcessing") return std::make_unique<Bert>(fields);
  if (type == "RobertaProcessing") return std::make_unique<Roberta>(fields);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(fields);
  if (type == "Sequence") return std::make_unique<Sequence>(fields);
  throw Error(Code::kArgument, cat("post_processor: unknown type '", type, "'"));
}

}  // namespace rtrain::text
