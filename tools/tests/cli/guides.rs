//! The guides in `docs`: their blocks, and the shell that runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of the guides.
pub(crate) fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The blocks of a guide with their language.
pub(crate) fn blocks(guide: &str) -> Vec<(String, String)> {
    let guide = fs::read_to_string(docs().join(guide)).unwrap();
    let parts: Vec<&str> = guide.split("\n```").collect();
    let inside = parts.iter().skip(1).step_by(2);
    inside.map(|part| part.split_once('\n').unwrap()).map(|(name, text)| (name.into(), text.into())).collect()
}

/// The blocks of a guide in one language.
pub(crate) fn of(guide: &str, language: &str) -> Vec<String> {
    blocks(guide).into_iter().filter(|(name, _)| name == language).map(|(_, text)| text).collect()
}

/// Runs a script in `folder`, where `clockweave` is the binary under test.
pub(crate) fn bash(folder: &Path, args: &[&str], script: &str) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_clockweave")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(args).args(["-c", script]).current_dir(folder).env("PATH", path);
    command.env("CLOCKWEAVE_COMPILED_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-engine"));
    command.output().unwrap()
}
