// host/base/text/named_text.h: a file's name, or path below a folder, and its text.
#pragma once

#include <string>

namespace rtrain {

struct NamedText {
  std::string name;
  std::string text;
};

}  // namespace rtrain
