//! Parameters that make a tool a general executor (§4.3, §11.1): a shell command, code, SQL, any URL, any path. The main
//! function is [`find`].

use super::shape::{Value, values};
use super::tool::Tool;
use super::words::{Words, tokens};

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Takes {
    /// A command of a shell.
    Shell,
    /// Source code.
    Code,
    /// A query of a database.
    Sql,
    /// Any address.
    Url,
    /// Any place in a file system.
    Path,
}

/// Such a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// What it takes.
    pub takes: Takes,
    /// JSON Pointer in the descriptor.
    pub pointer: String,
    /// Its name.
    pub name: String,
}

impl Executor {
    /// Whether what it takes is run, so that it can do anything.
    pub fn runs(&self) -> bool {
        matches!(self.takes, Takes::Shell | Takes::Code | Takes::Sql)
    }

    /// What it takes, in words.
    pub fn what(&self) -> &'static str {
        match self.takes {
            Takes::Shell => "a shell command",
            Takes::Code => "source code",
            Takes::Sql => "SQL",
            Takes::Url => "any URL",
            Takes::Path => "any path",
        }
    }
}

/// Words in the name of a tool that runs what it is given.
const RUNS: Words = Words(
    "run exec execute eval evaluate shell bash terminal command cmd script python javascript js node code interpreter \
     sandbox repl powershell ssh",
);

/// Words in the name of a tool that goes to an address.
const GOES: Words = Words(
    "fetch request http https download open browse browser navigate crawl scrape proxy visit load curl web url page \
     get read post call api",
);

/// Words in the name of a tool of a file system.
const FILES: Words = Words("file files filesystem fs dir directory folder path disk");

/// The parameters of a tool that make it a general executor.
pub fn find(tool: &Tool) -> Vec<Executor> {
    let Some((pointer, schema)) = tool.input() else { return Vec::new() };
    let words = tokens(&tool.name);
    let has = |list: Words| list.has_any(&words);
    let mut out: Vec<Executor> = Vec::new();
    for value in values(pointer, schema).list {
        if value.name.is_empty() || !(value.may_be("string") || value.may_be("array")) {
            continue;
        }
        let parameter = tokens(&value.name).join("_");
        let said = value.words().to_lowercase();
        let says = |word: &str| tokens(&said).iter().any(|said| said == word);
        let takes = match parameter.as_str() {
            "shell" | "shell_command" | "bash" | "bash_command" | "command_line" | "cmdline" | "argv"
            | "powershell" => Takes::Shell,
            "command" | "cmd" | "script" if has(RUNS) || says("shell") || says("bash") => Takes::Shell,
            "source_code" | "python_code" | "js_code" | "javascript" | "python" => Takes::Code,
            "code" | "source" | "expression" | "program" if has(RUNS) => Takes::Code,
            "sql" | "sql_query" | "raw_sql" | "sql_statement" => Takes::Sql,
            "query" | "statement" | "q" if words.iter().any(|word| word == "sql") || says("sql") => Takes::Sql,
            "url" | "uri" | "href" | "target_url" | "endpoint" | "link" if has(GOES) => Takes::Url,
            "path" | "file_path" | "filepath" | "file_name" | "filename" | "directory" | "dir" | "folder"
                if has(FILES) =>
            {
                Takes::Path
            }
            _ => continue,
        };
        let bounded = value.is_listed() || value.has_alternatives() || value.types() == ["boolean"];
        if bounded || (value.has("pattern") && narrows(takes, &value)) {
            continue;
        }
        // An alternative is the same parameter once more.
        if !out.iter().any(|known| known.name == value.name && known.takes == takes) {
            out.push(Executor { takes, pointer: value.pointer.clone(), name: value.name });
        }
    }
    out.sort_by(|a, b| (a.takes, &a.pointer).cmp(&(b.takes, &b.pointer)));
    out
}

/// Whether a pattern leaves only a part of what can be said: a scheme alone leaves every host.
fn narrows(takes: Takes, value: &Value<'_>) -> bool {
    let pattern = value.keyword("pattern").and_then(|pattern| pattern.as_str()).unwrap_or_default();
    match takes {
        Takes::Url => {
            let rest = pattern.trim_start_matches("^").replace("\\/", "/");
            let rest = rest.trim_start_matches("https").trim_start_matches("http").trim_start_matches("s?");
            rest.starts_with("://") && rest[3..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '(')
        }
        _ => pattern.starts_with('^'),
    }
}
