// host/train/resources/resources.h: the resources of a run: cores and devices of this machine, or
// the nodes allotted by a launcher.
//
// Belongs to the control thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/decide/relocation.h"
#include "host/loop/messages/ingest.h"
#include "host/loop/messages/join.h"
#include "host/train/group/node_group.h"

namespace rtrain::train {

class Resources {
 public:
  virtual ~Resources() = default;
  // Calls back with the number of workers that the granted resources allow.
  virtual void request(std::function<void(int workers)> on_granted) = 0;
  // No callback is wanted any more.
  virtual void cancel() = 0;
  // How long the run has waited for resources, in all requests together.
  virtual double waited_s() const = 0;
  // Calls back with the number of workers that could run now, including the running ones.
  virtual void look(std::function<void(int workers)> on_seen) = 0;
  // The run has ended, and everything of it is in the store.
  virtual void end_run() {}
  // The nodes for an attempt with order.num_workers workers.
  virtual NodeGroup nodes(const node::NodeOrder& order, node::NodeDelegate& delegate) = 0;
  // Calls back, once, when each of the lost nodes has another one with room, with these nodes.
  // `used`: the nodes that have other ranks, some of them twice.
  using OnRoom = std::function<void(std::vector<int> nodes)>;
  virtual void find_room(std::vector<decide::NodeWorkers> /*lost*/,
                         std::vector<decide::NodeWorkers> /*used*/, OnRoom /*on_room*/) {}
  // No callback of find_room() is wanted any more.
  virtual void stop_finding() {}
  // One more node for the attempt, with the ranks of the order. REQUIRES: find_room() found it.
  virtual NodeGroup::Member node(int /*number*/, const node::NodeOrder& /*order*/,
                                 node::NodeDelegate& /*delegate*/) {
    RT_CHECK(false);
    return {};
  }
  // Stops using the node. Returns why that is not possible, or "".
  virtual std::string evict(int /*node*/, const std::string& /*reason*/) {
    return "the run has no other node";
  }
  // Starts an ingest worker on a node without ranks. Returns the node's name; "" if there is none.
  virtual std::string start_ingest(const message::StartIngest&) { return ""; }
  // Sends the end of the run to the ranks' processes on other nodes.
  virtual void tell_end(const message::Ended&) {}
};

}  // namespace rtrain::train
