//! The results of a run as they come, in a file beside the report to be. The main type is [`Journal`].
//!
//! Each line is handed to the system in one piece as soon as there is one: whatever ends this process, the results so far can
//! be read, by `report recover`. A run that comes to its end writes `report.json` and takes the file away.

use crate::exit::Stop;
use crate::publish::{ENVELOPE, REPORT};
use cetp_reports::error::ReportError;
use cetp_reports::journal::FILE;
use cetp_reports::json;
use cetp_reports::model::{Report, VectorRow};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that gets a line for each result.
pub struct Journal {
    file: File,
    path: PathBuf,
    /// The first line that could not be written: results after it would lie about what is missing.
    broken: Option<ReportError>,
}

impl Journal {
    /// Begins one with what is known of the run. What a former run left in the folder goes: if this one is killed, it must
    /// not be taken for what this one found.
    pub fn begin(folder: &Path, head: &Report) -> Result<Journal, Stop> {
        for name in [REPORT, ENVELOPE] {
            let former = folder.join(name);
            match std::fs::remove_file(&former) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(ReportError::file(former)(error).into());
                }
                _ => {}
            }
        }
        let path = folder.join(FILE);
        let file = File::create(&path).map_err(ReportError::file(&path))?;
        let mut journal = Journal { file, path, broken: None };
        journal.line(head)?;
        Ok(journal)
    }

    /// Adds a result. That it could not be written is told at the end of the run, which goes on.
    pub fn add(&mut self, row: &VectorRow) {
        if self.broken.is_none() {
            self.broken = self.line(row).err();
        }
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), ReportError> {
        let text = json::text(value).map_err(|error| ReportError::Render { form: FILE, message: error.to_string() })?;
        self.file.write_all((text + "\n").as_bytes()).map_err(ReportError::file(&self.path))
    }

    /// The report is written: the journal is not needed any more.
    pub fn end(self) -> Result<(), Stop> {
        std::fs::remove_file(&self.path).map_err(ReportError::file(&self.path))?;
        self.broken.map_or(Ok(()), |error| Err(error.into()))
    }
}
