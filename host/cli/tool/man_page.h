// host/cli/tool/man_page.h: makes manual pages in roff, for man and groff, from the command table.
// Pure functions.
#pragma once

#include <string>

#include "host/cli/parser/command_table.h"

namespace rtrain::cli {

// Returns rtrain(1): the commands, exit statuses and environment variables.
std::string man_page(const CommandTable& table);
// Returns rtrain-COMMAND(1).
std::string man_page(const CommandTable& table, const CommandRow& command);

}  // namespace rtrain::cli
