//! Who calls. The main type is [`Caller`].
//!
//! §7.1: on Android these facts come from `Binder.getCallingUid()`, read at the entry of `call()`, and from the package
//! manager; nothing that the caller says of itself is used.

use serde_json::Value as Json;

/// A calling UID with all of its packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The UID.
    pub uid: i64,
    /// Every package of the UID (§7.1: not only the first).
    pub packages: Vec<Package>,
}

/// A package of a UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// SHA-256 of each current signing certificate, in lowercase hex.
    pub signers: Vec<String>,
    /// SHA-256 of each earlier certificate of its rotation history.
    pub history: Vec<String>,
}

impl Caller {
    /// Reads a caller of the target protocol.
    ///
    /// # Errors
    /// What is missing or has the wrong type.
    pub fn from_json(json: &Json) -> Result<Caller, String> {
        let uid = json["uid"].as_i64().ok_or("caller.uid is no integer")?;
        let packages = json["packages"].as_array().ok_or("caller.packages is no array")?;
        let packages = packages.iter().map(Package::from_json).collect::<Result<_, _>>()?;
        Ok(Caller { uid, packages })
    }

    /// What a grant is bound to beside scopes and validity (§7.1): UID, every package, every current certificate. Two
    /// callers are the same identity if and only if their texts are equal.
    pub fn identity(&self) -> String {
        self.identity_of(self.packages.iter().map(|package| (package.name.as_str(), &package.signers)))
    }

    /// [`Caller::identity`], as it was before the certificate was rotated, for each certificate of the history. Where the
    /// UID has several packages there is no earlier identity to speak of (§7.1 lets us refuse).
    pub fn earlier_identities(&self) -> Vec<String> {
        let [package] = self.packages.as_slice() else { return Vec::new() };
        package
            .history
            .iter()
            .map(|signer| self.identity_of([(package.name.as_str(), &vec![signer.clone()])].into_iter()))
            .collect()
    }

    pub(crate) fn identity_of<'p>(&self, packages: impl Iterator<Item = (&'p str, &'p Vec<String>)>) -> String {
        let mut packages: Vec<String> = packages
            .map(|(name, signers)| {
                let mut signers = signers.clone();
                signers.sort_unstable();
                format!("{name}={}", signers.join("+"))
            })
            .collect();
        packages.sort_unstable();
        format!("{} {}", self.uid, packages.join(" "))
    }
}

impl Package {
    fn from_json(json: &Json) -> Result<Package, String> {
        let digests = |name: &str| match &json[name] {
            Json::Null => Ok(Vec::new()),
            Json::Array(list) => list
                .iter()
                .map(|digest| digest.as_str().map(str::to_ascii_lowercase))
                .collect::<Option<_>>()
                .ok_or_else(|| format!("{name} holds something other than text")),
            _ => Err(format!("{name} is no array")),
        };
        Ok(Package {
            name: json["name"].as_str().ok_or("a package has no name")?.to_owned(),
            signers: digests("signing_sha256")?,
            history: digests("history_sha256")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn caller(packages: &[(&str, &[&str], &[&str])]) -> Caller {
        let packages = packages
            .iter()
            .map(|(name, signers, history)| json!({"name":name,"signing_sha256":signers,"history_sha256":history}))
            .collect::<Vec<_>>();
        Caller::from_json(&json!({"uid":1,"packages":packages})).unwrap()
    }

    #[test]
    fn identity_is_the_set_of_packages_and_certificates() {
        let one = caller(&[("a", &["AA", "bb"], &[]), ("b", &[], &[])]);
        assert_eq!(one.identity(), caller(&[("b", &[], &["cc"]), ("a", &["bb", "aa"], &[])]).identity());
        assert_ne!(one.identity(), caller(&[("a", &["aa", "bb"], &[])]).identity());
        assert_ne!(one.identity(), caller(&[("a", &["aa"], &[]), ("b", &[], &[])]).identity());
    }

    #[test]
    fn rotation_leads_back() {
        let rotated = caller(&[("a", &["cc"], &["aa", "bb"])]);
        assert_eq!(rotated.earlier_identities()[0], caller(&[("a", &["aa"], &[])]).identity());
        assert!(caller(&[("a", &["cc"], &["aa"]), ("b", &[], &[])]).earlier_identities().is_empty());
    }

    #[test]
    fn what_is_no_caller_is_refused() {
        for json in [json!({}), json!({"uid":1}), json!({"uid":"1","packages":[]}), json!({"uid":1,"packages":[{}]})] {
            assert!(Caller::from_json(&json).is_err(), "{json}");
        }
    }
}
