//! Reading one vector after another against the embedded ledger and rules. The main type is [`Reader`].

use crate::fixture;
use crate::json::{object, parse_text};
use crate::ledger::Ledger;
use crate::load::EMBEDDED;
use crate::model::Vector;
use crate::parse::{self, Context, Fault, Part, Rules};
use serde_json::{Value as Json, json};
use std::fmt;
use std::sync::Arc;

/// What is needed to read vectors of a suite; made once, as the rules take time to read.
pub struct Reader {
    suite: String,
    ledger: Ledger,
    rules: Arc<Rules>,
    callers: Vec<String>,
}

impl Reader {
    /// A reader for a suite.
    ///
    /// # Errors
    /// There is no such suite, or its embedded files are broken.
    pub fn new(suite: &str) -> Result<Reader, String> {
        let text = |path: &str| {
            let found = EMBEDDED.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| *text).ok_or_else(|| format!("there is no {path}"))
        };
        let mut ledger = Ledger::default();
        for (name, text) in
            EMBEDDED.iter().filter(|(name, _)| crate::load::kind_of(name) == Some(crate::load::FileKind::Ledger))
        {
            ledger.add(text).map_err(|error| format!("{name}: {error}"))?;
        }
        let rules = text(&format!("{suite}/rules.json"))?;
        let rules: Json = serde_json::from_str(rules).map_err(|error| error.to_string())?;
        let rules = parse::rules(rules, &ledger, suite).map_err(|faults| faulty(&faults))?;
        Ok(Reader::with(suite, ledger, Arc::new(rules)))
    }

    /// A reader with a ledger and rules that were read before.
    pub(crate) fn with(suite: &str, ledger: Ledger, rules: Arc<Rules>) -> Reader {
        Reader { suite: suite.to_owned(), ledger, rules, callers: fixture::caller_names() }
    }

    /// Reads a vector.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn vector(&self, vector: &Json) -> Result<Vector, String> {
        let file = json!({ "format": "cetp-vectors/1", "suite": self.suite, "vectors": [vector] });
        let mut vectors = parse::vectors(file, &self.context()).map_err(|faults| faulty(&faults))?;
        vectors.pop().ok_or_else(|| "no vector".into())
    }

    /// Reads a vector and gives it `needs`, `tools` and `requirements` by what its steps use and judge, also in its source.
    ///
    /// # Errors
    /// What is wrong with it otherwise.
    pub fn fitted(&self, vector: &Json) -> Result<Vector, String> {
        let mut read = parse::fitted(vector, &self.suite, &self.context()).map_err(|faults| faulty(&faults))?;
        let members = Arc::make_mut(&mut read.source).as_object_mut().ok_or("no vector")?;
        for (name, list) in [("requirements", &read.requirements), ("needs", &read.needs), ("tools", &read.tools)] {
            if list.is_empty() {
                members.remove(name);
            } else {
                members.insert(name.to_owned(), json!(list));
            }
        }
        Ok(read)
    }

    fn context(&self) -> Context<'_> {
        let (ledger, rules, callers) = (&self.ledger, &self.rules, &self.callers);
        Context { ledger, rules, callers, file: "made.json", part: Part::Whole }
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// A vector that is part of the program, of which only the head was read.
#[derive(Clone)]
pub struct Unread {
    text: &'static str,
    reader: Arc<Reader>,
}

impl Unread {
    /// `text` is that of the vector alone.
    pub(crate) fn new(text: &'static str, reader: Arc<Reader>) -> Unread {
        Unread { text, reader }
    }

    /// Reads it, without a source.
    pub(crate) fn read(&self, file: &str) -> Vector {
        let Reader { suite, .. } = &*self.reader;
        let context = Context { file, part: Part::Steps, ..self.reader.context() };
        let read = parse_text(self.text).map_err(|error| error.to_string()).and_then(|vector| {
            let vectors = Json::Array(vec![vector]);
            let file = object([("format", json!("cetp-vectors/1")), ("suite", json!(suite)), ("vectors", vectors)]);
            parse::vectors(file, &context).map_err(|faults| faulty(&faults))
        });
        // A test reads all of them.
        let mut vectors = read.unwrap_or_else(|why| panic!("the embedded {file} is broken: {why}"));
        vectors.pop().expect("one was given")
    }
}

impl fmt::Debug for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.text.len())
    }
}

fn faulty(faults: &[Fault]) -> String {
    faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.message)).collect::<Vec<_>>().join("; ")
}
