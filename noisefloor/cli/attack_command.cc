#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/attack.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/report/attack_page.h"
#include "noisefloor/report/png.h"
#include "noisefloor/summary/audit_summary.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

namespace fs = std::filesystem;

struct MembershipOptions : LedgerAccess {
  std::string file;
  std::string epsilons;
  std::string shadows = "64";
  std::string targets = "8";
  std::string pool;
  std::string attacks;
  std::string seed = "1";
  std::string threads;
  std::string output;
  bool quiet = false;
  CreateOption creating;
};

Result<MembershipWish> wish_of(const MembershipOptions& o) {
  MembershipWish wish;
  wish.unknown = o.creating.unknown();
  const std::vector<std::string_view> epsilons =
      o.epsilons.empty() ? std::vector<std::string_view>{} : split_list(o.epsilons);
  for (const std::string_view item : epsilons) {
    if (item == "inf") {
      wish.epsilons.push_back(std::numeric_limits<double>::infinity());
      continue;
    }
    NF_TRY(const double value, parse_number("--epsilons", item));
    wish.epsilons.push_back(value);
  }
  NF_TRY(wish.models, parse_count("--shadows", o.shadows));
  NF_TRY(wish.targets, parse_count("--targets", o.targets));
  if (!o.pool.empty()) {
    NF_TRY(wish.pool, parse_count("--pool", o.pool));
  }
  NF_TRY(wish.seed, parse_seed(o.seed));
  if (o.attacks.empty()) return wish;
  wish.attacks.clear();
  for (const std::string_view item : split_list(o.attacks)) {
    NF_TRY(const audit::Attack attack, audit::parse_attack(item));
    wish.attacks.push_back(attack);
  }
  return wish;
}

Result<Summary> run_membership(const MembershipOptions& o) {
  NF_TRY(const MembershipWish wish, wish_of(o));
  NF_TRY(TrainingFile file, training_file_at(o.file));
  return attack_membership(std::move(file), wish, {o, o.creating, o.threads, o.output, o.quiet, o.file});
}

struct InversionOptions : LedgerAccess {
  std::string file;
  std::string network = "convolution";
  std::string method;
  std::string pictures = "4";
  std::string clients = "8";
  std::string clip = "1";
  std::string noise = "0.001,0.01,1";
  std::string iterations = "600";
  std::string total_variation = "0.001";
  std::string seed = "1";
  std::string output;
  bool quiet = false;
};

Result<InversionWish> wish_of(const InversionOptions& o) {
  InversionWish wish;
  if (o.network == "dense") {
    wish.network = AttackedNetwork::kDense;
  } else if (o.network != "convolution") {
    return invalid_argument(fmt::format("--network is dense or convolution; '{}' was given", o.network));
  }
  if (!o.method.empty()) {
    for (const audit::Inversion method :
         {audit::Inversion::kAnalytic, audit::Inversion::kDlg, audit::Inversion::kCosine}) {
      if (o.method == audit::name_of(method)) wish.method = method;
    }
    if (!wish.method) {
      return invalid_argument(fmt::format("--method is analytic, dlg or cosine; '{}' was given", o.method));
    }
  }
  NF_TRY(wish.pictures, parse_count("--pictures", o.pictures));
  NF_TRY(wish.clients, parse_count("--clients", o.clients));
  NF_TRY(wish.clip, quantity<ClipNorm>("--clip", o.clip));
  wish.noise.clear();
  for (const std::string_view item : split_list(o.noise)) {
    NF_TRY(const NoiseMultiplier noise, quantity<NoiseMultiplier>("--noise-multipliers", std::string(item)));
    wish.noise.push_back(noise);
  }
  NF_TRY(const std::uint64_t iterations, parse_count("--iterations", o.iterations));
  if (iterations == 0 || iterations > 1'000'000) {
    return invalid_argument(fmt::format("--iterations is from 1 to 1000000; {} was given", iterations));
  }
  wish.iterations = static_cast<int>(iterations);
  NF_TRY(wish.total_variation, parse_number("--total-variation", o.total_variation));
  if (!(wish.total_variation >= 0 && wish.total_variation <= 1e6)) {
    return invalid_argument(fmt::format("--total-variation is 0 or above; {} was given", o.total_variation));
  }
  NF_TRY(wish.seed, parse_seed(o.seed));
  return wish;
}

