// host/worker/profile/link_sampler.h: looks at this worker's connections to ranks of other nodes,
// and counts on its progress page how often data are under way there.
//
// While data wait for a link, many bytes are on their way each time; a link that is as fast as the
// ranks is empty again before the next look. A look costs the kernel's answer for each connection;
// without connections there is one a second. Belongs to the loop's thread.
#pragma once

#include "host/loop/loop.h"
#include "host/loop/timer.h"
#include "host/pages/progress_page.h"

namespace rtrain::worker {

class LinkSampler {
 public:
  LinkSampler(loop::Loop& loop, pages::ProgressPage& page);

 private:
  void look();

  pages::ProgressPage& page_;
  loop::Timer timer_;
};

}  // namespace rtrain::worker
