//! `clockweave man` and `clockweave completions`: what packagers install beside the binary.
//!
//! Both are made from the command line's own description, so they say what `--help` says.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use clockweave::output::Output;

use super::console::{Console, counted};
use super::failure::{Failure, Outcome, commit};

const MAN_NOTES: &str = "\
Without --output the page of one command goes to stdout, in the format of man(1).

Examples:
  clockweave man merge | man -l -
  clockweave man -o /usr/local/share/man/man1";

const COMPLETIONS_NOTES: &str = "\
Examples:
  source <(clockweave completions bash)
  clockweave completions zsh > \"${fpath[1]}/_clockweave\"
  clockweave completions fish > ~/.config/fish/completions/clockweave.fish";

/// Print a manual page, or write all of them
#[derive(Args)]
#[command(after_help = MAN_NOTES)]
pub(crate) struct ManArgs {
    /// Command whose page is wanted, as in `merge` or `engine install`
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,
    /// Folder that every page is written into
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Replace pages that exist
    #[arg(long, requires = "output")]
    force: bool,
}

/// Print the completions of a shell
#[derive(Args)]
#[command(after_help = COMPLETIONS_NOTES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// A manual page: the name of its file and its text.
struct Page {
    name: String,
    text: Vec<u8>,
}

/// The page of one command of the built command line.
fn page(command: &Command) -> Result<Page, Failure> {
    let version = concat!("clockweave ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(version).manual("clockweave");
    let mut text = Vec::new();
    let rendered = [Man::render_title, Man::render_name_section, Man::render_synopsis_section]
        .into_iter()
        .chain([Man::render_description_section as fn(&Man, &mut dyn Write) -> io::Result<()>])
        .chain(command.get_arguments().next().map(|_| Man::render_options_section as _))
        .chain(command.has_subcommands().then_some(Man::render_subcommands_section as _))
        .try_for_each(|section| section(&man, &mut text));
    rendered.map_err(Failure::environment)?;
    if command.get_after_help().is_some() {
        let mut notes = Vec::new();
        man.render_extra_section(&mut notes).map_err(Failure::environment)?;
        // The crate calls the section EXTRA, which says nothing.
        let notes = String::from_utf8_lossy(&notes).replacen(".SH EXTRA", ".SH NOTES", 1);
        text.extend_from_slice(notes.as_bytes());
    }
    Ok(Page { name: man.get_filename(), text })
}

/// The pages of `command` and all commands below it.
fn pages(command: &Command, found: &mut Vec<Page>) -> Result<(), Failure> {
    found.push(page(command)?);
    command.get_subcommands().filter(|below| !below.is_hide_set()).try_for_each(|below| pages(below, found))
}

/// The command that `path` leads to from `from`.
fn find<'c>(from: &'c Command, path: &[String]) -> Result<&'c Command, Failure> {
    let [name, rest @ ..] = path else { return Ok(from) };
    match from.get_subcommands().find(|below| below.get_name() == name) {
        Some(below) => find(below, rest),
        None => {
            let known: Vec<&str> = from.get_subcommands().map(Command::get_name).collect();
            let of = from.get_bin_name().unwrap_or_else(|| from.get_name());
            let expected = if known.is_empty() {
                "no command below it".to_owned()
            } else {
                format!("one of {}", known.join(", "))
            };
            Err(Failure::input(format_args!("found no command `{name}` of `{of}`, expected {expected}")))
        }
    }
}

/// Writes `pages` into `folder`, which is made if it is not there.
fn write_all(pages: Vec<Page>, folder: &Path, force: bool) -> Result<(), Failure> {
    if folder.is_file() {
        return Err(Failure::input("found a file, expected a folder").about(folder));
    }
    fs::create_dir_all(folder).map_err(|error| Failure::opening(folder, &error))?;
    // All or none: nothing takes its place before everything is written.
    let mut outputs = Vec::new();
    for page in pages {
        let path = folder.join(&page.name);
        let mut output = Output::create(&path, force, &[])?;
        output.write_all(&page.text).map_err(|error| Failure::writing(&error, &error, &path))?;
        outputs.push(output);
    }
    for output in outputs {
        commit(output, Outcome::Fine)?;
    }
    Ok(())
}

/// Runs `clockweave man` for the command line `described`.
pub(crate) fn man(args: &ManArgs, described: Command, console: &Console) -> Result<Outcome, Failure> {
    let mut described = described.disable_help_subcommand(true);
    described.build();
    let Some(folder) = &args.output else {
        let page = page(find(&described, &args.command)?)?;
        console.print(String::from_utf8_lossy(&page.text))?;
        return Ok(Outcome::Fine);
    };
    let mut found = Vec::new();
    pages(&described, &mut found)?;
    let count = found.len() as u64;
    write_all(found, folder, args.force)?;
    console.note(format_args!("wrote {} into {}", counted(count, "page"), folder.display()));
    Ok(Outcome::Fine)
}

/// Runs `clockweave completions` for the command line `described`.
pub(crate) fn completions(
    args: &CompletionsArgs,
    mut described: Command,
    console: &Console,
) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut described, "clockweave", &mut script);
    console.print(String::from_utf8_lossy(&script))?;
    Ok(Outcome::Fine)
}
