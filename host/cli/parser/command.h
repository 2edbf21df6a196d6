// host/cli/parser/command.h: declares the commands. Each is a function in a separate file that adds
// a command to the parser.
#pragma once

#include <string>
#include <vector>

#include "host/cli/parser/parser.h"

namespace rtrain::cli {

// `command_line`: all words, for the run's record.
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
// Hidden commands: started by programs, or during packaging.
void add_agent(Parser& parser);
void add_reach(Parser& parser);
void add_man(Parser& parser);
// Old names of commands (host/cli/old).
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

// Runs the process of one rank, `rtrain --worker RANK PARENT_PID`. Only a controller starts it.
// Returns its exit code.
int run_worker(int rank, int parent_pid);
// Runs the process from which workers are forked (host/node/workers/zygote.h). `rank_argument`: the
// rank in the command line, which a fork overwrites.
int run_zygote(int parent_pid, char* rank_argument);

// Runs a process that produces blocks of rows for a rank, `rtrain --ingest NUMBER PARENT_PID`. Only
// that rank starts it. Returns its exit code. run_far_ingest: `rtrain --far-ingest NUMBER
// PARENT_PID`, for a rank on another node; this node's agent starts it.
int run_ingest(int number, int parent_pid);
int run_far_ingest(int number, int parent_pid);

// Answers the queries of `rtrain completion`'s scripts: host/cli/tool/complete.cpp. Never fails.
int run_complete(const std::vector<std::string>& args);

}  // namespace rtrain::cli
