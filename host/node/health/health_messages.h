// host/node/health/health_messages.h: what the controller (host/train/resources/node_judge.h) and
// the monitor of a host (host/node/health/node_monitor.h) say to each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain {

// How one check has ended.
struct CheckResult {
  std::string check;      // storage, devices, link
  std::string peer = {};  // of a link: the host at the other end
  double seconds = 0;
  std::string problem = {};    // empty: none
  bool is_conclusive = false;  // the problem speaks against the host, not against what it was asked

  static constexpr std::tuple kFields{
      required("check", &CheckResult::check), optional("peer", &CheckResult::peer),
      required("seconds", &CheckResult::seconds), optional("problem", &CheckResult::problem),
      optional("is_conclusive", &CheckResult::is_conclusive)};
};

struct LinkPeer {
  int node = 0;
  std::string host;
  std::string address;
  int port = 0;  // of its EchoServer

  static constexpr std::tuple kFields{
      required("node", &LinkPeer::node), required("host", &LinkPeer::host),
      required("address", &LinkPeer::address), required("port", &LinkPeer::port)};
};

namespace message {

// Check this host, and answer other hosts that try to reach it. Answered by HostChecked.
struct CheckHost {
  static constexpr std::string_view kType = "check_host";
  std::string address;  // at which the others reach it; empty: there are none
  int port = 0;         // at which it listens for their checks, if it is free; 0: it does not
  std::string key;      // of the job's echo servers
  std::string folder;   // where the run writes; empty: nowhere
  bool uses_devices = false;
  double timeout_s = 2;

  static constexpr std::tuple kFields{required("address", &CheckHost::address),
                                      required("port", &CheckHost::port),
                                      required("key", &CheckHost::key),
                                      required("folder", &CheckHost::folder),
                                      required("uses_devices", &CheckHost::uses_devices),
                                      required("timeout", &CheckHost::timeout_s)};
};

// Exchange data with each of them. Answered by LinksChecked.
struct CheckLinks {
  static constexpr std::string_view kType = "check_links";
  std::vector<LinkPeer> peers = {};
  int64_t size_bytes = 0;
  double timeout_s = 2;

  static constexpr std::tuple kFields{required("peers", &CheckLinks::peers),
                                      required("size_bytes", &CheckLinks::size_bytes),
                                      required("timeout", &CheckLinks::timeout_s)};
};

// From here on: look after the host itself, so often, and the links to these; 0: after nothing.
struct WatchHost {
  static constexpr std::string_view kType = "watch_host";
  std::vector<LinkPeer> peers = {};
  double interval_s = 5;

  static constexpr std::tuple kFields{required("peers", &WatchHost::peers),
                                      required("interval", &WatchHost::interval_s)};
};

using ToHealth = std::variant<CheckHost, CheckLinks, WatchHost>;

struct HostChecked {
  static constexpr std::string_view kType = "host_checked";
  int port = 0;  // of its EchoServer; 0: there is none
  std::vector<CheckResult> results = {};

  static constexpr std::tuple kFields{required("port", &HostChecked::port),
                                      required("results", &HostChecked::results)};
};

struct LinkResult {
  int node = 0;
  double seconds = 0;
  std::string problem = {};

  static constexpr std::tuple kFields{required("node", &LinkResult::node),
                                      required("seconds", &LinkResult::seconds),
                                      optional("problem", &LinkResult::problem)};
};

struct LinksChecked {
  static constexpr std::string_view kType = "links_checked";
  std::vector<LinkResult> results = {};

  static constexpr std::tuple kFields{required("results", &LinksChecked::results)};
};

// How the link to that host does: of the last answers, how many came only after packets had been
// sent again, and how long the one that is due has not come.
struct LinkSeen {
  static constexpr std::string_view kType = "link_seen";
  int node = 0;
  int num_slow = 0;
  int num_answers = 0;
  double silent_s = 0;

  static constexpr std::tuple kFields{
      required("node", &LinkSeen::node), required("num_slow", &LinkSeen::num_slow),
      required("num_answers", &LinkSeen::num_answers), required("silent", &LinkSeen::silent_s)};
};

// The facts of the monitor about the host itself.
struct HostSeen {
  static constexpr std::string_view kType = "host_seen";
  CheckResult result;

  static constexpr std::tuple kFields{required("result", &HostSeen::result)};
};

using FromHealth = std::variant<HostChecked, LinksChecked, LinkSeen, HostSeen>;

}  // namespace message
}  // namespace rtrain
