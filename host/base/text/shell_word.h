// host/base/text/shell_word.h: quotes a text as one word of a shell command in a message.
#pragma once

#include <string>

namespace rtrain {

// Returns it unchanged if a shell reads it as one word, else quoted.
std::string shell_word(const std::string& text);

}  // namespace rtrain
