//! How switches are registered and kept in sets, for the provider and the consumer alike. The main type is [`Switches`].
//!
//! A *fault* breaks one requirement: the vectors that name the requirement must notice. A *leeway* is another behaviour
//! that the specification allows: no vector may mind.

use crate::error::{Error, Result};

/// What a registry says of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name, for command lines and reports.
    pub name: &'static str,
    /// For a fault the requirement that it breaks; for a leeway the requirement or rule that allows it.
    pub rests_on: &'static str,
    /// One sentence: what the provider or consumer does.
    pub what: &'static str,
}

/// An enum of switches; made by `registry!`.
pub trait Registry: Copy + PartialEq + 'static {
    /// The registry, in the order of the enum.
    const ALL: &'static [(Info, Self)];

    /// The place in the order.
    fn place(self) -> usize;
}

/// Declares an enum of switches: a row is variant, name, what it rests on, what it does.
macro_rules! registry {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident $name:literal $rests_on:literal $what:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind { $(#[doc = $what] $variant,)* }

        impl $kind {
            /// The registry, in the order of the enum.
            pub const ALL: &'static [($crate::registry::Info, $kind)] =
                &[$(($crate::registry::Info { name: $name, rests_on: $rests_on, what: $what }, $kind::$variant),)*];
        }

        impl $crate::registry::Registry for $kind {
            const ALL: &'static [($crate::registry::Info, $kind)] = $kind::ALL;

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}
pub(crate) use registry;

/// A set of faults and leeways; empty for what conforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches<F, L> {
    faults: Set<F>,
    leeways: Set<L>,
}

impl<F: Registry, L: Registry> Default for Switches<F, L> {
    fn default() -> Switches<F, L> {
        Switches { faults: Set::new(), leeways: Set::new() }
    }
}

impl<F: Registry, L: Registry> Switches<F, L> {
    /// The set of these names, faults and leeways mixed.
    ///
    /// # Errors
    /// A name that the registries do not have.
    pub fn from_names<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Switches<F, L>> {
        names.into_iter().try_fold(Switches::default(), |set, name| {
            let name = name.as_ref();
            match (find::<F>(name), find::<L>(name)) {
                (Some(fault), _) => Ok(set.with_fault(fault)),
                (None, Some(leeway)) => Ok(set.with_leeway(leeway)),
                (None, None) => Err(Error::UnknownSwitch(name.to_owned())),
            }
        })
    }

    /// Adds a fault.
    #[must_use]
    pub fn with_fault(mut self, fault: F) -> Switches<F, L> {
        self.faults.add(fault);
        self
    }

    /// Adds a leeway.
    #[must_use]
    pub fn with_leeway(mut self, leeway: L) -> Switches<F, L> {
        self.leeways.add(leeway);
        self
    }

    /// Whether a requirement is to be broken in this way.
    pub fn broken(&self, fault: F) -> bool {
        self.faults.has(fault)
    }

    /// Whether this leeway is to be used.
    pub fn leeway(&self, leeway: L) -> bool {
        self.leeways.has(leeway)
    }

    /// The names of the switches that are on.
    pub fn names(&self) -> Vec<&'static str> {
        let faults = F::ALL.iter().filter(|(_, fault)| self.broken(*fault)).map(|(info, _)| info.name);
        let leeways = L::ALL.iter().filter(|(_, leeway)| self.leeway(*leeway)).map(|(info, _)| info.name);
        faults.chain(leeways).collect()
    }
}

fn find<S: Registry>(name: &str) -> Option<S> {
    S::ALL.iter().find(|(info, _)| info.name == name).map(|(_, switch)| *switch)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set<S> {
    bits: [u64; 10],
    of: std::marker::PhantomData<S>,
}

impl<S: Registry> Set<S> {
    const FITS: () = assert!(S::ALL.len() <= 640, "a set has a bit for each switch");

    fn new() -> Set<S> {
        let () = Self::FITS;
        Set { bits: [0; 10], of: std::marker::PhantomData }
    }

    fn add(&mut self, switch: S) {
        self.bits[switch.place() / 64] |= 1 << (switch.place() % 64);
    }

    fn has(&self, switch: S) -> bool {
        self.bits[switch.place() / 64] & (1 << (switch.place() % 64)) != 0
    }
}

/// What every registry has to hold to.
#[cfg(test)]
pub(crate) fn check<F: Registry, L: Registry>() {
    use std::collections::BTreeSet;

    let infos = || F::ALL.iter().map(|(info, _)| info).chain(L::ALL.iter().map(|(info, _)| info));
    let names: BTreeSet<_> = infos().map(|info| info.name).collect();
    assert_eq!(names.len(), infos().count(), "names are unique");
    for name in &names {
        assert_eq!(Switches::<F, L>::from_names([name]).unwrap().names(), [*name]);
    }
    assert_eq!(Switches::<F, L>::from_names(&names).unwrap().names().len(), names.len());
    assert!(matches!(Switches::<F, L>::from_names(["no_such"]), Err(Error::UnknownSwitch(_))));
    let ledgers = [
        include_str!("../../../vectors/requirements/cetp-v2.json"),
        include_str!("../../../vectors/requirements/aw-provider-v1alpha1.json"),
    ]
    .map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
    let rows = ledgers.iter().flat_map(|ledger| ledger["requirements"].as_array().unwrap());
    let ids: BTreeSet<_> = rows.filter_map(|row| row["id"].as_str()).collect();
    for info in infos() {
        assert!(ids.contains(info.rests_on), "{}: {}", info.name, info.rests_on);
    }
}
