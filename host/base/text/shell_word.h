// host/base/text/shell_word.h: a text as one word of a command that a message tells the user to
// type.
#pragma once

#include <string>

namespace rtrain {

// As it is where a shell takes it for one word, else quoted.
std::string shell_word(const std::string& text);

}  // namespace rtrain
