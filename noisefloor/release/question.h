// A question that is ready to be asked: everything public about it was checked, what it will do to the data is stated, and the
// noise is still to be drawn.
//
// Guarantee:     answer_of gives back only an answer that does what the question stated: no less, and nothing else. What fails on
//                the way is an error; an exception of the drawing does not get out, and neither does its text.
// Requires:      draws noise only from the source that is handed in.
// Thread safety: as the functions inside.
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

// What came out, and what was done for it. Of replayed noise the statement says that it is not private.
struct Drawn {
  AnswerContent content;
  DpStatement statement;
};

struct Question {
  std::string mechanism;
  DpStatement statement;  // what drawing will state
  Delta delta;
  std::optional<AskedFor> asked = {};
  std::string configuration = "{}";       // a JSON object without spaces: the question, in public terms
  std::string former_configuration = {};  // how version 0.1 described it, so that its keys keep their meaning; or empty
  std::string data = {};                  // what is taken as public about the data, in words
  std::function<Result<Drawn>(SecureRandom&)> draw = {};
  // The same with noise that is known, to find out before anything is spent what is wrong with the question. May be empty.
  std::function<Result<Drawn>(ReplayRandom&)> rehearse = {};

  // Both, from one function that takes either source.
  template <class Draw>
  void draw_by(Draw with) {
    draw = [with](SecureRandom& random) { return with(random); };
    rehearse = [with](ReplayRandom& random) { return with(random); };
  }
};

// Who asks, for the record.
struct Provenance {
  std::string program_version;
  std::optional<AnswerDataset> dataset = {};
};

// Draws, without a ledger: whoever composes this with other releases has to account for its statement.
[[nodiscard]] Result<Answer> answer_of(const Question& question, const Provenance& provenance, SecureRandom& random);
// The same from a seed. The answer is not private, and says so. Refused if the question has no rehearsal.
[[nodiscard]] Result<Answer> answer_of(const Question& question, const Provenance& provenance, ReplayRandom& random);

// Whether the question can be asked and its answer written, without giving anything out.
[[nodiscard]] Result<void> rehearse(const Question& question, const Provenance& provenance);

}  // namespace noisefloor
