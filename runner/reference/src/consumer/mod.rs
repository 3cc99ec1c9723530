//! A conforming CETP v2 consumer to read and to run. The main type is [`Consumer`].
//!
//! A consumer finds apps that offer tools, learns what the tools are, calls them for an agent, and hands on what comes
//! back as data. It trusts none of them: half of the code below is about what a provider could do wrong, or on purpose.
//!
//! **The protocol**, in the order in which things happen:
//!
//! | module | what it shows | section |
//! |---|---|---|
//! | [`platform`] | what is needed of Android; descriptors that close themselves | §4, §4.5 |
//! | [`manifest`] | who offers tools, in which version | §2.1, §8 |
//! | [`providers`] | who is who: one provider for one id, whatever the scan order | §3.1 |
//! | [`peer`] | negotiating, and what has to be asked before a call | §2.2, §3, §8 |
//! | [`session`] | what was negotiated; calls in flight | §2.2, §2.3 |
//! | [`descriptor`] | tools and scopes, checked | §3 |
//! | [`schema`], [`budget`] | schemas of strangers, without fetching and without an end to their work | §3.2, §7.3 |
//! | [`reply`] | Bundles, written and read with their exact types | §4.1, §4.2, §5 |
//! | [`execute`] | one execution under one `request_id` | §4.1, §6 |
//! | [`retry`] | what may be repeated by itself | §5, §6 |
//! | [`confirm`] | the user's part | §4.3 |
//! | [`operations`] | polling and cancelling | §4.4 |
//! | [`results`] | inline and file results, from bytes to a checked value | §4.5 |
//! | [`v1`] | providers of version 1 | §8 |
//! | [`json`], [`text`], [`outcome`] | strict JSON; text that people read; data that stays data | §7.3 |
//! | [`limits`] | every limit, with its reason | §7.3 |
//!
//! **The test side**: [`target`] (the verbs of the target protocol, in process), [`stdio`] (the same over a pipe),
//! [`switches`] (ways to break or bend the consumer, to prove the vectors).
//!
//! A place at which a switch acts reads `cx.broken(Fault::…)`, `cx.leeway(Leeway::…)` or calls into `distort`. Reading
//! for the specification, take every one of them for `false` or nothing.

pub mod budget;
pub mod confirm;
pub mod context;
pub mod descriptor;
mod distort;
pub mod execute;
pub mod json;
pub mod limits;
pub mod manifest;
pub mod operations;
pub mod outcome;
pub mod peer;
pub mod platform;
pub mod providers;
pub mod reply;
pub mod results;
pub mod retry;
pub mod schema;
pub mod session;
pub mod stdio;
pub mod switches;
pub mod target;
pub mod text;
pub mod v1;

use self::context::Context;
use self::execute::{Execution, Request};
use self::manifest::Package;
use self::outcome::{Ending, Outcome};
use self::providers::{Link, Providers, Row};
use std::sync::{Arc, PoisonError, RwLock};

/// The consumer. Executions may be under way at the same time, from any thread.
#[derive(Debug, Default)]
pub struct Consumer {
    providers: RwLock<Arc<Providers>>,
}

impl Consumer {
    /// Looks at every app, and uses from now on those that it finds good. One row for each Service that says that it
    /// offers tools.
    pub fn discover(&self, cx: Context<'_>, packages: &[Package]) -> Vec<Row> {
        let (providers, rows) = Providers::find(cx, packages, &self.providers());
        *self.providers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(providers);
        rows
    }

    /// Executes a tool for the agent, and waits for its end.
    pub fn execute(&self, cx: Context<'_>, provider_id: &str, request: Request<'_>) -> Outcome {
        let providers = self.providers();
        match providers.route(cx, provider_id, request.tool) {
            None => Outcome::Ending(Ending::refused("There is no such provider that can be used")),
            Some(Link::V1(legacy)) => legacy.execute(cx, request.tool, request.args).into(),
            Some(Link::V2(peer)) => {
                let outcome = Execution::new(cx, peer, request).and_then(Execution::run).into();
                let outcome = distort::downgraded(cx, peer, request, &outcome).unwrap_or(outcome);
                distort::message_as_value(cx, outcome)
            }
        }
    }

    fn providers(&self) -> Arc<Providers> {
        Arc::clone(&self.providers.read().unwrap_or_else(PoisonError::into_inner))
    }
}