PicturesPage page_of(const InversionOutcome& outcome) {
  PicturesPage page{"Gradient inversion: " + outcome.name,
                    fmt::format("What a server that is honest but curious gets back from what it receives, by the {} "
                                "attack on a network of {} parameters. Beside each picture is what came back.",
                                audit::name_of(outcome.method), outcome.parameters),
                    outcome.public_rows ? "" : kForTheCustodian,
                    {}};
  const audit::Picture& shape = outcome.shape;
  const auto png = [&](const audit::Pixels& pixels) {
    return picture_of(pixels, shape.width, shape.height, shape.channels);
  };
  for (const InvertedUpdate& one : outcome.updates) {
    PicturesPage::Row row{one.against, fmt::format("PSNR {:.1f} dB, SSIM {:.2f} (medians)", one.psnr, one.ssim), {}};
    for (std::size_t i = 0; i < one.truth.size(); ++i) {
      row.pictures.emplace_back("sent", png(one.truth[i]));
      row.pictures.emplace_back("came back", png(one.found[i]));
    }
    page.rows.push_back(std::move(row));
  }
  return page;
}

Result<void> close_to_others(const std::string& folder) {
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, error);
  if (!error) return success();
  return io_error(fmt::format("{} cannot be closed to others: {}", shown(folder), error.message()));
}

Result<Summary> run_inversion(const InversionOptions& o) {
  NF_TRY(const InversionWish wish, wish_of(o));
  NF_TRY(const TrainingFile file, training_file_at(o.file));
  NF_TRY(const Machine machine, machine_with(""));
  std::unique_ptr<Ledger> ledger;
  if (!o.ledger.empty() || ledger_is_there(o)) {
    NF_TRY(ledger, open_to_write(o));
  }
  const auto progress = [&](const std::string& against) {
    if (!o.quiet) std::fprintf(stderr, "%s\n", against.c_str());
  };
  NF_TRY(const InversionOutcome outcome, invert_updates(file, wish, machine, ledger.get(), progress));
  NF_TRY(const std::string folder, make_empty_folder(o.output, file.training.name + "-inversion"));
  if (!outcome.public_rows) NF_TRY_VOID(close_to_others(folder));
  const std::string page = (fs::path(folder) / "inversion.html").string();
  NF_TRY_VOID(write_file(page, to_html(page_of(outcome), std::string("noisefloor ") + NOISEFLOOR_VERSION)));
  return summary_of(outcome, page);
}

}  // namespace

Result<Summary> attack_membership(TrainingFile file, MembershipWish wish, const AttackPlace& place) {
  NF_TRY(const Machine machine, machine_with(place.threads));
  const std::string name = file.training.name;
  NF_TRY(MembershipJob job, MembershipJob::prepare(std::move(file), std::move(wish), machine));
  NF_TRY(const OpenedLedger opened, open_ledger_of(place.access, place.creating, job.file(), false, job.needs_ledger(),
                                                   [](Ledger*) -> Result<Outlook> { return Outlook{.fits = true}; }));
  Console console(place.quiet);
  const auto progress = [&](const std::string& what, std::size_t done, std::size_t all) {
    if (!place.quiet && (done % 8 == 0 || done == all)) {
      std::fprintf(stderr, "%s: %zu of %zu models\n", what.c_str(), done, all);
    }
  };
  Result<MembershipOutcome> found = job.run(opened.ledger.get(), console.control(), progress);
  if (!found.has_value()) return console.explained(std::move(found).error(), place.file);
  const MembershipOutcome& outcome = found.value();
  NF_TRY(const std::string folder, make_empty_folder(place.output, name + "-attack"));
  if (!outcome.public_rows) NF_TRY_VOID(close_to_others(folder));
  const std::string page = (fs::path(folder) / "attack.html").string();
  const std::string figures = (fs::path(folder) / "attack.json").string();
  NF_TRY_VOID(write_file(figures, to_json(outcome)));
  NF_TRY_VOID(write_file(page, membership_page(outcome, std::string("noisefloor ") + NOISEFLOOR_VERSION)));
  for (const AttackedModels& attacked : outcome.attacked) {
    std::string name_of_chart = "roc-" + name_of(attacked) + ".svg";
    for (char& c : name_of_chart) c = c == ' ' ? '-' : c;
    NF_TRY_VOID(write_file((fs::path(folder) / name_of_chart).string(), to_svg(roc_chart(attacked, outcome.delta))));
  }
  if (!outcome.public_rows) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::error_code ignored;
      fs::permissions(entry.path(), fs::perms::owner_read | fs::perms::owner_write, ignored);
    }
  }
  return summary_of(outcome, page, figures);
}

