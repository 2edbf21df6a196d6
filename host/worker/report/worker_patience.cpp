#include "host/worker/report/worker_patience.h"

#include <cstdio>

namespace rtrain::worker {

store::Patience worker_patience() {
  store::Patience patience;
  patience.set_on_waiting([](const Error& error) {
    std::fprintf(stderr, "rtrain: waiting for room (RTRAIN_STORE_PATIENCE_S): %s\n", error.what());
  });
  return patience;
}

}  // namespace rtrain::worker
