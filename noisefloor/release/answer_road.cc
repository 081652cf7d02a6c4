#include "noisefloor/release/answer_road.h"

#include <utility>

#include "noisefloor/release/document.h"

namespace noisefloor {
namespace {

Result<Draft> draft_of(const AnswerRequest& request, const Question& question, const std::string& configuration) {
  NF_TRY(SecureRandom random, SecureRandom::create());
  NF_TRY(const Answer answer, answer_of(question, request.provenance, random));
  NF_TRY_VOID(check_answer(answer));
  return document_draft(ReleaseKind::kAnswer, request.key, to_json(answer), answer.statement, answer.delta,
                        configuration, answer.data, answer.program_version);
}

}  // namespace

Result<ReserveRequest> spend_of(const AnswerRequest& request, const Question& question, Ledger* ledger) {
  ReserveRequest spend{request.budget, request.key, question.statement};
  if (question.delta.value() > 0) spend.delta = question.delta;
  spend.item = request.item;
  spend.blocks = request.blocks;
  spend.note = {request.key, "answer", {question.mechanism}, question.configuration};
  spend.use = UseKind::kStatistic;
  if (ledger == nullptr || question.former_configuration.empty()) return spend;
  bool known = false;
  NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
    known = state.find_key(spend.budget, spend.key).has_value();
    return success();
  }));
  if (!known) return spend;
  // Version 0.1 described a question by less than is written today. A key that it used keeps its meaning: the ledger
  // knows the request by its words of then.
  ReserveRequest former = spend;
  former.note.configuration = question.former_configuration;
  const Result<LedgerState::Budget> found = ledger->rehearse(former);
  if (found.has_value() || found.error().code == ErrorCode::kBudgetExhausted) return former;
  if (found.error().code != ErrorCode::kInvalidArgument) return found.error();
  return spend;
}

Result<ReleasedAnswer> release_answer(const AnswerRequest& request, const Question& question, Ledger& ledger,
                                      Outlet& outlet) {
  NF_TRY_VOID(rehearse(question, request.provenance));
  NF_TRY(ReserveRequest spend, spend_of(request, question, &ledger));
  ReleaseRequest release{std::move(spend)};
  release.in_ledger = true;
  const std::string configuration = release.spend.note.configuration;
  const auto run = [&](const CertifiedSpend&) { return draft_of(request, question, configuration); };
  NF_TRY(Released released, release_by(release, ledger, outlet, run));
  NF_TRY(std::optional<Answer> answer, read_answer(released.release));
  return ReleasedAnswer{std::move(answer), std::move(released.release), released.again};
}

Result<std::optional<Answer>> read_answer(const Sealed& release) {
  NF_TRY(const std::optional<Document> document, read_document(release.bytes));
  if (!document || !is_typed_answer(document->content)) return std::optional<Answer>{};
  NF_TRY(Answer answer, parse_answer(document->content));
  if (answer.statement != release.certificate.statement || answer.delta != release.certificate.delta) {
    return verification_failed("the answer and its certificate state different things");
  }
  return std::optional<Answer>(std::move(answer));
}

}  // namespace noisefloor
