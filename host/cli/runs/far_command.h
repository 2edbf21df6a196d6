// host/cli/runs/far_command.h: commands about a run that `rtrain run --nodes` has brought to
// another machine: they are called there, through ssh.
#pragma once

#include <string>
#include <vector>

namespace rtrain::cli {

// If the words of the command line name such a run, replaces this process by the command there, and
// does not return. `--storage` asks here. Throws Error(kEnvironment) where ssh cannot be started.
void become_far_command(const std::vector<std::string>& command_line);

}  // namespace rtrain::cli
