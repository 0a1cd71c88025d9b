//! `clockweave merge --format parquet`, where the build has it.

#[cfg(not(feature = "parquet"))]
pub(super) use absent::{into_file, into_folder};
#[cfg(feature = "parquet")]
pub(super) use present::{into_file, into_folder};

#[cfg(feature = "parquet")]
mod present {
    use std::path::Path;

    use clockweave::merge::{MergeError, MergeOptions, MergeReport, ParquetPlace, merge_parquet};
    use clockweave::output::Output;
    use clockweave::output_folder::OutputFolder;
    use clockweave::progress::Progress;
    use clockweave::run::Run;
    use clockweave_model::Seconds;

    use crate::cli::failure::Failure;

    /// Merges into one file.
    pub(in crate::cli) fn into_file(
        runs: &[Run],
        options: &MergeOptions,
        output: &mut Output,
        progress: &mut dyn Progress,
    ) -> Result<Result<MergeReport, MergeError>, Failure> {
        Ok(merge_parquet(runs, options, ParquetPlace::File(output), progress))
    }

    fn is_part(name: &str) -> bool {
        name.starts_with("part-") && name.ends_with(".parquet")
    }

    /// Merges into a folder with a file for every period.
    pub(in crate::cli) fn into_folder(
        runs: &[Run],
        options: &MergeOptions,
        path: &Path,
        force: bool,
        period: Seconds,
        progress: &mut dyn Progress,
    ) -> Result<MergeReport, Failure> {
        let folder = OutputFolder::create(path, force, is_part)?;
        let place = ParquetPlace::Folder { path: folder.filling().to_owned(), period };
        let merged = merge_parquet(runs, options, place, progress);
        let merged = merged.map_err(|error| Failure::of_merge(error, path))?;
        folder.commit()?;
        Ok(merged)
    }
}

#[cfg(not(feature = "parquet"))]
mod absent {
    use std::path::Path;

    use clockweave::merge::{MergeError, MergeOptions, MergeReport};
    use clockweave::output::Output;
    use clockweave::progress::Progress;
    use clockweave::run::Run;
    use clockweave_model::Seconds;

    use crate::cli::failure::Failure;

    fn absent() -> Failure {
        Failure::input(
            "--format parquet: this program was built without it; `cargo install --path tools --features parquet` \
             builds one with it",
        )
    }

    /// Says that there is no such format here.
    pub(in crate::cli) fn into_file(
        _runs: &[Run],
        _options: &MergeOptions,
        _output: &mut Output,
        _progress: &mut dyn Progress,
    ) -> Result<Result<MergeReport, MergeError>, Failure> {
        Err(absent())
    }

    /// Says that there is no such format here.
    pub(in crate::cli) fn into_folder(
        _runs: &[Run],
        _options: &MergeOptions,
        _path: &Path,
        _force: bool,
        _period: Seconds,
        _progress: &mut dyn Progress,
    ) -> Result<MergeReport, Failure> {
        Err(absent())
    }
}
