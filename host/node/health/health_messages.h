// host/node/health/health_messages.h: messages between the controller
// (host/train/resources/node_judge.h) and a node's monitor (host/node/health/node_monitor.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain::node {

// The result of one check.
struct CheckResult {
  std::string check;      // storage, devices, link
  std::string peer = {};  // for a link: the node at the other end
  double seconds = 0;
  std::string problem = {};    // empty: none
  bool is_conclusive = false;  // the node is at fault, and not the object of the check

  static constexpr RecordFields kFields{
      required("check", &CheckResult::check), optional("peer", &CheckResult::peer),
      required("seconds", &CheckResult::seconds), optional("problem", &CheckResult::problem),
      optional("is_conclusive", &CheckResult::is_conclusive)};
};

struct LinkPeer {
  int node = 0;
  std::string host;
  std::string address;
  int port = 0;  // of its EchoServer

  static constexpr RecordFields kFields{
      required("node", &LinkPeer::node), required("host", &LinkPeer::host),
      required("address", &LinkPeer::address), required("port", &LinkPeer::port)};
};

}  // namespace rtrain::node

namespace rtrain::message {

// Asks the monitor to check its node and to answer checks from other nodes. Answered by
// NodeChecked.
struct CheckNode {
  static constexpr std::string_view kType = "check_node";
  std::string address;  // for other nodes; empty: there are none
  int port = 0;         // preferred port for their checks; 0: does not listen
  std::string key;      // of the job's echo servers
  std::string folder;   // the run's folder; empty: none
  bool uses_devices = false;
  double timeout_s = 2;

  static constexpr RecordFields kFields{required("address", &CheckNode::address),
                                        required("port", &CheckNode::port),
                                        required("key", &CheckNode::key),
                                        required("folder", &CheckNode::folder),
                                        required("uses_devices", &CheckNode::uses_devices),
                                        required("timeout", &CheckNode::timeout_s)};
};

// Asks the monitor to exchange data with each of the nodes. Answered by LinksChecked.
struct CheckLinks {
  static constexpr std::string_view kType = "check_links";
  std::vector<node::LinkPeer> peers = {};
  int64_t size_bytes = 0;
  double timeout_s = 2;

  static constexpr RecordFields kFields{required("peers", &CheckLinks::peers),
                                        required("size_bytes", &CheckLinks::size_bytes),
                                        required("timeout", &CheckLinks::timeout_s)};
};

// Asks the monitor to watch the node itself at this interval, and the links to these nodes; 0:
// nothing.
struct WatchNode {
  static constexpr std::string_view kType = "watch_node";
  std::vector<node::LinkPeer> peers = {};
  double interval_s = 5;

  static constexpr RecordFields kFields{required("peers", &WatchNode::peers),
                                        required("interval", &WatchNode::interval_s)};
};

using ToHealth = std::variant<CheckNode, CheckLinks, WatchNode>;

struct NodeChecked {
  static constexpr std::string_view kType = "node_checked";
  int port = 0;  // of its EchoServer; 0: none
  std::vector<node::CheckResult> results = {};

  static constexpr RecordFields kFields{required("port", &NodeChecked::port),
                                        required("results", &NodeChecked::results)};
};

struct LinkResult {
  int node = 0;
  double seconds = 0;
  std::string problem = {};

  static constexpr RecordFields kFields{required("node", &LinkResult::node),
                                        required("seconds", &LinkResult::seconds),
                                        optional("problem", &LinkResult::problem)};
};

struct LinksChecked {
  static constexpr std::string_view kType = "links_checked";
  std::vector<LinkResult> results = {};

  static constexpr RecordFields kFields{required("results", &LinksChecked::results)};
};

// The state of the link to a node: of the last answers, how many needed retransmitted packets, and
// how long the expected answer is overdue.
struct LinkSeen {
  static constexpr std::string_view kType = "link_seen";
  int node = 0;
  int num_slow = 0;
  int num_answers = 0;
  double silent_s = 0;

  static constexpr RecordFields kFields{
      required("node", &LinkSeen::node), required("num_slow", &LinkSeen::num_slow),
      required("num_answers", &LinkSeen::num_answers), required("silent", &LinkSeen::silent_s)};
};

// Results of the monitor's checks of its own node.
struct NodeSeen {
  static constexpr std::string_view kType = "node_seen";
  node::CheckResult result;

  static constexpr RecordFields kFields{required("result", &NodeSeen::result)};
};

using FromHealth = std::variant<NodeChecked, LinksChecked, LinkSeen, NodeSeen>;

}  // namespace rtrain::message
