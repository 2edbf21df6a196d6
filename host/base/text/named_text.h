// host/base/text/named_text.h: the name of a file, or its path below a folder, with its text.
#pragma once

#include <string>

namespace rtrain {

struct NamedText {
  std::string name;
  std::string text;
};

}  // namespace rtrain
