//! `clockweave open`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use clockweave::open::{
    self, Browser, BrowserError, OpenError, Prepared, Selection, Server, Site, Stopper, View, ViewError,
};
use clockweave::output::{Output, files_of};
use clockweave::trace::TraceRunError;
use clockweave_model::{ExactTime, Seconds};
use clockweave_validators::engine::{EngineDirs, Ui};
use clockweave_validators::scan::ReadError;

use super::arguments::seconds;
use super::console::Console;
use super::failure::{Failure, Outcome, commit};
use super::interrupt;

const NOTES: &str = "\
The page is Perfetto's own UI, with its files from the installed engine package
(`clockweave engine install`) and no network: it is served on 127.0.0.1 at a
free port, and nothing but these files and the one trace can be reached there.
Requests that name another host are refused, and the page may load nothing from
anywhere else. The command serves until Ctrl-C.

A trace that is compressed as a whole, or with zstd inside, is re-encoded for
the UI in a temporary file. Of a damaged trace the part before the damage is
shown, with a warning.

--transaction selects the transaction's first event and shows its whole way,
--at the last event at or before a time, with its neighbours.

--screenshot needs an installed Chromium, which runs without a window and with a
temporary profile. The selected event's arguments and flows are in the picture.

Exit code 0: the picture is written; 2: no trace; 3: no engine package, or no
browser; 130: ended by Ctrl-C.

Examples:
  clockweave open out/fifo --transaction 17
  clockweave open run.pftrace.gz --no-browser
  clockweave open out/fifo --at 120ns --screenshot fifo.png";

/// Show a trace in Perfetto's own UI, without a network
#[derive(Args)]
#[command(after_help = NOTES)]
pub(crate) struct OpenArgs {
    /// Trace or run directory, `-` for a trace on stdin
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Select the first event of this transaction
    #[arg(long, value_name = "ID", conflicts_with = "at")]
    transaction: Option<u64>,
    /// Select the last event at or before this time, as in 120ns
    #[arg(long, value_name = "T", value_parser = seconds)]
    at: Option<Seconds>,
    /// Print the page's address and start no browser
    #[arg(long)]
    no_browser: bool,
    /// Write a picture of the page (PNG) and end
    #[arg(long, value_name = "FILE", conflicts_with = "no_browser")]
    screenshot: Option<PathBuf>,
    /// Width and height of the picture
    #[arg(long, value_name = "SIZE", default_value = "1600x1200", value_parser = size, requires = "screenshot")]
    size: (u32, u32),
    /// The Chromium that makes it [default: the first on PATH]
    #[arg(long, value_name = "PROGRAM", requires = "screenshot")]
    browser: Option<PathBuf>,
    /// Replace the picture if it exists
    #[arg(long, requires = "screenshot")]
    force: bool,
}

/// `WIDTHxHEIGHT` in pixels.
fn size(text: &str) -> Result<(u32, u32), String> {
    let pair =
        text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    pair.filter(|(width, height)| [width, height].iter().all(|side| (200..=10_000).contains(*side)))
        .ok_or_else(|| "expected WIDTHxHEIGHT, each from 200 to 10000, as in 1600x1200".to_owned())
}

pub(crate) fn run(args: &OpenArgs, console: &Console) -> Result<Outcome, Failure> {
    let wanted = selection(args)?;
    let ui = Ui::open(&EngineDirs::from_env()?)?;
    // A package that is not whole is noticed before anything else.
    ui.read("index.html")?;
    let output = match &args.screenshot {
        Some(path) => {
            let inputs = files_of(&[&args.trace]);
            let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
            Some(Output::create(path, args.force, &inputs)?)
        }
        None => None,
    };
    let mut progress = console.progress();
    let Prepared { trace, cut, .. } = &open::prepare(&args.trace, &mut progress).map_err(refused)?;
    let view = match wanted {
        Some(wanted) => open::view(trace, wanted, &std::env::temp_dir(), &mut progress)
            .map_err(|error| not_found(error, &args.trace))?,
        None => View::default(),
    };
    drop(progress);
    if let Some(cut) = cut {
        console.warn(format_args!("the trace is damaged {cut}; what stands before is shown"));
    }
    let server = Server::bind().map_err(|error| Failure::environment(format!("127.0.0.1: {error}")))?;
    let page = open::page(&server.origin(), &server.trace_address(trace), &view);
    let site = Arc::new(Site { ui, trace: trace.clone() });
    match output {
        Some(output) => picture(args, &server, &site, &page, wanted.is_some(), output),
        None => show(args, &server, &site, &page, console),
    }
}

fn selection(args: &OpenArgs) -> Result<Option<Selection>, Failure> {
    match (args.transaction, args.at) {
        (Some(0), _) => {
            Err(Failure::input("--transaction 0: expected an id other than 0, which stands for none"))
        }
        (Some(id), _) => Ok(Some(Selection::Transaction(id))),
        (None, Some(at)) => {
            let at = ExactTime::from_seconds(at).map_err(Failure::input)?;
            Ok(Some(Selection::At(at.floor_ns())))
        }
        (None, None) => Ok(None),
    }
}

