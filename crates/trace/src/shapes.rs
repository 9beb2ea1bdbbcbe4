//! Launch shapes: the few distinct (grid, workgroup, memory, registers) that millions of dispatches share.

use std::hash::BuildHasher;

use hashbrown::HashTable;

use crate::ids::{OptI64, ShapeId};

/// Launch configuration of a dispatch. Grid sizes are work-items, not workgroups; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Work-items in x, y, z.
    pub grid: Option<[u32; 3]>,
    /// Work-items of a workgroup in x, y, z.
    pub workgroup: Option<[u32; 3]>,
    /// LDS of a workgroup, in bytes.
    pub lds_bytes: OptI64,
    /// Scratch of a work-item, in bytes.
    pub scratch_bytes: OptI64,
    /// Vector registers of a work-item.
    pub vgpr: OptI64,
    /// Accumulation registers of a work-item.
    pub agpr: OptI64,
    /// Scalar registers of a wave.
    pub sgpr: OptI64,
}

/// The distinct launch shapes of a trace; id 0 is "unknown".
#[derive(Clone, Debug)]
pub struct Shapes {
    shapes: Vec<LaunchShape>,
    index: HashTable<u32>,
    hasher: rapidhash::fast::RandomState,
}

impl Default for Shapes {
    fn default() -> Self {
        let mut shapes = Self {
            shapes: Vec::new(),
            index: HashTable::new(),
            hasher: rapidhash::fast::RandomState::default(),
        };
        shapes.intern(LaunchShape::default());
        shapes
    }
}

impl Shapes {
    /// The id of a shape, added if new.
    pub fn intern(&mut self, shape: LaunchShape) -> ShapeId {
        let hash = hash_of(&self.hasher, &shape);
        let Self { shapes, index, hasher } = self;
        let entry =
            index.entry(hash, |&i| shapes[i as usize] == shape, |&i| hash_of(hasher, &shapes[i as usize]));
        match entry {
            hashbrown::hash_table::Entry::Occupied(found) => ShapeId(*found.get()),
            hashbrown::hash_table::Entry::Vacant(free) => {
                let id = shapes.len() as u32;
                shapes.push(shape);
                free.insert(id);
                ShapeId(id)
            }
        }
    }

    /// The shape behind an id.
    pub fn get(&self, id: ShapeId) -> &LaunchShape {
        &self.shapes[id.0 as usize]
    }

    /// How many distinct shapes there are.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Never true: the unknown shape is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// All shapes in id order.
    pub fn iter(&self) -> impl Iterator<Item = &LaunchShape> {
        self.shapes.iter()
    }
}

fn hash_of(hasher: &rapidhash::fast::RandomState, shape: &LaunchShape) -> u64 {
    hasher.hash_one(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shapes_share_an_id() {
        let mut shapes = Shapes::default();
        let a = shapes.intern(LaunchShape { grid: Some([64, 1, 1]), ..Default::default() });
        let b = shapes.intern(LaunchShape { grid: Some([128, 1, 1]), ..Default::default() });
        assert_ne!(a, b);
        assert_eq!(a, shapes.intern(LaunchShape { grid: Some([64, 1, 1]), ..Default::default() }));
        assert_eq!(shapes.get(ShapeId(0)), &LaunchShape::default());
        assert_eq!(shapes.len(), 3);
    }
}
