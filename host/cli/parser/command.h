// host/cli/parser/command.h: the commands: each a function that adds itself to the parser. One file
// per command.
#pragma once

#include <string>
#include <vector>

#include "host/cli/parser/parser.h"

namespace rtrain {

// `command_line` is the whole of it, for the run's record.
void add_init(Parser& parser);
void add_check(Parser& parser);
void add_run(Parser& parser, const std::vector<std::string>& command_line);
void add_launch(Parser& parser, const std::vector<std::string>& command_line);
void add_sweep(Parser& parser, const std::vector<std::string>& command_line);
void add_submit(Parser& parser);
void add_exec(Parser& parser);
void add_repl(Parser& parser);
void add_bundle(Parser& parser);
void add_ls(Parser& parser);
void add_show(Parser& parser);
void add_metrics(Parser& parser);
void add_diff(Parser& parser);
void add_plot(Parser& parser);
void add_logs(Parser& parser);
void add_sql(Parser& parser);
void add_export(Parser& parser);
void add_import(Parser& parser);
void add_edit(Parser& parser);
void add_rm(Parser& parser);
void add_gc(Parser& parser);
void add_checkpoint(Parser& parser);
void add_predict(Parser& parser);
void add_watch(Parser& parser);
void add_dash(Parser& parser);
void add_stop(Parser& parser);
void add_stack(Parser& parser);
void add_profile(Parser& parser);
void add_resources(Parser& parser);
void add_doctor(Parser& parser);
void add_env(Parser& parser);
void add_doc(Parser& parser);
void add_peek(Parser& parser);
void add_completion(Parser& parser);
// Hidden: started by programs, or at packaging.
void add_agent(Parser& parser);
void add_man(Parser& parser);
// By the names that they had before (host/cli/old).
void add_lr_find(Parser& parser);
void add_estimate(Parser& parser);
void add_checkpoints(Parser& parser);
void add_data(Parser& parser);
void add_tag(Parser& parser);
void add_note(Parser& parser);
void add_rename(Parser& parser);
void add_archive(Parser& parser);
void add_repair(Parser& parser);
void add_cache(Parser& parser);
void add_self_check(Parser& parser);

// The process of one rank, `rtrain --worker RANK PARENT_PID`: started by a controller only. Returns
// its exit code.
int run_worker(int rank, int parent_pid);
// The process that workers are forked from (host/node/workers/zygote.h). `rank_argument` is where
// its rank stands on the command line.
int run_zygote(int parent_pid, char* rank_argument);

// A process that makes blocks of rows for a rank, `rtrain --ingest NUMBER PARENT_PID`: started by
// that rank only. Returns its exit code. run_far_ingest: `rtrain --far-ingest NUMBER PARENT_PID`,
// for a rank on another host, started by the agent of this one.
int run_ingest(int number, int parent_pid);
int run_far_ingest(int number, int parent_pid);

// What scripts of `rtrain completion` ask for: host/cli/tool/complete.cpp. Never fails.
int run_complete(const std::vector<std::string>& args);

}  // namespace rtrain
