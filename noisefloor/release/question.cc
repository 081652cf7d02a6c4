#include "noisefloor/release/question.h"

#include <exception>
#include <new>

namespace noisefloor {
namespace {

// The text of a library's exception might quote data, so it is not shown.
template <class Draw, class Source>
Result<Drawn> drawn_by(const Draw& draw, Source& random) {
  try {
    return draw(random);
  } catch (const std::bad_alloc&) {
    return internal_error("out of memory while the answer was computed");
  } catch (const std::exception&) {
    return internal_error("an unexpected failure while the answer was computed");
  }
}

Answer assembled(const Question& question, const Provenance& provenance, Drawn drawn, bool replayed) {
  return {question.mechanism,
          std::move(drawn.content),
          std::move(drawn.statement),
          question.delta,
          question.asked,
          replayed,
          question.configuration,
          question.data,
          provenance.dataset,
          provenance.program_version};
}

}  // namespace

Result<Answer> answer_of(const Question& question, const Provenance& provenance, SecureRandom& random) {
  if (!question.draw) return internal_error("the question cannot be drawn");
  NF_TRY(Drawn drawn, drawn_by(question.draw, random));
  if (drawn.statement != question.statement) {
    return internal_error("the answer and the question state different things, so the answer is not given out");
  }
  return assembled(question, provenance, std::move(drawn), false);
}

Result<Answer> answer_of(const Question& question, const Provenance& provenance, ReplayRandom& random) {
  if (!question.rehearse) return invalid_argument("this question cannot be answered with noise from a seed");
  NF_TRY(Drawn drawn, drawn_by(question.rehearse, random));
  if (!contains<NonPrivateEvent>(drawn.statement.event) || drawn.statement.adjacency != question.statement.adjacency ||
      drawn.statement.unit != question.statement.unit) {
    return internal_error(
        "an answer with noise from a seed does not say that it is not private, so it is not given out");
  }
  return assembled(question, provenance, std::move(drawn), true);
}

Result<void> rehearse(const Question& question, const Provenance& provenance) {
  if (!question.rehearse) return success();
  // This noise is known, and the result is discarded.
  NF_TRY(ReplayRandom random, ReplayRandom::create(0));
  NF_TRY(const Answer answer, answer_of(question, provenance, random));
  return check_answer(answer);
}

}  // namespace noisefloor
