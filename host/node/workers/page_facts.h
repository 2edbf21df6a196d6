// host/node/workers/page_facts.h: the facts of a rank, from its progress page and /proc.
#pragma once

#include "host/decide/rank_facts.h"
#include "host/pages/progress_page.h"

namespace rtrain::node {

// Reads the facts of the rank with that page and pid (0: no process yet). The page's content is not
// trusted.
decide::RankFacts read_facts(const pages::ProgressPage& page, int pid);

}  // namespace rtrain::node
