//! What a campaign does in one go: a [`Case`], which is read from bytes and becomes a vector. The main type is
//! [`Material`], of which cases are made.
//!
//! There are three kinds: a walk through the model with probes between (providers only), a vector of the suite as it is, and
//! a vector of the suite that is changed at random and judged by the rules of every message only.

use super::bytes::Bytes;
use super::plan::Plan;
use super::probes::Probes;
use super::scenes::Scenes;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::Describe;
use serde_json::Value as Json;

/// What cases are made of.
pub struct Material {
    role: Role,
    probes: Probes,
    scenes: Scenes,
}

/// One case.
pub enum Case {
    /// A walk through the model.
    Walk(Plan),
    /// A vector of the suite, by its number.
    Scene(usize),
    /// A changed one.
    Changed(Box<Json>),
}

/// First bytes below this lead to a walk.
const WALKS: u8 = 128;
/// From there on, first bytes below this lead to a vector as it is.
const SCENES: u8 = 160;

/// A vector to be run.
pub enum Made<'m> {
    /// One that is there.
    There(&'m Vector),
    /// One that is made.
    New(Json),
}

impl Material {
    /// For a side of a target; `written` brings in what a person wrote of the suite.
    ///
    /// # Errors
    /// A generator fails.
    pub fn new(catalogue: &Catalogue, role: Role, target: &Describe, written: bool) -> Result<Material, String> {
        let dual = target.versions.contains(&1);
        let probes = match role {
            Role::Consumer => Probes::default(),
            _ => Probes::new(catalogue, dual, &target.capabilities, written)?,
        };
        let scenes = Scenes::new(catalogue, role, dual, &target.capabilities, written);
        Ok(Material { role, probes, scenes })
    }

    /// For a provider without the fixture: the vectors of its own tools. What is changed calls no other tool.
    pub fn of_own_tools(vectors: Vec<Vector>) -> Material {
        Material { role: Role::Provider, probes: Probes::default(), scenes: Scenes::of_own_tools(vectors) }
    }

    /// The side that is attacked.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Bytes of every vector of the suite as it is, which a campaign begins with: small ones, and large ones.
    pub fn seeds(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let bytes = |n: usize| {
            let [high, low] = u16::try_from(n).unwrap_or(0).to_be_bytes();
            if self.scenes.len() > 256 { vec![WALKS, high, low] } else { vec![WALKS, low] }
        };
        let small = self.scenes.small();
        ((0..small).map(bytes).collect(), (small..self.scenes.len()).map(bytes).collect())
    }

    /// The case that some bytes are.
    pub fn read(&self, bytes: &[u8]) -> Option<Case> {
        let mut bytes = Bytes::new(bytes);
        match bytes.byte()? {
            ..WALKS if !self.probes.is_empty() => {
                Some(Case::Walk(Plan::read(&mut bytes, &self.probes))).filter(|case| case.parts() > 0)
            }
            WALKS..SCENES => bytes.below(self.scenes.len()).map(Case::Scene),
            _ => self.scenes.changed(&mut bytes).map(|vector| Case::Changed(Box::new(vector))),
        }
    }

    /// The vector of a case; nothing where the model does not follow it.
    pub fn vector(&self, case: &Case) -> Option<Made<'_>> {
        match case {
            Case::Walk(plan) => plan.vector(&self.probes).map(Made::New),
            Case::Scene(number) => self.scenes.get(*number).map(Made::There),
            Case::Changed(vector) => Some(Made::New((**vector).clone())),
        }
    }
}

impl Made<'_> {
    /// Its JSON.
    pub fn json(&self) -> &Json {
        match self {
            Made::There(vector) => &vector.source,
            Made::New(json) => json,
        }
    }
}

impl Case {
    /// How many parts it has that can be left out before it becomes a vector.
    pub fn parts(&self) -> usize {
        match self {
            Case::Walk(plan) => plan.items.len(),
            Case::Scene(_) | Case::Changed(_) => 0,
        }
    }

    /// Without some of its parts; nothing where nothing is left.
    pub fn without(&self, from: usize, count: usize) -> Option<Case> {
        match self {
            Case::Walk(plan) => Some(Case::Walk(plan.without(from, count))).filter(|case| case.parts() > 0),
            Case::Scene(_) | Case::Changed(_) => None,
        }
    }
}
