// host/bind/host.h: the module `rtrain._host`: this machine, the modules, the store's read side.
//
//   version() → "0.1.0"
//   env() → what `rtrain env --json` prints
//   storage_folder([path]) → the folder of all runs
//   storage_uri(folder) → the object store's URI that the folder mirrors; nothing for other folders
//   add_queued_run(storage, {name, script, command, num_workers, launcher, job})
//                          → false if a run has that name
//   forget_queued_run(storage, name): removes it, because it has begun in another storage
//   run(storage, RUN) → the document of `rtrain show` and what else is known
//   report_blocks(storage, RUN) → rank 0's reports, in blocks
//   (host/store/read/curves/report_blocks.h):
//     blocks:next() → the number of runs of a block, pointers to the runs and to the numbers, a
//                     list of the other reports; nothing at the end. Valid until the next call
//     blocks:names(number) → of a run
//     blocks:max_reports() → an upper bound of the number of reports
//   checkpoints(storage, RUN, all) → rows
//   verify(dir) → {name, attempt, index, metrics}; raises `checkpoint` naming the damaged file
//   module_names() → every module in the executable; module_text(name) → text, path
//   guide_names() → every guide in the executable; guide_text(name) → its Markdown, nil for none
//   template_names() → the templates of `rtrain init`; template_text(name) → a script, nil for none
#pragma once

#include "host/lua/lua.h"

namespace rtrain::bind {

// Pushes the module.
int open_host(lua_State* L);

}  // namespace rtrain::bind
