//! What costs more to make than to use, kept for all threads: a campaign begins new ones again and again. The main type is
//! [`Cache`].

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Things by the text that they are made from.
pub(crate) struct Cache<T>(RwLock<HashMap<String, Arc<T>>>);

/// So many things are kept. What a target writes may make new ones for ever.
const MOST: usize = 256;

impl<T> Default for Cache<T> {
    fn default() -> Cache<T> {
        Cache(RwLock::default())
    }
}

impl<T> Cache<T> {
    /// The thing of a text, made where it is not there.
    ///
    /// # Errors
    /// As `make`.
    pub(crate) fn get(&self, text: &str, make: impl FnOnce() -> Result<T, String>) -> Result<Arc<T>, String> {
        if let Some(thing) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Ok(Arc::clone(thing));
        }
        let thing = Arc::new(make()?);
        let mut things = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if things.len() >= MOST {
            things.clear();
        }
        things.insert(text.to_owned(), Arc::clone(&thing));
        Ok(thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_and_not_kept_for_ever() {
        let cache = Cache::default();
        let make = |n: usize| move || Ok(n);
        assert_eq!(cache.get("a", make(1)).as_deref(), Ok(&1));
        assert_eq!(cache.get("a", make(2)).as_deref(), Ok(&1));
        assert_eq!(cache.get("b", || Err("no".to_owned())), Err("no".to_owned()));
        for n in 0..MOST {
            assert_eq!(cache.get(&n.to_string(), make(n)).as_deref(), Ok(&n));
        }
        assert!(cache.0.read().unwrap().len() <= MOST);
        assert_eq!(cache.get("a", make(3)).as_deref(), Ok(&3));
    }
}
