//! The command as its users meet it: arguments, files, exit codes, words.

mod command;
mod common_rules;
mod diff;
mod engine;
mod fixture;
mod guide_ci;
mod help;
mod inspect;
mod interruption;
mod manual;
mod merge;
mod merge_formats;
mod output_rules;
mod record;
mod recorded_runs;
mod recover;
mod report;
mod report_sql;
mod reports;
mod runqueue;
mod salvage;
mod validate;
mod validate_many;
mod validate_reports;
mod words;
