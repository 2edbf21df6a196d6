// host/node/health/node_monitor.h: the monitor of a host: checks it before it is used, and looks
// after it as long as the run has it, whether workers are there or not.
//
// It says what it sees; the controller decides. Belongs to the loop's thread, which never waits for
// a device, a disk or a network.
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

namespace rtrain {

class NodeMonitor : public GpuSamplerDelegate {
 public:
  using Send = std::function<void(Value message)>;

  // `gpus`: of this host.
  NodeMonitor(Loop& loop, const std::vector<WorkerGpu>& gpus, Send send);

  // The messages of the controller.
  void receive(Value message) { kRoutes.deliver(*this, std::move(message)); }
  // Looks after nothing any more.
  void stop();

  // Who receives it.
  static const Routes<message::ToHealth, NodeMonitor> kRoutes;

 private:
  using Done = std::function<void(CheckResult result)>;
  void on_sample(const GpuSample&) override {}
  void on_fault(const std::vector<std::string>& uuids, int64_t xid) override;

  void check(const message::CheckHost& check);
  void check(const message::CheckLinks& check);
  void watch(const message::WatchHost& watch);
  void start(TimedCheck::Work work, double timeout_s, TimedCheck::Done done);
  void check_storage(double timeout_s, bool has_load, const Done& done);
  void check_devices(double timeout_s, const Done& done);
  void check_next_link();
  void look();
  void on_seen(const CheckResult& result);

  Loop& loop_;
  std::vector<std::string> all_uuids_;  // of the host's devices
  std::vector<std::string> uuids_;      // of those that the run uses
  Send send_;
  message::CheckHost host_;
  message::CheckLinks links_;
  size_t next_link_ = 0;
  message::HostChecked checked_;
  message::LinksChecked links_checked_;
  size_t waiting_ = 0;  // for checks of the monitor
  double interval_s_ = 0;
  std::map<std::string, std::string> problems_;  // that the controller knows, by check
  std::unique_ptr<EchoServer> server_;
  std::vector<std::unique_ptr<LinkWatch>> watches_;
  std::unique_ptr<GpuSampler> sampler_;
  std::list<std::unique_ptr<TimedCheck>> running_;
  Timer timer_;
};

}  // namespace rtrain
