//! The matrix fault × requirement × killing vectors as Markdown. The main function is [`markdown`].

use crate::mutants::Mutant;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const BEGIN: &str = "<!-- generated: mutants -->";
const END: &str = "<!-- end: mutants -->";

/// The matrix in its place in a page: between the marks where the page has them, else alone.
pub fn placed(page: Option<String>, matrix: &str) -> String {
    let marked = format!("{BEGIN}\n\n{}\n\n{END}", matrix.trim());
    let parts = page.as_deref().and_then(|page| {
        let (before, rest) = page.split_once(BEGIN)?;
        Some((before, rest.split_once(END)?.1))
    });
    parts.map_or_else(|| format!("{marked}\n"), |(before, after)| format!("{before}{marked}{after}"))
}

/// A table of faults for each section, then the leeways, then the vectors that kill nothing.
pub fn markdown(results: &[Mutant], catalogue: &Catalogue, suite: &str) -> String {
    let mut out = String::from(
        "Written by `cetp-conformance mutants --full --markdown docs/suite-quality.md`. A fault is *killed* by a vector \
         that fails over the requirement that the fault breaks, and that is about it.\n",
    );
    let roles: BTreeSet<Role> = results.iter().map(|mutant| mutant.role).collect();
    for role in roles {
        let of_role = |fault: bool| results.iter().filter(move |m| m.role == role && m.fault == fault);
        sections(&mut out, role, of_role(true), catalogue);
        leeways(&mut out, role, of_role(false));
        idle(&mut out, role, suite, of_role(true), catalogue);
    }
    out
}

fn sections<'m>(out: &mut String, role: Role, faults: impl Iterator<Item = &'m Mutant>, catalogue: &Catalogue) {
    // The ledger's own order of sections.
    let places: BTreeMap<&str, usize> =
        catalogue.ledger.iter().enumerate().map(|(n, row)| (row.id.as_str(), n)).collect();
    let section = |mutant: &Mutant| {
        catalogue.ledger.get(mutant.infos[0].rests_on).map_or_else(String::new, |row| row.section.clone())
    };
    let mut by_place: Vec<&Mutant> = faults.collect();
    by_place.sort_by_key(|mutant| (section_key(&section(mutant)), places.get(mutant.infos[0].rests_on)));
    let _ = writeln!(out, "\n### Faults of the {}\n\n{} faults.", role.name(), by_place.len());
    let mut last = None;
    for mutant in by_place {
        let here = section(mutant);
        if last.as_ref() != Some(&here) {
            let _ = writeln!(
                out,
                "\n#### §{here}\n\n| requirement | fault | what it does | killed by |\n|---|---|---|---|"
            );
            last = Some(here);
        }
        let info = mutant.infos[0];
        let killers = match mutant.killers.as_slice() {
            [] => "**survives**".to_owned(),
            [only] => format!("`{only}`"),
            [first, rest @ ..] => format!("`{first}` and {} more", rest.len()),
        };
        let _ = writeln!(out, "| {} | `{}` | {} | {killers} |", info.rests_on, info.name, cell(info.what));
    }
}

/// Sections in the order of the specification: `4` before `4.1` before `10`.
fn section_key(section: &str) -> Vec<u32> {
    section.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

fn leeways<'m>(out: &mut String, role: Role, leeways: impl Iterator<Item = &'m Mutant>) {
    let all: Vec<&Mutant> = leeways.collect();
    let (alone, together): (Vec<&Mutant>, Vec<&Mutant>) = all.into_iter().partition(|mutant| mutant.infos.len() == 1);
    if alone.is_empty() && together.is_empty() {
        return;
    }
    let bad = alone.iter().chain(&together).filter(|mutant| !mutant.good).count();
    let _ = writeln!(
        out,
        "\n### Leeways of the {}\n\n{} leeways, each alone, and {} sets of several; {bad} that a vector minds.\n\n\
         | allowed by | leeway | what it does |\n|---|---|---|",
        role.name(),
        alone.len(),
        together.len()
    );
    for mutant in alone {
        let info = mutant.infos[0];
        let minded = if mutant.good { "" } else { " **minded**" };
        let _ = writeln!(out, "| {} | `{}`{minded} | {} |", info.rests_on, info.name, cell(info.what));
    }
}

fn idle<'m>(
    out: &mut String,
    role: Role,
    suite: &str,
    faults: impl Iterator<Item = &'m Mutant>,
    catalogue: &Catalogue,
) {
    let killers: BTreeSet<&String> = faults.flat_map(|mutant| &mutant.killers).collect();
    let mine = || catalogue.vectors.iter().filter(|v| v.role == role && v.suite == suite);
    let idle: Vec<&Vector> = mine().filter(|v| !killers.contains(&v.id)).collect();
    let _ = writeln!(
        out,
        "\n### Vectors for the {} that kill no fault\n\n{} of {}.\n",
        role.name(),
        idle.len(),
        mine().count()
    );
    for vector in idle {
        let only = vector
            .requirements
            .iter()
            .filter(|id| mine().filter(|other| other.requirements.contains(id)).count() == 1)
            .map(String::as_str)
            .collect::<Vec<_>>();
        let why = match only.as_slice() {
            [] => vector.notes.clone().unwrap_or_else(|| vector.title.clone()),
            ids => format!("the only vector about {}", ids.join(", ")),
        };
        let _ = writeln!(out, "- `{}` ({}): {}", vector.id, vector.requirements.join(", "), cell(&why));
    }
}

/// Text in a table: a bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_takes_its_place_in_a_page() {
        let page = format!("# Quality\n\nBy hand.\n\n{BEGIN}\nold\n{END}\n\nBy hand again.\n");
        let placed = placed(Some(page), "new\n");
        assert_eq!(placed, format!("# Quality\n\nBy hand.\n\n{BEGIN}\n\nnew\n\n{END}\n\nBy hand again.\n"));
        assert_eq!(super::placed(None, "new"), format!("{BEGIN}\n\nnew\n\n{END}\n"));
    }

    #[test]
    fn sections_are_in_the_order_of_the_specification() {
        let mut sections = ["10", "4.1", "4", "2.2", "7"];
        sections.sort_by_key(|section| section_key(section));
        assert_eq!(sections, ["2.2", "4", "4.1", "7", "10"]);
    }
}
