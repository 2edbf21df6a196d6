// host/decide/evidence.h: the evidence against a node of a run, and the decisions about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/base/value.h"

namespace rtrain::decide {

// What the controller does because of evidence, the mildest action first.
enum class HealthAction {
  kNoop,       // the evidence is recorded, and the run continues
  kDiagnose,   // the stacks of all ranks are saved as well
  kReattempt,  // the attempt ends, and the next one begins from the latest checkpoint
  kEvict,      // as kReattempt, and the run does not use the node any more
};

// "NOOP", "DIAGNOSE", "REATTEMPT" or "EVICT". action_from_name: nullopt for any other name.
std::string_view action_name(HealthAction action);
std::optional<HealthAction> action_from_name(std::string_view name);

struct Evidence {
  int node = 0;
  std::string host;
  std::string kind;  // link, devices, storage, xid, hang, straggler, script
  std::string text;
  bool is_conclusive = false;  // the node is at fault, not the script
  int rank = -1;               // the rank that it is about; -1: no particular rank
  bool is_preflight = false;   // found before the run used the node

  // The decision where the script has no evaluators: EVICT for conclusive evidence, else NOOP.
  HealthAction default_action() const;
  // What evaluators get: {node, host, kind, text, is_conclusive, rank, is_preflight, default}.
  Value to_value() const;
};

}  // namespace rtrain::decide
