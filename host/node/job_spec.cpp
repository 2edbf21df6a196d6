#include "host/node/job_spec.h"

#include "host/base/text/text.h"

namespace rtrain {
namespace {

int whole(const Value& value, int otherwise) { return static_cast<int>(value.int_or(otherwise)); }

void read_tasks(const Value& allocation, JobSpec& out) {
  if (!allocation["is_rank"].bool_or(false)) {
    out.num_tasks = whole(allocation["num_nodes"], 1);
    out.task = whole(allocation["node_rank"], 0);
    return;
  }
  out.num_tasks = whole(allocation["world_size"], 1);
  out.task = whole(allocation["rank"], 0);
  out.local_task = whole(allocation["local_rank"], 0);
  out.join = JoinSpec{.socket = allocation["socket"].string_or(""),
                      .num_ranks = whole(allocation["tasks_on_node"], 1)};
}

}  // namespace

std::optional<JobSpec> JobSpec::from_value(const Value& allocation) {
  JobSpec out;
  read_tasks(allocation, out);
  if (out.num_tasks <= out.tasks_on_node()) return std::nullopt;
  out.id = allocation["group"].string_or("");
  if (const int restarts = whole(allocation["restart_count"], 0); restarts > 0) {
    out.id = cat(out.id, ".", restarts);
  }
  if (!allocation["hosts"].is_nil()) {
    for (const Value& host : allocation["hosts"].as_list()) out.hosts.push_back(host.as_string());
  }
  if (!allocation["master"].is_nil()) out.master = allocation["master"]["addr"].string_or("");
  out.port = whole(allocation["port"], 0);
  if (!allocation["cores"].is_nil()) out.cores = whole(allocation["cores"], 0);
  return out;
}

}  // namespace rtrain
