// host/text/template/chat_template.h: the text of a conversation, as a model's template writes it.
//
// A template is in Jinja, run as transformers runs it: with trim_blocks, lstrip_blocks, break and
// continue, and the functions raise_exception, namespace, range, strftime_now and dict. What else
// Jinja has is an error that names it.
#pragma once

#include <string>
#include <string_view>

#include "host/base/value.h"
#include "host/text/template/syntax.h"

namespace rtrain::text {

// Does not change after it was made: any thread may render.
class ChatTemplate {
 public:
  // Throws Error(kArgument) with the line.
  explicit ChatTemplate(std::string_view source);

  // `variables` are messages, add_generation_prompt, bos_token and so on. Throws Error(kArgument)
  // with the line; for what the template raises with its message; and for a template that takes too
  // many steps or writes more than 64 MiB.
  std::string render(const Map& variables) const;

 private:
  Statements statements_;
};

}  // namespace rtrain::text
