// host/machine/terminal_answer.h: the answer of a terminal to a question about itself.
#pragma once

namespace rtrain::machine {

// Whether the terminal behind the descriptor says that it shows sixel pictures: a 4 in its answer
// to DA1 (primary device attributes). Waits for the answer until the deadline. Returns false
// without asking if this process is not in the foreground of that terminal, or $TERM is dumb. Text
// that a user types meanwhile is lost.
bool terminal_has_sixel(int fd, double timeout_s);

}  // namespace rtrain::machine