fn refused(error: OpenError) -> Failure {
    match &error {
        OpenError::Io { source, .. } => Failure::access(&error, source),
        OpenError::Read { error: read, path } => match &**read {
            ReadError::Io { source, .. } => Failure::reading(path, read, source),
            _ => Failure::input(&error),
        },
        _ => Failure::input(&error),
    }
}

fn not_found(error: ViewError, trace: &Path) -> Failure {
    match &error {
        ViewError::Io(source) => Failure::opening(trace, source),
        ViewError::Trace(TraceRunError::Scratch { .. }) => Failure::environment(&error),
        ViewError::Merge(error) => Failure::input(error).about(trace),
        _ => Failure::input(&error).about(trace),
    }
}

/// Serves until a signal comes.
fn show(
    args: &OpenArgs,
    server: &Server,
    site: &Arc<Site>,
    page: &str,
    console: &Console,
) -> Result<Outcome, Failure> {
    let stopped = server.clone();
    interrupt::soften(move || stopped.stop());
    if args.no_browser {
        console.print(format_args!("{page}\n"))?;
    } else {
        console.note(format_args!("{} is shown at {page}\nCtrl-C ends it", site.trace.name()));
        if let Err(error) = start_browser(page) {
            console
                .warn(format_args!("no browser could be started ({error}); open the address above yourself"));
        }
    }
    server.serve(site);
    interrupt::harden();
    Ok(Outcome::Interrupted)
}

/// Hands the address to the user's browser, which lives on by itself.
fn start_browser(page: &str) -> std::io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        Command::new("explorer")
    } else {
        Command::new("xdg-open")
    };
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    // The terminal's Ctrl-C is for this command, not for a browser.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// A script's end: whether the trace is there, or what the UI says instead.
const LOADED: &str = "(async () => {
  const end = Date.now() + 100000;
  while (!window.app?.trace || app.isLoadingTrace) {
    const said = document.querySelector('.pf-modal-dialog');
    if (said) throw new Error('the UI says: ' + said.innerText.replace(/\\s+/g, ' ').slice(0, 300));
    if (Date.now() > end) throw new Error('the trace was not loaded in 100 s');
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  await waitForPerfettoIdle(300);
  await document.fonts.ready;
})()";

/// Shows what is selected in the lower part of the page.
const SELECTED: &str = "(async () => {
  const end = Date.now() + 20000;
  while (app.trace.selection.selection.kind !== 'track_event') {
    if (Date.now() > end) throw new Error('found no event to select');
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  app.trace.commands.runCommand('dev.perfetto.ShowCurrentSelectionTab');
  await waitForPerfettoIdle(500);
  const drawer = [...document.querySelectorAll('[class*=drawer]')].find(part => part.style.height);
  if (drawer) drawer.style.height = Math.round(window.innerHeight * 0.55) + 'px';
  await waitForPerfettoIdle(500);
  await document.fonts.ready;
})()";

/// What the browser that makes a picture is doing, for the signal that ends it.
#[derive(Default)]
struct Running {
    browser: Option<Stopper>,
    interrupted: bool,
}

fn picture(
    args: &OpenArgs,
    server: &Server,
    site: &Arc<Site>,
    page: &str,
    selects: bool,
    mut output: Output,
) -> Result<Outcome, Failure> {
    let program = args.browser.clone().or_else(open::find_browser).ok_or(BrowserError::NotFound);
    let program = program.map_err(Failure::environment)?;
    let running = Arc::new(Mutex::new(Running::default()));
    let asked = Arc::clone(&running);
    interrupt::soften(move || {
        let mut running = asked.lock().unwrap_or_else(PoisonError::into_inner);
        running.interrupted = true;
        if let Some(browser) = running.browser {
            browser.stop();
        }
    });
    let started = |stopper: Stopper| {
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        running.browser = Some(stopper);
        if running.interrupted {
            stopper.stop();
        }
    };
    let (serving, served) = (server.clone(), Arc::clone(site));
    std::thread::spawn(move || serving.serve(&served));
    let taken = Browser::launch(&program, args.size, started).and_then(|mut browser| {
        browser.navigate(&format!("{page}&hideSidebar=true"))?;
        browser.evaluate(LOADED)?;
        if selects {
            browser.evaluate(SELECTED)?;
        }
        browser.screenshot()
    });
    server.stop();
    if interrupt::harden() {
        return Ok(Outcome::Interrupted);
    }
    let bytes = taken.map_err(|error| match error {
        BrowserError::Page { .. } => Failure::input(&error).about(&args.trace),
        error => Failure::environment(error),
    })?;
    let target = output.path().to_owned();
    std::io::Write::write_all(&mut output, &bytes)
        .map_err(|error| Failure::writing(&error, &error, &target))?;
    commit(output, Outcome::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_numbers() {
        assert_eq!(size("1600x1200"), Ok((1600, 1200)));
        for wrong in ["1600", "x", "1600x", "100x900", "1600x99999", "-5x300", "1600 x 900"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
