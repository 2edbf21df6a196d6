#include "host/text/processors/template_processor.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::text {

TemplateProcessor::TemplateProcessor(const Fields& fields) {
  for (const auto& [key, value] : fields.map("special_tokens")) {
    const Fields entry(value, "post_processor: 'special_tokens'");
    Special special;
    for (const Value& id : entry.list("ids")) {
      if (!as_count(id)) entry.refuse("ids", "a list of ids");
      special.ids.push_back(*as_count(id));
    }
    for (const Value& token : entry.list("tokens")) {
      if (!token.is_string()) entry.refuse("tokens", "a list of strings");
      special.tokens.push_back(token.as_string());
    }
    if (special.ids.size() != special.tokens.size()) {
      throw Error(Code::kArgument,
                  cat("post_processor: special token '", key_text(key), "' has ",
                      special.ids.size(), " ids and ", special.tokens.size(), " tokens"));
    }
    specials_.emplace(key_text(key), std::move(special));
  }
  single_ = parts_of(fields, "single");
  pair_ = parts_of(fields, "pair");
}

std::vector<TemplateProcessor::Part> TemplateProcessor::parts_of(const Fields& fields,
                                                                 const char* name) const {
  std::vector<Part> out;
  for (const Value& value : fields.list(name)) {
    const Fields part(value, cat("post_processor: '", name, "'"));
    Part made;
    if (part.find("Sequence") != nullptr) {
      const Fields sequence(part.get("Sequence"), part.what());
      const std::string id = sequence.text("id");
      if (id != "A" && id != "B") sequence.refuse("id", "A or B");
      made.sequence = id == "A" ? 0 : 1;
      made.type_id = sequence.count("type_id");
    } else {
      const Fields token(part.get("SpecialToken"), part.what());
      const auto found = specials_.find(token.text("id"));
      if (found == specials_.end()) {
        throw Error(Code::kArgument, cat("post_processor: '", name, "' has '", token.text("id"),
                                         "', which 'special_tokens' lacks"));
      }
      made.special = &found->second;
      made.type_id = token.count("type_id");
    }
    out.push_back(made);
  }
  return out;
}

void TemplateProcessor::process(std::vector<Encoding>& encodings, bool add_special_tokens) const {
  if (encodings.empty()) return;
  Encoding out;
  for (const Part& part : encodings.size() > 1 ? pair_ : single_) {
    if (part.sequence >= 0) {
      const auto index = static_cast<size_t>(part.sequence);
      if (index >= encodings.size()) {
        throw Error(Code::kArgument, "post_processor: 'single' has a part B");
      }
      encodings[index].set_type_id(part.type_id);
      out.append(encodings[index]);
      continue;
    }
    for (size_t i = 0; i < part.special->ids.size() && add_special_tokens; ++i) {
      out.add_special(part.special->ids[i], part.special->tokens[i], part.type_id);
    }
  }
  encodings.clear();
  encodings.push_back(std::move(out));
}

size_t TemplateProcessor::num_added(bool is_pair) const {
  size_t count = 0;
  for (const Part& part : is_pair ? pair_ : single_) {
    if (part.special != nullptr) count += part.special->ids.size();
  }
  return count;
}

}  // namespace rtrain::text
