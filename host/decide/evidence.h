// host/decide/evidence.h: the evidence against a node of a run, and the decisions about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain::decide {

// In the order of their weight.
enum class HealthAction {
  kNoop,       // it is in the run's record
  kDiagnose,   // the stacks of all ranks are saved
  kReattempt,  // the attempt ends, and the next one begins from the latest checkpoint
  kEvict,      // the same, and the run does without the node from then on
};

// "NOOP", "DIAGNOSE", "REATTEMPT", "EVICT".
std::string_view action_name(HealthAction action);
std::optional<HealthAction> action_from_name(std::string_view name);

struct Evidence {
  int node = 0;
  std::string host;
  std::string kind;  // link, devices, storage, xid, hang, script
  std::string text;
  bool is_conclusive = false;  // the node is at fault, whatever the script does
  int rank = -1;               // whose it is; -1: none's in particular
  bool is_preflight = false;

  // The decision where the script has no evaluators: EVICT for conclusive evidence, else NOOP.
  HealthAction default_action() const;
  // As evaluators get it: node, node, kind, text, is_conclusive, rank, is_preflight, default.
  Value to_value() const;
};

}  // namespace rtrain::decide
