#include "host/train/health_control.h"

#include <utility>

#include "host/base/clock.h"
#include "host/base/text/text.h"
#include "host/train/record/run_record.h"

namespace rtrain::train {

void HealthControl::add(decide::Evidence evidence, Decided decided) {
  const std::string key = cat(evidence.node, " ", evidence.kind, " ", evidence.text);
  if (!known_.insert(key).second) return decided();
  run_.events.record(evidence.is_conclusive ? "warning" : "info",
                     cat("health: node ", evidence.host, ", ", evidence.kind, ": ", evidence.text));
  if (run_.spec.health_config.has_evaluators) return ask(evidence, decided);
  act(evidence, evidence.default_action());
  decided();
}

void HealthControl::ask(const decide::Evidence& evidence, const Decided& decided) {
  const ScriptQuestion question{"health", evidence.to_value(), to_ms(run_.spec.callback_timeout_s),
                                "RTRAIN_CALLBACK_TIMEOUT_S"};
  run_.calls.ask(
      run_.loop, question, [this, evidence, decided](const auto& value, const auto& error) {
        decide::HealthAction action = evidence.default_action();
        if (error) {
          run_.events.notice("warning", cat("health_config.evaluators: ", error->message(),
                                            ": the default holds, ", decide::action_name(action)));
        } else {
          action = decide::action_from_name(value->string_or("")).value_or(action);
        }
        act(evidence, action);
        decided();
      });
}

void HealthControl::act(const decide::Evidence& evidence, decide::HealthAction action) {
  const std::string text = cat("node ", evidence.host, ": ", evidence.text);
  switch (action) {
    case decide::HealthAction::kNoop:
      return;
    case decide::HealthAction::kDiagnose:
      return delegate_.diagnose(text);
    case decide::HealthAction::kReattempt:
      run_.events.notice("warning", cat("health: ", text, ": the attempt begins again"));
      return end_attempt(evidence, Error(Code::kWorkerLost, text),
                         decide::FailureKind::kController);
    case decide::HealthAction::kEvict:
      return evict(evidence);
  }
}

void HealthControl::evict(const decide::Evidence& evidence) {
  const std::string text = cat("node ", evidence.host, ": ", evidence.text);
  const std::string problem = resources_->evict(evidence.node, evidence.text);
  if (!problem.empty()) {
    run_.events.notice("warning", cat("health: ", text, ": it is not evicted: ", problem));
    return;  // its effect on the training is handled elsewhere
  }
  run_.events.notice("warning", cat("health: ", text,
                                    ": it is evicted, and not used by this run "
                                    "again"));
  run_.events.emit("evicted", {{"node", evidence.node},
                               {"host", evidence.host},
                               {"reason", cat(evidence.kind, ": ", evidence.text)}});
  run_.io.write([evidence](RunRecord& record) {
    record.set_evicted(evidence.node, evidence.host, cat(evidence.kind, ": ", evidence.text));
  });
  end_attempt(evidence, Error(Code::kWorkerLost, cat("evicted: ", text)),
              decide::FailureKind::kPreemption);
}

void HealthControl::end_attempt(const decide::Evidence& evidence, const Error& error,
                                decide::FailureKind kind) {
  if (const auto rank = delegate_.rank_on(evidence.node)) {
    delegate_.feed(decide::event::NodeUnhealthy{*rank, error, kind});
  }
}

}  // namespace rtrain::train
