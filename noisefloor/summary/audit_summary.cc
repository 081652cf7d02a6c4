#include "noisefloor/summary/audit_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/report/attack_page.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Json audit_json(double certified, const audit::RunFindings& findings, const audit::RunJudgement& judgement) {
  return {{"certified", certified},
          {"measured", judgement.measured},
          {"measured_if_gaussian", judgement.measured_gaussian},
          {"confidence", audit::kAuditConfidence},
          {"canaries", findings.counts.front().canaries},
          {"steps", findings.steps},
          {"noise_multiplier", interval_json(judgement.noise.lower, judgement.noise.upper)},
          {"sampling_rate", interval_json(judgement.rate.lower, judgement.rate.upper)},
          {"reach", interval_json(judgement.reach.lower, judgement.reach.upper)},
          {"refuted", !judgement.refuted.empty()}};
}

std::string sides(double certified, const audit::RunJudgement& judgement) {
  return fmt::format("{} ({:g} % confidence)", audit::two_sided(certified, judgement.measured),
                     100 * audit::kAuditConfidence);
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string found_text(const std::optional<audit::FoundAt>& found) {
  if (!found) return "too few rows to tell";
  return fmt::format("{} ({} to {})", percent(found->found), percent(found->between.lower),
                     percent(found->between.upper));
}

Json found_json(const std::optional<audit::FoundAt>& found) {
  if (!found) return nullptr;
  return {{"found", found->found}, {"lower", found->between.lower}, {"upper", found->between.upper}};
}

Json membership_json(const MembershipOutcome& outcome) {
  Json all = Json::array();
  for (const AttackedModels& attacked : outcome.attacked) {
    Json attacks = Json::array();
    for (const MembershipFinding& finding : attacked.findings) {
      attacks.push_back({{"attack", audit::name_of(finding.attack)},
                         {"auc", finding.result.median_auc},
                         {"auc_of_each_target", finding.result.auc},
                         {"balanced_accuracy", finding.result.together.balanced_accuracy()},
                         {"members", finding.result.together.members()},
                         {"others", finding.result.together.others()},
                         {"at_1_percent", found_json(finding.at_hundredth)},
                         {"at_0.1_percent", found_json(finding.at_thousandth)}});
    }
    all.push_back({{"models", name_of(attacked)},
                   {"epsilon", std::isfinite(attacked.epsilon) ? Json(attacked.epsilon) : Json(nullptr)},
                   {"accuracy_of_members", attacked.accuracy_of_members},
                   {"accuracy_of_others", attacked.accuracy_of_others},
                   {"most_auc", attacked.most_auc},
                   {"seconds", attacked.seconds},
                   {"attacks", attacks}});
  }
  Json json{{"name", outcome.name},       {"pool", outcome.pool},   {"models", outcome.models},
            {"targets", outcome.targets}, {"delta", outcome.delta}, {"public_rows", outcome.public_rows}};
  if (!outcome.public_rows) json["for_the_custodian_only"] = kForTheCustodian;
  if (outcome.exposure) json["exposure"] = *outcome.exposure;
  json["attacked"] = all;
  return json;
}

}  // namespace

std::string to_json(const MembershipOutcome& outcome) { return membership_json(outcome).dump(2) + "\n"; }

Summary summary_of(const MembershipOutcome& outcome, const std::string& page, const std::string& figures) {
  Summary summary(fmt::format("Attacks on membership of {}: {} models on halves of {} rows, {} of them attacked",
                              outcome.name, outcome.models, outcome.pool, outcome.targets));
  replace_json(summary, membership_json(outcome));
  summary.set("page", page);
  for (const AttackedModels& attacked : outcome.attacked) {
    summary.line(name_of(attacked),
                 fmt::format("accuracy {} on members, {} on others; AUC of any attack at most {:.3f}; {:.0f} s",
                             percent(attacked.accuracy_of_members), percent(attacked.accuracy_of_others),
                             attacked.most_auc, attacked.seconds));
    for (const MembershipFinding& finding : attacked.findings) {
      const auto [least, most] = std::minmax_element(finding.result.auc.begin(), finding.result.auc.end());
      summary.line("  " + std::string(audit::name_of(finding.attack)),
                   fmt::format("AUC {:.3f} ({:.3f} to {:.3f}); found at 1 % false alarms {}; at 0.1 % {}",
                               finding.result.median_auc, *least, *most, found_text(finding.at_hundredth),
                               found_text(finding.at_thousandth)));
    }
  }
  summary.line("page", page);
  summary.line("figures", figures);
  if (!outcome.public_rows) summary.remark(kForTheCustodian);
  if (outcome.exposure) {
    summary.remark(
        fmt::format("The ledger has recorded it as entry {}: certificates of later releases from these rows "
                    "name it.",
                    *outcome.exposure));
  }
  summary.remark("An attack that finds nothing proves nothing; only epsilon bounds what all attacks can find.");
  return summary;
}

