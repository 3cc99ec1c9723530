//! `vectors` and `requirements`: what there is to be run and judged.

use crate::VectorsArg;
use crate::exit::{Exit, Stop};
use crate::select::Selection;
use cetp_reports::text;
use cetp_vectors::generate::{GENERATORS, Generator};
use cetp_vectors::ledger::{Requirement, Role};
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use libtest_mimic::Arguments;
use std::path::{Path, PathBuf};

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
    /// Write the vectors that are made from a catalogue
    Generate(GenerateArgs),
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

/// Arguments of `vectors generate`.
#[derive(clap::Args)]
pub struct GenerateArgs {
    /// Write nothing, and fall short where a file is not as it would be written
    #[arg(long)]
    check: bool,
    /// Only this generator
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// The seed, instead of that of the committed files
    #[arg(long)]
    seed: Option<u64>,
    /// Read the tools of this target instead, and write vectors for them
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["check", "only", "seed"])]
    from_target: Option<String>,
    /// With --from-target: also tools with effects. Tools that need the user are never called
    #[arg(long, requires = "from_target")]
    allow_effects: bool,
    /// The vectors' folder
    #[arg(default_value = "vectors")]
    folder: PathBuf,
}

/// Carries out `vectors generate`.
fn generate(args: &GenerateArgs) -> Result<Exit, Stop> {
    if let Some(target) = &args.from_target {
        return crate::own_tools::generate(target, &args.folder, args.allow_effects);
    }
    let chosen = |generator: &&Generator| args.only.as_ref().is_none_or(|name| name == generator.name);
    let generators: Vec<&Generator> = GENERATORS.iter().filter(chosen).collect();
    if generators.is_empty() {
        let known: Vec<&str> = GENERATORS.iter().map(|generator| generator.name).collect();
        return Err(Stop::usage(format!("--only: there is no such generator; there are {known:?}")));
    }
    let failed = |place: &Path, error: std::io::Error| Stop::usage(format!("{}: {error}", place.display()));
    let mut stale = 0;
    for generator in generators {
        let made = generator.made(args.seed.unwrap_or(generator.seed)).map_err(Stop::usage)?;
        anstream::println!("{}: {}", generator.name, made.report);
        let files = made.files;
        for (name, text) in &files {
            let place = args.folder.join(name);
            if std::fs::read_to_string(&place).is_ok_and(|found| found == *text) {
                continue;
            }
            stale += 1;
            let word = if args.check { "stale" } else { "written" };
            anstream::println!("{word}: {}", place.display());
            if !args.check {
                std::fs::create_dir_all(place.parent().unwrap_or(&args.folder)).map_err(|e| failed(&place, e))?;
                std::fs::write(&place, text).map_err(|e| failed(&place, e))?;
            }
        }
        for name in generator.left_over(&files, &args.folder) {
            stale += 1;
            let place = args.folder.join(name);
            anstream::println!("{}: {}", if args.check { "left over" } else { "removed" }, place.display());
            if !args.check {
                std::fs::remove_file(&place).map_err(|e| failed(&place, e))?;
            }
        }
    }
    Ok(if args.check && stale > 0 { Exit::FallsShort } else { Exit::Good })
}

/// Carries out `vectors`.
pub fn vectors(command: &VectorsCommand) -> Result<Exit, Stop> {
    match command {
        VectorsCommand::List(args) => {
            let catalogue = args.vectors.heads()?;
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
        VectorsCommand::Generate(args) => return generate(args),
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
    let catalogue = args.vectors.heads()?;
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
