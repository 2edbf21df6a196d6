// host/train/record/run_context.h: dependencies that the classes of one run share.
//
// Belongs to the control thread; everything in it outlives those classes.
#pragma once

#include <string>

#include "host/loop/messages/to_worker.h"
#include "host/node/local_node.h"
#include "host/train/record/io_calls.h"
#include "host/train/record/run_events.h"
#include "host/train/run/run_spec.h"
#include "host/train/run/script_calls.h"

namespace rtrain::train {

struct RunContext {
  const RunSpec& spec;
  loop::Loop& loop;
  IoCalls& io;
  RunEvents& events;
  ScriptCalls& calls;
  std::string run_id;
  std::string run_path;
  node::NodeFiles files = {};  // inherited by validations too

  // The context of that attempt's workers and validations, without the parts specific to each.
  loop::WorkerContext worker_context(int attempt) const;
};

}  // namespace rtrain::train