void add_attack_command(CLI::App& app, Action& action) {
  CLI::App& attack = add_command_group(app, "attack", "Attack models, to learn what they give away");
  const auto declare = [](CLI::App& command, MembershipOptions& o) {
    const OptionGroup options(command);
    const OptionGroup output(command, "Output");
    options.required("FILE", o.file, "The training as TOML: what models are made of, and of which rows");
    options.optional("--epsilons", o.epsilons, "Attack models with this much privacy each; inf is none (the file's)",
                     "E,E,…");
    options.with_default("--shadows", o.shadows, "Models to train, each on a random half of the rows", "N");
    options.with_default("--targets", o.targets, "How many of them are attacked, each by all others", "N");
    options.optional("--pool", o.pool, "Use so many rows, drawn at random (all)", "N");
    options.optional("--attacks", o.attacks, "Of threshold,lira-online,lira-offline,rmia,quantile (all)", "NAME,…");
    options.with_default("--seed", o.seed, "The same seed gives the same figures", "N");
    options.optional("--threads", o.threads, "Threads (all cores)", "N");
    output.optional("--output", o.output, "Folder for the page and the figures (NAME-attack)", "DIR");
    output.flag("--quiet", o.quiet, "No progress");
    o.creating.add_to(command);
    o.add_to(command, true, false);
  };
  add_command<MembershipOptions>(attack, action, "membership",
                                 "Who was in the training data? Threshold, LiRA, RMIA, quantile regression",
                                 "examples/audit/readmissions-overfit.toml\n  noisefloor attack membership "
                                 "examples/audit/readmissions-private.toml --epsilons 8,1",
                                 declare, run_membership);
  const auto declare_inversion = [](CLI::App& command, InversionOptions& o) {
    const OptionGroup options(command);
    const OptionGroup output(command, "Output");
    options.required("FILE", o.file, "A training on images as TOML: its test images are sent");
    options.with_default("--network", o.network, "dense, or convolution", "NAME");
    options.optional("--method", o.method, "analytic, dlg or cosine (analytic for dense, else cosine)", "NAME");
    options.with_default("--pictures", o.pictures, "Clients with one picture each", "N");
    options.with_default("--clients", o.clients, "Clients in the secure sum; 0 for none", "N");
    options.with_default("--clip", o.clip, "Private updates are clipped to this norm", "C");
    options.with_default("--noise-multipliers", o.noise, "Noise of private updates, in clip norms", "Z,Z,…");
    options.with_default("--iterations", o.iterations, "Steps of the attack", "N");
    options.with_default("--total-variation", o.total_variation, "How smooth cosine takes pictures to be", "W");
    options.with_default("--seed", o.seed, "The same seed gives the same pictures", "N");
    output.optional("--output", o.output, "Folder for the page (NAME-inversion)", "DIR");
    output.flag("--quiet", o.quiet, "No progress");
    o.add_to(command, true, false);
  };
  add_command<InversionOptions>(attack, action, "inversion",
                                "What pictures come back from an update that a client sent?",
                                "examples/training/fashion.toml\n  noisefloor attack inversion "
                                "examples/training/fashion.toml --network dense",
                                declare_inversion, run_inversion);
}

}  // namespace noisefloor::cli
