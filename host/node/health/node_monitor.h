// host/node/health/node_monitor.h: a node's monitor: checks the node before it is used, and watches
// it as long as the run has it, with or without workers.
//
// It reports; the controller decides. Belongs to the loop's thread, which never waits for a device,
// a disk or a network.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/value.h"
#include "host/loop/loop.h"
#include "host/loop/messages/routes.h"
#include "host/loop/timer.h"
#include "host/node/health/echo_server.h"
#include "host/node/health/health_messages.h"
#include "host/node/health/link_watch.h"
#include "host/node/health/timed_check.h"
#include "host/node/series/gpu_sampler.h"
#include "host/node/workers/worker_place.h"

namespace rtrain::node {

class NodeMonitor : public GpuSamplerDelegate {
 public:
  using Send = std::function<void(Value message)>;

  // `gpus`: this node's devices.
  NodeMonitor(loop::Loop& loop, const std::vector<WorkerGpu>& gpus, Send send);

  // Receives a message of the controller.
  void receive(Value message) { kRoutes.deliver(*this, std::move(message)); }
  // Stops watching.
  void stop();

  // Receivers of the controller's messages.
  static const loop::Routes<message::ToHealth, NodeMonitor> kRoutes;

 private:
  using Done = std::function<void(CheckResult result)>;
  void on_sample(const GpuSample&) override {}
  void on_fault(const std::vector<std::string>& uuids, int64_t xid) override;

  void check(const message::CheckNode& check);
  void check(const message::CheckLinks& check);
  void watch(const message::WatchNode& watch);
  void start(TimedCheck::Work work, double timeout_s, TimedCheck::Done done);
  void check_storage(double timeout_s, bool has_load, const Done& done);
  void check_devices(double timeout_s, const Done& done);
  void check_next_link();
  void look();
  void on_seen(const CheckResult& result);

  loop::Loop& loop_;
  std::vector<std::string> all_uuids_;  // of all devices of the node
  std::vector<std::string> uuids_;      // of the devices that the run uses
  Send send_;
  message::CheckNode node_;
  message::CheckLinks links_;
  size_t next_link_ = 0;
  message::NodeChecked checked_;
  message::LinksChecked links_checked_;
  size_t waiting_ = 0;  // checks not finished yet
  double interval_s_ = 0;
  std::map<std::string, std::string> problems_;  // problems reported to the controller, by check
  std::unique_ptr<EchoServer> server_;
  std::vector<std::unique_ptr<LinkWatch>> watches_;
  std::unique_ptr<GpuSampler> sampler_;
  std::list<std::unique_ptr<TimedCheck>> running_;
  loop::Timer timer_;
};

}  // namespace rtrain::node
