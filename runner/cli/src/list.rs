//! `vectors` and `requirements`: what there is to be run and judged.

use crate::VectorsArg;
use crate::exit::{Exit, Stop};
use crate::select::Selection;
use cetp_reports::text;
use cetp_vectors::ledger::{Requirement, Role};
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use libtest_mimic::Arguments;
use std::path::PathBuf;

/// What to do with the vectors.
#[derive(clap::Subcommand)]
pub enum VectorsCommand {
    /// List the vectors, each with its title
    List(Box<ListArgs>),
    /// Show a vector as JSON
    Show {
        /// Its id
        id: String,
        #[command(flatten)]
        vectors: VectorsArg,
    },
    /// Check a folder or file of vectors
    Check {
        /// The folder or file
        path: PathBuf,
    },
}

/// Arguments of `vectors list`.
#[derive(clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    vectors: VectorsArg,
    /// Only ids that hold this text
    filter: Option<String>,
}

/// Carries out `vectors`.
pub fn vectors(command: &VectorsCommand) -> Result<Exit, Stop> {
    match command {
        VectorsCommand::List(args) => {
            let catalogue = args.vectors.load()?;
            let filters = Arguments { filter: args.filter.clone(), ..Arguments::default() };
            let roles = match args.selection.role()? {
                Some(role) => vec![role],
                None => roles(&catalogue, &args.selection.suite),
            };
            let mut picked = Vec::new();
            let mut nothing = None;
            for role in roles {
                match args.selection.pick(&catalogue, role, &filters) {
                    Ok(vectors) => picked.extend(vectors),
                    Err(stop) => nothing = Some(stop),
                }
            }
            if let (true, Some(stop)) = (picked.is_empty(), nothing) {
                return Err(stop);
            }
            for vector in picked {
                anstream::println!("{}\n{}", vector.id, text::wrap(&vector.title, "    "));
            }
        }
        VectorsCommand::Show { id, vectors } => {
            let catalogue = vectors.load()?;
            let vector = find(&catalogue, id)?;
            anstream::println!("{}", serde_json::to_string_pretty(vector.source.as_ref()).unwrap_or_default());
        }
        VectorsCommand::Check { path } => {
            let args = VectorsArg { vectors: Some(path.clone()) };
            let catalogue = args.load()?;
            anstream::println!("{}: {} vectors, all well", path.display(), catalogue.vectors.len());
        }
    }
    Ok(Exit::Good)
}

fn roles(catalogue: &Catalogue, suite: &str) -> Vec<Role> {
    let mut roles: Vec<Role> = catalogue.vectors.iter().filter(|v| v.suite == suite).map(|v| v.role).collect();
    roles.sort();
    roles.dedup();
    roles
}

/// The vector of an id.
pub fn find<'c>(catalogue: &'c Catalogue, id: &str) -> Result<&'c Vector, Stop> {
    catalogue.get(id).ok_or_else(|| Stop::usage(format!("there is no vector {id:?}; `vectors list` shows them")))
}

/// Arguments of `requirements`.
#[derive(clap::Args)]
pub struct RequirementsArgs {
    /// Only those that vectors should judge and none does
    #[arg(long)]
    uncovered: bool,
    /// The suite
    #[arg(long, default_value = "cetp-v2")]
    suite: String,
    /// Only those that bind this side
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Carries out `requirements`.
pub fn requirements(args: &RequirementsArgs) -> Result<Exit, Stop> {
    let catalogue = args.vectors.load()?;
    let role = match &args.role {
        None => None,
        Some(name) => {
            Some(Role::from_name(name).ok_or_else(|| Stop::usage(format!("--role {name:?}: there is no such role")))?)
        }
    };
    let rows: Vec<&Requirement> = catalogue
        .ledger
        .iter()
        .filter(|row| row.suite == args.suite && role.is_none_or(|role| row.role.binds(role)))
        .collect();
    if rows.is_empty() {
        return Err(Stop::usage("no requirement is selected; check --suite and --role"));
    }
    for row in rows {
        let vectors: Vec<&str> = about(&catalogue, &row.id, role).iter().map(|v| v.id.as_str()).collect();
        if args.uncovered {
            if vectors.is_empty() && row.not_by_vector.is_none() {
                anstream::println!("{}", row.id);
            }
            continue;
        }
        anstream::println!("{} ({}, {})", row.id, row.role.name(), row.level);
        anstream::println!("{}", text::wrap(&row.text, "    "));
        match &row.not_by_vector {
            Some(by) => anstream::println!("{}", text::wrap(&format!("not judged by vectors, but by {by}"), "    ")),
            None if vectors.is_empty() => anstream::println!("    no vector"),
            None => vectors.iter().for_each(|id| anstream::println!("    - {id}")),
        }
    }
    Ok(Exit::Good)
}

/// The vectors that are about a requirement.
pub fn about<'c>(catalogue: &'c Catalogue, id: &str, role: Option<Role>) -> Vec<&'c Vector> {
    let mine = |v: &&Vector| v.requirements.iter().any(|r| r == id) && role.is_none_or(|role| v.role == role);
    catalogue.vectors.iter().filter(mine).collect()
}
