// One visitor from several lambdas: std::visit(Overloaded{[](const A&) {…}, [](const B&) {…}}, variant).
#pragma once

namespace noisefloor {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace noisefloor
