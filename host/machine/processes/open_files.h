// host/machine/processes/open_files.h: room in this process's table of open files.
#pragma once

namespace rtrain::machine {

// Makes sure that `count` more files can be opened, raising the soft limit where that is too low.
// Throws kEnvironment, with both numbers, when the hard limit does not allow it.
void provide_open_files(int count);

}  // namespace rtrain::machine
