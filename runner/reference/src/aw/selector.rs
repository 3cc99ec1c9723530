//! Which tools an event or step is for: `match.tools`. The main type is [`Selectors`].

use super::vocabulary::has_chars;
use std::collections::BTreeSet;

/// The standard selectors, which match the normalised name of a tool.
const STANDARD: [&str; 3] = ["bash", "file_read", "file_write"];

/// A list of selectors that was checked; none means every tool: "任一层省略或使用 [\"*\"] 时，该层覆盖全部工具".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selectors(Option<Vec<String>>);

/// How strictly selectors are read; only the tests of an admission bend it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bends {
    /// A native name may end in a star.
    pub globs: bool,
    /// A star may stand among others.
    pub star_with_others: bool,
    /// There are no native selectors: an implementation from before the level `text_replacement`.
    pub no_exact: bool,
}

impl Selectors {
    /// Checks a list.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(list: Option<Vec<String>>, bends: Bends) -> Result<Selectors, &'static str> {
        let Some(list) = list else { return Ok(Selectors(None)) };
        let unique: BTreeSet<&String> = list.iter().collect();
        if !(1..=128).contains(&list.len()) || unique.len() != list.len() {
            return Err("match.tools has 1 to 128 different entries");
        }
        if list.iter().any(|entry| entry == "*") {
            return match list.len() {
                1 => Ok(Selectors(None)),
                _ if bends.star_with_others => Ok(Selectors(None)),
                _ => Err("* stands alone"),
            };
        }
        match list.iter().all(|entry| is_selector(entry, bends)) {
            true => Ok(Selectors(Some(list))),
            false => Err("an entry of match.tools is no selector"),
        }
    }

    /// Whether a tool is meant. Names are compared as they are: "名称区分大小写，不提供 glob 或正则模式".
    pub fn match_tool(&self, adapter: &str, name: &str, native_name: &str) -> bool {
        let Some(list) = &self.0 else { return true };
        list.iter().any(|entry| match native(entry) {
            Some((of, exact)) => of == adapter && exact == native_name,
            None => entry == name,
        })
    }
}

/// The adapter and name of `native:<adapter>:<name>`; the name may hold colons.
fn native(entry: &str) -> Option<(&str, &str)> {
    entry.strip_prefix("native:")?.split_once(':')
}

fn is_selector(entry: &str, bends: Bends) -> bool {
    if !has_chars(entry, 1, 256) {
        return false;
    }
    match native(entry) {
        Some((adapter, name)) => {
            let plain = name.chars().all(|c| (c != '*' || bends.globs) && !c.is_control());
            !bends.no_exact && super::vocabulary::ADAPTERS.contains(&adapter) && !name.is_empty() && plain
        }
        None => STANDARD.contains(&entry),
    }
}
