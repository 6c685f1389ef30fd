//! [`BoundedMap`]: a map that drops its oldest entry when full. Knows nothing of its contents.

use std::collections::{HashMap, VecDeque};

/// How many are remembered: more than can matter for a late fact.
pub(in crate::daemon) const REMEMBERED_MAX: usize = 256;

/// A map with a limit, which drops its oldest entry.
#[derive(Debug)]
pub(in crate::daemon) struct BoundedMap<K, V> {
    map: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for BoundedMap<K, V> {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + std::hash::Hash, V> BoundedMap<K, V> {
    /// What is remembered under a key.
    pub(in crate::daemon) fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    pub(in crate::daemon) fn insert(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
            if self.order.len() > REMEMBERED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.map.remove(&oldest);
            }
        }
    }

    pub(in crate::daemon) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key)
    }
}

impl<K: Clone + Eq + std::hash::Hash, V: Clone> BoundedMap<K, V> {
    /// Oldest first.
    pub(in crate::daemon) fn to_vec(&self) -> Vec<(K, V)> {
        self.order
            .iter()
            .filter_map(|key| Some((key.clone(), self.map.get(key)?.clone())))
            .collect()
    }

    /// From what [`Self::to_vec`] gave.
    pub(in crate::daemon) fn from_vec(pairs: Vec<(K, V)>) -> Self {
        let mut remembered = Self::default();
        for (key, value) in pairs {
            remembered.insert(key, value);
        }
        remembered
    }
}
