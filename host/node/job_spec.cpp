#include "host/node/job_spec.h"

#include "host/base/text.h"

namespace rtrain {

std::optional<JobSpec> JobSpec::from_value(const Value& allocation) {
  if (allocation["num_nodes"].int_or(1) < 2 || allocation["is_rank"].bool_or(false)) {
    return std::nullopt;
  }
  JobSpec out;
  out.num_nodes = static_cast<int>(allocation["num_nodes"].as_int());
  out.node_rank = static_cast<int>(allocation["node_rank"].int_or(0));
  out.id = allocation["group"].string_or("");
  if (const int64_t restarts = allocation["restart_count"].int_or(0); restarts > 0) {
    out.id = cat(out.id, ".", restarts);
  }
  if (!allocation["hosts"].is_nil()) {
    for (const Value& host : allocation["hosts"].as_list()) out.hosts.push_back(host.as_string());
  }
  if (!allocation["master"].is_nil()) out.master = allocation["master"]["addr"].string_or("");
  out.port = static_cast<int>(allocation["port"].int_or(0));
  if (!allocation["cores"].is_nil()) out.cores = static_cast<int>(allocation["cores"].as_int());
  return out;
}

}  // namespace rtrain
