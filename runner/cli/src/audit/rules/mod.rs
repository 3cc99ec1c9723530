//! The rules: one for each row of the ledger. The table is [`RULES`], the main function [`judge`].

mod authority;
mod control;
mod effect;
mod events;
mod injection;
mod naming;
mod parameters;
mod result;
mod schema;
mod scope;
mod set;
mod shadow;

use super::finding::{Desk, Out, Unjudged};
use super::tool::{Provider, Tool};
pub use set::bytes;

/// How a row of the ledger is judged.
pub enum Judge {
    /// One tool by itself.
    Tool(fn(&Tool, &Provider, &mut Desk<'_>)),
    /// The tools of one provider beside each other.
    Set(fn(&Provider, &mut Desk<'_>)),
    /// All tools of all providers beside each other.
    All(fn(&[Provider], &mut Out)),
    /// Not from a listing, for this reason.
    No(&'static str),
}

/// A row of the ledger and what becomes of it.
pub struct Rule {
    /// Id of the ledger.
    pub id: &'static str,
    /// How it is judged.
    pub judge: Judge,
    /// What of it a listing cannot show; empty where it shows all.
    pub beyond: &'static str,
    /// Requirements of CETP v2 whose vectors judge the same thing, or that part.
    pub vectors: &'static [&'static str],
}

const fn rule(id: &'static str, judge: Judge) -> Rule {
    Rule { id, judge, beyond: "", vectors: &[] }
}

/// Every row of the ledger.
pub const RULES: &[Rule] = &[
    rule("TC-01", Judge::Tool(naming::name)),
    rule("TC-02", Judge::Tool(naming::description)),
    rule("TC-03", Judge::Tool(parameters::universal)),
    rule("TC-04", Judge::Tool(parameters::bounded)),
    rule("TC-05", Judge::Tool(parameters::closed)),
    rule("TC-06", Judge::Tool(result::structured)),
    Rule {
        beyond: "whether a tool that says it reads changes nothing is seen only when it is called",
        vectors: &["CETP2-2.1-04", "CETP2-3.4-02"],
        ..rule("TC-07", Judge::Tool(effect::apart))
    },
    Rule {
        beyond: "whether the user is asked each time is seen only when it is called",
        vectors: &["CETP2-3.4-03", "CETP2-3.4-06", "CETP2-4.3-09"],
        ..rule("TC-08", Judge::Tool(control::high_impact))
    },
    Rule {
        beyond: "whether a scope belongs to the tool's subject is for people: names need not share a word",
        vectors: &["CETP2-3.3-05", "CETP2-3.4-08", "CETP2-7.2-02"],
        ..rule("TC-09", Judge::Tool(scope::least))
    },
    rule("TC-10", Judge::Tool(control::executor)),
    rule("TC-11", Judge::Tool(result::long)),
    rule("TC-12", Judge::Tool(result::observed)),
    rule("TC-13", Judge::Set(set::verifiable)),
    rule("TC-14", Judge::Set(set::previewed)),
    Rule {
        beyond: "whether such an argument grants anything is seen only when it is given",
        vectors: &["CETP2-7.1-01", "CETP2-4.3-10"],
        ..rule("TC-15", Judge::Tool(authority::identity))
    },
    rule("TC-16", Judge::Tool(authority::secrets)),
    Rule {
        beyond: "texts of errors and results are not in a listing",
        vectors: &["CETP2-4.2-03", "CETP2-7.3-03", "CETP2-5-05"],
        ..rule("TC-17", Judge::Set(injection::texts))
    },
    Rule { vectors: &["CETP2-3.2-05", "CETP2-3.2-06"], ..rule("TC-18", Judge::Tool(schema::usable)) },
    Rule { vectors: &["CETP2-3.1-03", "CETP2-3.1-05"], ..rule("TC-19", Judge::All(shadow::names)) },
    rule("TC-20", Judge::Set(set::size)),
    Rule {
        beyond: "the codes of errors that come are not in a listing; those of CETP v2 are told apart by the protocol",
        vectors: &["CETP2-5-01", "CETP2-5-03", "CETP2-5-04"],
        ..rule("TC-21", Judge::Tool(events::errors))
    },
    Rule {
        vectors: &["CETP2-4.1-11", "CETP2-6-07", "CETP2-6-01"],
        ..rule("TC-22", Judge::No("it takes the calls after a write whose outcome is unknown"))
    },
    Rule {
        vectors: &["CETP2-4.3-05", "CETP2-4.3-06", "CETP2-4.3-12"],
        ..rule("TC-23", Judge::No("it takes what was approved beside what was executed"))
    },
    Rule {
        vectors: &["CETP2-5-06", "CETP2-5-07", "CETP2-5-08"],
        ..rule("TC-24", Judge::No("it takes the calls after a refusal or a temporary fault"))
    },
    Rule {
        vectors: &["CETP2-4.4-05", "CETP2-4.4-07", "CETP2-4.4-19"],
        ..rule(
            "TC-25",
            Judge::No("it takes what the agent does after a write; whether there is a read for it is TC-13"),
        )
    },
    Rule {
        vectors: &["CETP2-3.4-06", "CETP2-5-11", "CETP2-7.2-02"],
        ..rule("TC-26", Judge::No("it takes what was executed beside what was listed to the caller"))
    },
    Rule {
        vectors: &["CETP2-4.2-03", "CETP2-7.3-03"],
        ..rule("TC-27", Judge::No("it takes the results and the calls that came after them"))
    },
    Rule {
        vectors: &["CETP2-4.4-15", "CETP2-5-07"],
        ..rule("TC-28", Judge::No("it takes the calls of a whole task, in their order"))
    },
    Rule {
        beyond: "events themselves are not in a listing, and CETP v2 has none: no vector is about them",
        ..rule("TC-29", Judge::Tool(events::webhook))
    },
];

/// What of the ledger has something to say about these providers.
pub fn judge(providers: &[Provider]) -> Out {
    let mut out = Out::default();
    for rule in RULES {
        match rule.judge {
            Judge::Tool(judge) => {
                for provider in providers {
                    for tool in &provider.tools {
                        let from = out.findings.len();
                        judge(tool, provider, &mut Desk::new(rule.id, provider, Some(tool), &mut out));
                        out.fold(from);
                    }
                }
            }
            Judge::Set(judge) => {
                for provider in providers {
                    let from = out.findings.len();
                    judge(provider, &mut Desk::new(rule.id, provider, None, &mut out));
                    out.fold(from);
                }
            }
            Judge::All(judge) => {
                let from = out.findings.len();
                judge(providers, &mut out);
                out.fold(from);
            }
            Judge::No(_) => {}
        }
        let reason = if let Judge::No(reason) = rule.judge { reason } else { rule.beyond };
        if !reason.is_empty() {
            let (requirement, reason) = (rule.id.to_owned(), reason.to_owned());
            out.unjudged.push(Unjudged { requirement, reason, provider: None, tool: None });
        }
    }
    out.settle();
    out
}
