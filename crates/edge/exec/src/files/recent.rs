//! A map with a bound: what was put in longest ago goes first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

#[derive(Debug)]
pub(super) struct Recent<K, V> {
    capacity: usize,
    /// Counts insertions, so that keys have an order.
    clock: u64,
    values: HashMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            clock: 0,
            values: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.values.get_mut(key).map(|(_, value)| value)
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.clock += 1;
        if let Some((old, _)) = self.values.insert(key.clone(), (self.clock, value)) {
            self.order.remove(&old);
        }
        self.order.insert(self.clock, key);
        while self.values.len() > self.capacity {
            let Some((_, oldest)) = self.order.pop_first() else {
                break;
            };
            self.values.remove(&oldest);
        }
    }

    pub fn remove(&mut self, key: &K) {
        if let Some((at, _)) = self.values.remove(key) {
            self.order.remove(&at);
        }
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        let (values, order) = (&mut self.values, &mut self.order);
        values.retain(|key, (at, _)| {
            let stays = keep(key);
            if !stays {
                order.remove(at);
            }
            stays
        });
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.values.iter().map(|(key, (_, value))| (key, value))
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.values_mut().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_a_rewrite_counts_as_new() {
        let mut map = Recent::new(2);
        map.insert("a", 1);
        map.insert("b", 2);
        map.insert("a", 3);
        map.insert("c", 4);
        assert_eq!(
            (map.get(&"a"), map.get(&"b"), map.get(&"c")),
            (Some(&3), None, Some(&4))
        );
        map.retain(|key| *key != "a");
        map.insert("d", 5);
        assert_eq!((map.get(&"c"), map.get(&"d")), (Some(&4), Some(&5)));
    }
}
