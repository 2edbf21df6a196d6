// host/cli/train/notebook.h: `rtrain repl --messages FD`: the cells of a notebook.
#pragma once

namespace rtrain::cli {

// Carries out the requests that arrive on the socket, one JSON object a line, until its other end
// is closed. modules/rtrain/notebook/README.md documents them. What cells print goes to stdout and
// stderr as always. SIGINT stops the cell that runs, and nothing between cells. When the other end
// is closed while a cell runs, the process ends within seconds.
void run_notebook(int socket);

}  // namespace rtrain::cli
