// host/text/processors/template_processor.h: special tokens around a text and a pair, as a list of
// parts says.
#pragma once

#include <map>
#include <string>

#include "host/text/fields/fields.h"
#include "host/text/processors/processor.h"

namespace rtrain::text {

class TemplateProcessor final : public Processor {
 public:
  explicit TemplateProcessor(const Fields& fields);

  void process(std::vector<Encoding>& encodings, bool add_special_tokens) const override;
  size_t num_added(bool is_pair) const override;

 private:
  struct Special {
    std::vector<uint32_t> ids;
    std::vector<std::string> tokens;
  };
  struct Part {
    int sequence = -1;  // 0: the text, 1: its pair, -1: a special token
    const Special* special = nullptr;
    uint32_t type_id = 0;
  };
  std::vector<Part> parts_of(const Fields& fields, const char* name) const;

  std::map<std::string, Special> specials_;
  std::vector<Part> single_, pair_;
};

}  // namespace rtrain::text
