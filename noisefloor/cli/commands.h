// The commands of the program. Each adds itself to the parser, and hands what it does to the action.
#pragma once

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {

// What a plan costs, and what fits a budget (account_command.cc).
void add_account_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);
// Attacks on models, to learn what they give away.
void add_attack_command(CLI::App& app, Action& action);
// What an audit measures beside what a certificate states.
void add_audit_command(CLI::App& app, Action& action);
// A durable privacy budget, spent from by everyone and checked by anyone: budget_command.cc, and budget_look.cc for
// those subcommands that spend nothing.
void add_budget_command(CLI::App& app, Action& action);
void add_budget_look_commands(CLI::App& budget, Action& action);
// Does a pipeline keep its budget, and what looks wrong with it, with a description or with a training.
void add_check_command(CLI::App& app, Action& action);
// Datasets that the ledger knows, each with one budget for all uses.
void add_dataset_command(CLI::App& app, Action& action);
// The main job, from a plan to a report, on images that anyone may have.
void add_demo_command(CLI::App& app, Action& action);
// A dataset description and a training file to fill in.
void add_init_command(CLI::App& app, Action& action);
// One private answer.
void add_mechanism_command(CLI::App& app, Action& action);
// How good a trained model is, and what it says (model_command.cc).
void add_evaluate_command(CLI::App& app, Action& action);
void add_predict_command(CLI::App& app, Action& action);
// Teachers that vote, and a student that learns from their labels.
void add_pate_command(CLI::App& app, Action& action);
// Noise, batch and rounds, before anything is spent.
void add_plan_command(CLI::App& app, Action& action);
// Queries in SQL: one at a time, and in a conversation.
void add_query_command(CLI::App& app, Action& action);
void add_sql_command(CLI::App& app, Action& action);
// A run as one HTML file.
void add_report_command(CLI::App& app, Action& action);
// Members of a ledger.
void add_role_command(CLI::App& app, Action& action);
// Secure sums.
void add_secagg_command(CLI::App& app, Action& action);
// Federated runs on simulated sites.
void add_simulate_command(CLI::App& app, Action& action);
// Private training, and the same at several epsilons.
void add_sweep_command(CLI::App& app, Action& action);
void add_train_command(CLI::App& app, Action& action);
// Whether a certificate is true.
void add_verify_command(CLI::App& app, Action& action);

}  // namespace noisefloor::cli
