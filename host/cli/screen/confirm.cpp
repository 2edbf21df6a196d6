#include "host/cli/screen/confirm.h"

#include <unistd.h>

#include <iostream>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::cli {

bool confirm(const std::string& question, bool yes) {
  if (yes) return true;
  if (::isatty(STDIN_FILENO) != 1) {
    throw Error(Code::kUsage, cat(question, "? There is no terminal to ask at: say --yes"));
  }
  std::cerr << question << "? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  const std::string_view word = trim(answer);
  return word == "y" || word == "Y" || word == "yes";
}

}  // namespace rtrain::cli
