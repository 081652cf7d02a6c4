// A question that is ready to be asked: everything public about it has been checked, its statement says what it will do
// to the data, and the noise has not been drawn yet.
//
// Guarantee:     answer_of returns only an answer that does what the question stated: no less, and nothing else. Every
//                failure is an error; an exception of the drawing function is caught, and its text is not shown.
// Requires:      the drawing function takes noise only from the source that it is given.
// Thread safety: that of the functions inside.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/release/answer.h"

namespace noisefloor {

// The result, and what was done for it. For replayed noise the statement says that it is not private.
struct Drawn {
  AnswerContent content;
  DpStatement statement;
};

struct Question {
  std::string mechanism;
  DpStatement statement;  // the statement that drawing will make
  Delta delta;
  std::optional<AskedFor> asked = {};
  std::string configuration = "{}";       // a JSON object without spaces: the question, in public terms
  std::string former_configuration = {};  // version 0.1's description, so that its keys keep their meaning; or empty
  std::string data = {};                  // facts about the data that are taken as public, in words
  std::function<Result<Drawn>(SecureRandom&)> draw = {};
  // The same with known noise, to find out what is wrong with the question before anything is spent. May be empty.
  std::function<Result<Drawn>(ReplayRandom&)> rehearse = {};

  // Sets both from one function that takes either source.
  template <class Draw>
  void draw_by(Draw with) {
    draw = [with](SecureRandom& random) { return with(random); };
    rehearse = [with](ReplayRandom& random) { return with(random); };
  }
};

// The program that asks, and the data set that it asks about, for the record.
struct Provenance {
  std::string program_version;
  std::optional<AnswerDataset> dataset = {};
};

// Draws without a ledger: a caller who composes this with other releases has to account for its statement.
[[nodiscard]] Result<Answer> answer_of(const Question& question, const Provenance& provenance, SecureRandom& random);
// The same from a seed. The answer is not private, and says so. Fails if the question has no rehearsal.
[[nodiscard]] Result<Answer> answer_of(const Question& question, const Provenance& provenance, ReplayRandom& random);

// Checks that the question can be asked and its answer written, without giving anything out.
[[nodiscard]] Result<void> rehearse(const Question& question, const Provenance& provenance);

}  // namespace noisefloor
