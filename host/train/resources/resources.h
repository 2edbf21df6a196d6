// host/train/resources/resources.h: the resources of a run: cores and devices of this machine, or
// the hosts that a launcher allotted.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <string>

#include "host/loop/messages/ingest.h"
#include "host/loop/messages/join.h"
#include "host/train/group/node_group.h"

namespace rtrain {

class Resources {
 public:
  virtual ~Resources() = default;
  // Calls back with the number of workers that what is held is for.
  virtual void request(std::function<void(int workers)> on_granted) = 0;
  // No answer is wanted any more.
  virtual void cancel() = 0;
  // How long the run has waited for its resources, all requests together.
  virtual double waited_s() const = 0;
  // Calls back with the number of workers that could run now, those that do included.
  virtual void look(std::function<void(int workers)> on_seen) = 0;
  // The run is over, and the store has all of it.
  virtual void end_run() {}
  // The nodes of an attempt with order.num_workers workers.
  virtual NodeGroup nodes(const NodeOrder& order, NodeDelegate& delegate) = 0;
  // Does without that host from here on. What keeps it from that, or empty.
  virtual std::string evict(int /*node*/, const std::string& /*reason*/) {
    return "the run has no other host";
  }
  // Has an ingest worker started on a host that has no rank. Its name; empty: there is none.
  virtual std::string start_ingest(const message::StartIngest&) { return ""; }
  // The processes of ranks on other hosts hear of the end of the run.
  virtual void tell_end(const message::Ended&) {}
};

}  // namespace rtrain
