// host/node/workers/page_facts.h: the facts of a rank, from its progress page and /proc.
#pragma once

#include "host/decide/rank_facts.h"
#include "host/pages/progress_page.h"

namespace rtrain {

// Of the rank with that page and process, 0 where it has none yet. The rank may have written
// anything into its page.
RankFacts read_facts(const ProgressPage& page, int pid);

}  // namespace rtrain
