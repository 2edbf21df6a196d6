// host/cli/command_line.h: the command line: parses, runs one command, turns errors into messages
// and exit codes.
#pragma once

namespace rtrain::cli {

// Runs the command and returns the process's exit code.
int run_command_line(int argc, char** argv);

}  // namespace rtrain::cli
