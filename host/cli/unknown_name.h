// host/cli/unknown_name.h: what to say about a command line that does not parse: the nearest
// command or option.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace rtrain {

// "unknown command 'lss'. did you mean 'ls'?", the same for options, else the parser's own message.
std::string explain_parse_error(const CLI::App& app, std::span<const std::string> args,
                                const CLI::ParseError& error);

}  // namespace rtrain
