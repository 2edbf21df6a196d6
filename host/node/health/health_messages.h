// host/node/health/health_messages.h: messages between the controller
// (host/train/resources/node_judge.h) and a host's monitor (host/node/health/node_monitor.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain {

// The result of one check.
struct CheckResult {
  std::string check;      // storage, devices, link
  std::string peer = {};  // for a link: the host at the other end
  double seconds = 0;
  std::string problem = {};    // empty: none
  bool is_conclusive = false;  // the host is at fault, and not the object of the check

  static constexpr Fields kFields{
      required("check", &CheckResult::check), optional("peer", &CheckResult::peer),
      required("seconds", &CheckResult::seconds), optional("problem", &CheckResult::problem),
      optional("is_conclusive", &CheckResult::is_conclusive)};
};

struct LinkPeer {
  int node = 0;
  std::string host;
  std::string address;
  int port = 0;  // of its EchoServer

  static constexpr Fields kFields{
      required("node", &LinkPeer::node), required("host", &LinkPeer::host),
      required("address", &LinkPeer::address), required("port", &LinkPeer::port)};
};

namespace message {

// Asks the monitor to check its host and to answer checks from other hosts. Answered by
// HostChecked.
struct CheckHost {
  static constexpr std::string_view kType = "check_host";
  std::string address;  // for other hosts; empty: there are none
  int port = 0;         // preferred port for their checks; 0: does not listen
  std::string key;      // of the job's echo servers
  std::string folder;   // the run's folder; empty: none
  bool uses_devices = false;
  double timeout_s = 2;

  static constexpr Fields kFields{required("address", &CheckHost::address),
                                  required("port", &CheckHost::port),
                                  required("key", &CheckHost::key),
                                  required("folder", &CheckHost::folder),
                                  required("uses_devices", &CheckHost::uses_devices),
                                  required("timeout", &CheckHost::timeout_s)};
};

// Asks the monitor to exchange data with each of the hosts. Answered by LinksChecked.
struct CheckLinks {
  static constexpr std::string_view kType = "check_links";
  std::vector<LinkPeer> peers = {};
  int64_t size_bytes = 0;
  double timeout_s = 2;

  static constexpr Fields kFields{required("peers", &CheckLinks::peers),
                                  required("size_bytes", &CheckLinks::size_bytes),
                                  required("timeout", &CheckLinks::timeout_s)};
};

// Asks the monitor to watch the host itself at this interval, and the links to these hosts; 0:
// nothing.
struct WatchHost {
  static constexpr std::string_view kType = "watch_host";
  std::vector<LinkPeer> peers = {};
  double interval_s = 5;

  static constexpr Fields kFields{required("peers", &WatchHost::peers),
                                  required("interval", &WatchHost::interval_s)};
};

using ToHealth = std::variant<CheckHost, CheckLinks, WatchHost>;

struct HostChecked {
  static constexpr std::string_view kType = "host_checked";
  int port = 0;  // of its EchoServer; 0: none
  std::vector<CheckResult> results = {};

  static constexpr Fields kFields{required("port", &HostChecked::port),
                                  required("results", &HostChecked::results)};
};

struct LinkResult {
  int node = 0;
  double seconds = 0;
  std::string problem = {};

  static constexpr Fields kFields{required("node", &LinkResult::node),
                                  required("seconds", &LinkResult::seconds),
                                  optional("problem", &LinkResult::problem)};
};

struct LinksChecked {
  static constexpr std::string_view kType = "links_checked";
  std::vector<LinkResult> results = {};

  static constexpr Fields kFields{required("results", &LinksChecked::results)};
};

// The state of the link to a host: of the last answers, how many needed retransmitted packets, and
// how long the expected answer is overdue.
struct LinkSeen {
  static constexpr std::string_view kType = "link_seen";
  int node = 0;
  int num_slow = 0;
  int num_answers = 0;
  double silent_s = 0;

  static constexpr Fields kFields{
      required("node", &LinkSeen::node), required("num_slow", &LinkSeen::num_slow),
      required("num_answers", &LinkSeen::num_answers), required("silent", &LinkSeen::silent_s)};
};

// Results of the monitor's checks of its own host.
struct HostSeen {
  static constexpr std::string_view kType = "host_seen";
  CheckResult result;

  static constexpr Fields kFields{required("result", &HostSeen::result)};
};

using FromHealth = std::variant<HostChecked, LinksChecked, LinkSeen, HostSeen>;

}  // namespace message
}  // namespace rtrain
