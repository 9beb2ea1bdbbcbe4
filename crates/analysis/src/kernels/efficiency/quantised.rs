//! Tile and wave quantisation: work that is only done because tiles and rounds of workgroups are whole.
//!
//! A workgroup computes a whole tile, so tiles extend beyond the result. The compute unit with the most
//! workgroups ends last, so a GPU with 304 of them takes as long for 305 workgroups as for 608.

use model::names::gemm;
use trace::{LaunchShape, Map, StrId, Strings};

/// The shares of time lost, by kernel and launch.
pub(super) struct Quantised {
    compute_units: Option<f64>,
    tiles: Map<StrId, Option<[f64; 2]>>,
}

impl Quantised {
    pub fn new(compute_units: Option<u32>) -> Self {
        Self {
            compute_units: compute_units.map(f64::from).filter(|units| *units > 0.0),
            tiles: Map::default(),
        }
    }

    /// The share of a kernel's time lost to whole tiles and whole rounds; `None` if neither is known.
    pub fn lost(
        &mut self,
        strings: &Strings,
        name: StrId,
        shape: &LaunchShape,
        product: Option<[f64; 2]>,
    ) -> Option<f64> {
        let tile = *self.tiles.entry(name).or_insert_with(|| {
            let facts = gemm(strings.get(name))?;
            // Split-K changes the number of rounds, not the waste per tile.
            facts.tile.map(|[rows, columns, _]| [f64::from(rows), f64::from(columns)])
        });
        let kept_of_tiles = product.zip(tile).map(|(product, tile)| kept_of_tiles(product, tile));
        let groups = workgroups(shape).or_else(|| {
            let ([rows, columns], tile) = product.zip(tile)?;
            Some((rows / tile[0]).ceil() * (columns / tile[1]).ceil())
        });
        let kept_of_rounds =
            groups.zip(self.compute_units).map(|(groups, units)| kept_of_rounds(groups, units));
        (kept_of_tiles.is_some() || kept_of_rounds.is_some())
            .then(|| 1.0 - kept_of_tiles.unwrap_or(1.0) * kept_of_rounds.unwrap_or(1.0))
    }
}

/// The share of all tiles that the result fills. Libraries swap rows and columns: take whichever wastes less.
fn kept_of_tiles([rows, columns]: [f64; 2], tile: [f64; 2]) -> f64 {
    let kept = |rows: f64, columns: f64| {
        let whole = (rows / tile[0]).ceil() * tile[0] * (columns / tile[1]).ceil() * tile[1];
        if whole > 0.0 { rows * columns / whole } else { 1.0 }
    };
    kept(rows, columns).max(kept(columns, rows))
}

/// The share of all rounds that workgroups fill.
fn kept_of_rounds(groups: f64, units: f64) -> f64 {
    if groups > 0.0 { groups / ((groups / units).ceil() * units) } else { 1.0 }
}

fn workgroups(shape: &LaunchShape) -> Option<f64> {
    let (grid, group) = shape.grid.zip(shape.workgroup)?;
    let along = |axis: usize| f64::from(grid[axis].max(1)) / f64::from(group[axis].max(1));
    Some((0..3).map(|axis| along(axis).ceil()).product())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_workgroup_too_many_costs_a_round() {
        assert_eq!(kept_of_rounds(304.0, 304.0), 1.0);
        assert_eq!(kept_of_rounds(305.0, 304.0), 305.0 / 608.0);
        assert_eq!(kept_of_rounds(152.0, 304.0), 0.5);
        assert_eq!(kept_of_rounds(0.0, 304.0), 1.0);
    }

    #[test]
    fn tiles_reach_beyond_the_result() {
        assert_eq!(kept_of_tiles([256.0, 512.0], [128.0, 256.0]), 1.0);
        assert_eq!(kept_of_tiles([129.0, 256.0], [128.0, 256.0]), 129.0 / 256.0);
        // With rows and columns swapped the tiles fit, so nothing is lost.
        assert_eq!(kept_of_tiles([256.0, 128.0], [128.0, 256.0]), 1.0);
    }

    #[test]
    fn what_is_not_known_is_not_lost() {
        let mut strings = Strings::default();
        let name = strings.intern("add_kernel");
        let mut quantised = Quantised::new(Some(304));
        assert_eq!(quantised.lost(&strings, name, &LaunchShape::default(), None), None);
        let shape = LaunchShape {
            grid: Some([456 * 256, 1, 1]),
            workgroup: Some([256, 1, 1]),
            ..LaunchShape::default()
        };
        assert_eq!(quantised.lost(&strings, name, &shape, None), Some(0.25));
        assert_eq!(Quantised::new(None).lost(&strings, name, &shape, None), None);
    }
}
