//! Which vectors are meant. The main type is [`Selection`].
//!
//! Nothing that selects nothing passes silently: a filter, a level, a requirement or a skip that matches no vector is an
//! error of the user.

use crate::exit::Stop;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::{Catalogue, SUITES};
use cetp_vectors::model::Vector;
use libtest_mimic::Arguments;

/// The suite's own filters, beside those of libtest.
#[derive(clap::Args, Clone, Debug)]
pub struct Selection {
    /// The suite
    #[arg(long, default_value = "cetp-v2")]
    pub suite: String,
    /// The side that is tested; needed only for a target that can be both
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Only vectors of this level: core, v1_compat, or a capability; may be given several times
    #[arg(long, value_name = "LEVEL")]
    pub level: Vec<String>,
    /// Only vectors about this requirement; may be given several times
    #[arg(long, value_name = "ID")]
    pub requirement: Vec<String>,
    /// Only vectors that people wrote, none that was generated; the run then supports no claim
    #[arg(long)]
    pub written: bool,
    /// Only the I-th of N equal parts
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
}

impl Selection {
    /// The role that was asked for.
    pub fn role(&self) -> Result<Option<Role>, Stop> {
        match &self.role {
            None => Ok(None),
            Some(name) => {
                let role = Role::from_name(name).filter(|role| *role != Role::Both);
                role.map(Some).ok_or_else(|| {
                    Stop::usage(format!(
                        "--role {name:?}: must be provider or consumer (aw-provider: provider, host or admission)"
                    ))
                })
            }
        }
    }

    /// The vectors of a role that are selected, sorted by id.
    pub fn pick<'c>(&self, catalogue: &'c Catalogue, role: Role, filters: &Arguments) -> Result<Vec<&'c Vector>, Stop> {
        if !SUITES.contains(&self.suite.as_str()) {
            return Err(Stop::usage(format!("--suite {:?}: there are {SUITES:?}", self.suite)));
        }
        let all: Vec<&Vector> = catalogue.vectors.iter().filter(|v| v.suite == self.suite && v.role == role).collect();
        for level in &self.level {
            if !all.iter().any(|v| v.level == *level) {
                return Err(Stop::usage(format!(
                    "--level {level:?}: the suite has no vector of that level for a {}",
                    role.name()
                )));
            }
        }
        for id in &self.requirement {
            match catalogue.ledger.get(id) {
                None => return Err(Stop::usage(format!("--requirement {id:?}: it is in no ledger"))),
                Some(_) if !all.iter().any(|v| v.requirements.contains(id)) => {
                    return Err(Stop::usage(format!(
                        "--requirement {id}: no vector for a {} is about it",
                        role.name()
                    )));
                }
                Some(_) => {}
            }
        }
        let hit = |vector: &Vector, filter: &str| {
            if filters.exact { vector.id == filter } else { vector.id.contains(filter) }
        };
        for (what, list) in [("filter", &filters.filter.iter().cloned().collect::<Vec<_>>()), ("--skip", &filters.skip)]
        {
            if let Some(empty) = list.iter().find(|filter| !all.iter().any(|v| hit(v, filter))) {
                return Err(Stop::usage(format!("the {what} {empty:?} matches no vector; `vectors list` shows them")));
            }
        }
        let mut picked: Vec<&Vector> = all
            .into_iter()
            .filter(|v| !self.written || v.generated.is_none())
            .filter(|v| self.level.is_empty() || self.level.contains(&v.level))
            .filter(|v| self.requirement.is_empty() || v.requirements.iter().any(|id| self.requirement.contains(id)))
            .filter(|v| filters.filter.as_ref().is_none_or(|filter| hit(v, filter)))
            .filter(|v| !filters.skip.iter().any(|filter| hit(v, filter)))
            .collect();
        if let Some(shard) = &self.shard {
            let (part, parts) = shard_of(shard)?;
            let mut n = 0;
            picked.retain(|_| {
                n += 1;
                (n - 1) % parts == part - 1
            });
        }
        if picked.is_empty() {
            return Err(Stop::usage("nothing is selected: the filters together match no vector"));
        }
        Ok(picked)
    }
}

fn shard_of(text: &str) -> Result<(usize, usize), Stop> {
    let wrong = || Stop::usage(format!("--shard {text:?}: must be I/N with 1 <= I <= N"));
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    match (part.parse(), parts.parse()) {
        (Ok(part), Ok(parts)) if part >= 1 && part <= parts => Ok((part, parts)),
        _ => Err(wrong()),
    }
}
