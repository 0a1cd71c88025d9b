//! The command as its users meet it: arguments, files, exit codes, words.

mod command;
mod fixture;
mod help;
mod interruption;
mod merge;
mod output_rules;
mod recorded_runs;
mod recover;
mod words;
