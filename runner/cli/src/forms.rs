//! The forms of a report that a command line can ask for. The main type is [`Forms`].

use crate::exit::Stop;
use cetp_reports::error::ReportError;
use cetp_reports::html::{Language, html};
use cetp_reports::view::View;
use cetp_reports::{badge::badge, ctrf::ctrf, junit::junit, markdown};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where each form goes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Forms {
    /// Write JUnit XML; - is standard output, here and below
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write CTRF JSON
    #[arg(long, value_name = "FILE")]
    pub ctrf: Option<PathBuf>,
    /// Write a summary as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write the page for people: one HTML file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the JSON of a badge
    #[arg(long, value_name = "FILE")]
    pub badge: Option<PathBuf>,
    /// The language in which the page opens; it can be changed there
    #[arg(long, value_name = "LANG", value_parser = ["auto", "en", "zh"], default_value = "auto")]
    pub lang: String,
}

impl Forms {
    /// Whether no form is asked for.
    pub fn is_empty(&self) -> bool {
        [&self.junit, &self.ctrf, &self.markdown, &self.html, &self.badge].iter().all(|form| form.is_none())
    }

    /// Makes the folders, before a run and not after it.
    pub fn prepare(&self) -> Result<(), Stop> {
        for path in [&self.junit, &self.ctrf, &self.markdown, &self.html, &self.badge].into_iter().flatten() {
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder).map_err(|error| Stop::usage(format!("{}: {error}", path.display())))?;
            }
        }
        Ok(())
    }

    /// Writes what is asked for.
    pub fn write(&self, view: &View<'_>) -> Result<(), Stop> {
        if let Some(path) = &self.junit {
            write(path, &junit(view)?)?;
        }
        if let Some(path) = &self.ctrf {
            write(path, &(pretty(&ctrf(view))? + "\n"))?;
        }
        if let Some(path) = &self.markdown {
            write(path, &markdown::summary(view))?;
        }
        if let Some(path) = &self.badge {
            write(path, &(badge(view.report).to_string() + "\n"))?;
        }
        if let Some(path) = &self.html {
            let language = match self.lang.as_str() {
                "en" => Language::English,
                "zh" => Language::Chinese,
                _ => Language::Readers,
            };
            write(path, &html(view, language))?;
        }
        Ok(())
    }
}

fn pretty(json: &serde_json::Value) -> Result<String, ReportError> {
    cetp_reports::json::pretty(json).map_err(|error| ReportError::Render { form: "CTRF", message: error.to_string() })
}

/// Writes a text; a half-written one never lies there. `-` is standard output.
pub fn write(path: &Path, text: &str) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::usage(format!("{} cannot be written: {error}", path.display()));
    if path == Path::new("-") {
        return std::io::stdout().write_all(text.as_bytes()).map_err(failed);
    }
    // A pipe or terminal is written to, not replaced.
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(path, text).map_err(failed);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