void add_audit(Summary& summary, const audit::SignedAudit& audit) {
  summary.set("audit", audit_json(audit.audit.certified, audit.audit.findings, audit.judgement));
  summary.line("audit", fmt::format("epsilon {}, by {}", sides(audit.audit.certified, audit.judgement),
                                    audit::in_words(audit.audit.findings, audit.judgement)));
}

Summary audit_summary(const Verdict& verdict, const audit::RunFindings& findings, const audit::RunJudgement& judgement,
                      AuditOf what) {
  const Certificate& certificate = verdict.certificate();
  const double certified = certificate.epsilon.upper;
  Summary summary(fmt::format("Audit of {}: nothing refutes its certificate", certificate.name));
  summary.set("file", verdict.file);
  summary.set("name", certificate.name);
  summary.set("in_the_run", what == AuditOf::kTheRun);
  summary.set("audit", audit_json(certified, findings, judgement));
  summary.set("delta", certificate.delta.value());
  summary.line("epsilon",
               fmt::format("{}, at delta {}", sides(certified, judgement), shown(certificate.delta.value())));
  summary.line("if gaussian", fmt::format("measured ≥ {:.2f}, if the trade-off curve is that of a Gaussian, which is "
                                          "not tested",
                                          judgement.measured_gaussian));
  summary.line("audited",
               what == AuditOf::kTheRun
                   ? "the training itself: canaries took part in it"
                   : "this program: it made the certified steps anew, on canaries alone and without any rows");
  summary.line("canaries", fmt::format("{}, each in or out by a coin, in {} steps", findings.counts.front().canaries,
                                       findings.steps));
  summary.line("noise", fmt::format("multiplier {:.5g} to {:.5g}", judgement.noise.lower, judgement.noise.upper));
  summary.line("batches", fmt::format("sampling rate {:.4g} to {:.4g}, each canary by a coin of its own",
                                      judgement.rate.lower, judgement.rate.upper));
  summary.line("clipping", fmt::format("a canary moves a sum by {:.3g} to {:.3g} clip norms, and 1 is allowed",
                                       judgement.reach.lower, judgement.reach.upper));
  summary.remark(
      "Certified is what nobody can do; measured is what somebody did who sees every step and knows all other rows. A "
      "small number below a large one is no praise: it says how much such an audit can see.");
  if (judgement.measured > certified) {
    summary.remark(
        "The measured bound is above the certified one: by chance, that happens in up to one of 20 honest "
        "audits. Audit again; if it happens again and again, report it (SECURITY.md).");
  }
  return summary;
}

Summary summary_of(const InversionOutcome& outcome, const std::string& page) {
  Summary summary(fmt::format("Gradient inversion on test images of {}: {} attack on a network of {} parameters",
                              outcome.name, audit::name_of(outcome.method), outcome.parameters));
  Json updates = Json::array();
  for (const InvertedUpdate& one : outcome.updates) {
    updates.push_back({{"against", one.against}, {"psnr", one.psnr}, {"ssim", one.ssim}, {"seconds", one.seconds}});
    summary.line(one.against, fmt::format("PSNR {:.1f} dB, SSIM {:.2f}; {:.1f} s", one.psnr, one.ssim, one.seconds));
  }
  summary.line("the mean of all images", fmt::format("PSNR {:.1f} dB, SSIM {:.2f}, without any update",
                                                     outcome.baseline_psnr, outcome.baseline_ssim));
  summary.set("name", outcome.name);
  summary.set("method", audit::name_of(outcome.method));
  summary.set("updates", updates);
  summary.set("baseline_psnr", outcome.baseline_psnr);
  summary.set("baseline_ssim", outcome.baseline_ssim);
  summary.set("labels_found", outcome.labels_found);
  summary.set("page", page);
  const std::size_t pictures = outcome.updates.empty() ? 0 : outcome.updates.front().truth.size();
  summary.line("classes", fmt::format("{} of {} read from the updates of one client", outcome.labels_found, pictures));
  summary.line("page", page);
  if (!outcome.public_rows) summary.remark(kForTheCustodian);
  summary.remark(
      "Medians over the pictures. A secure sum hides one client among others and bounds nothing by itself; noise that "
      "is judged by epsilon does.");
  return summary;
}

}  // namespace noisefloor
