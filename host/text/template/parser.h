// host/text/template/parser.h: reads the part of Jinja that chat templates are written in.
#pragma once

#include <string_view>

#include "host/text/template/syntax.h"

namespace rtrain::text {

// Throws Error(kArgument), which names the construct that is wrong or not supported, and its line.
Statements parse_template(std::string_view source);

}  // namespace rtrain::text
