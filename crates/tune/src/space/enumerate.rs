//! All configurations that satisfy the constraints, or a large sample of them if there are too many.

use std::collections::HashSet;

use super::{Space, SpaceError};
use stats::random::Random;

/// More valid configurations than this are sampled instead of listed.
const MOST_LISTED: usize = 200_000;
/// Partial configurations to visit before giving up the listing.
const MOST_VISITED: usize = 20_000_000;
/// Valid configurations in a sample.
const SAMPLE: usize = 100_000;
/// Tries for a sample.
const MOST_TRIED: usize = 10_000_000;

/// How large the space is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Exactly this many valid configurations.
    Exact(usize),
    /// Too many to count; this many combinations before constraints.
    AtMost(f64),
}

/// Configurations to choose from, as levels of each parameter.
#[derive(Clone, Debug)]
pub struct Candidates {
    levels: Vec<u16>,
    parameters: usize,
    /// How large the whole space is.
    pub size: Size,
}

impl Candidates {
    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.levels.len() / self.parameters.max(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Levels of one candidate.
    pub fn get(&self, index: usize) -> &[u16] {
        &self.levels[index * self.parameters..(index + 1) * self.parameters]
    }

    /// All candidates.
    pub fn iter(&self) -> impl Iterator<Item = &[u16]> {
        self.levels.chunks_exact(self.parameters.max(1))
    }

    /// The marked candidates; the size stays that of the whole space.
    pub fn only(&self, marked: &[bool]) -> Self {
        let kept = self.iter().zip(marked).filter(|(_, marked)| **marked).flat_map(|(levels, _)| levels);
        Self { levels: kept.copied().collect(), parameters: self.parameters, size: self.size }
    }

    /// The index of the candidate with these levels.
    pub fn position(&self, levels: &[u16]) -> Option<usize> {
        self.iter().position(|other| other == levels)
    }
}

impl Space {
    /// Lists the valid configurations; a space that is too large is sampled with the seed.
    pub fn candidates(&self, seed: u64) -> Result<Candidates, SpaceError> {
        let parameters = self.parameters.len();
        if let Some(listed) = &self.listed {
            let levels: Vec<u16> = listed.concat();
            return Ok(Candidates { levels, parameters, size: Size::Exact(listed.len()) });
        }
        let mut listing = Listing::of(self, self.constraints.len(), MOST_LISTED)?;
        match listing.run() {
            true if listing.found.is_empty() => Err(self.contradiction()?),
            true => {
                let size = Size::Exact(listing.found.len() / parameters);
                Ok(Candidates { levels: listing.found, parameters, size })
            }
            false => self.sample(seed),
        }
    }

    /// The first constraint that leaves nothing.
    fn contradiction(&self) -> Result<SpaceError, SpaceError> {
        for (i, constraint) in self.constraints.iter().enumerate() {
            let alone = Self { constraints: vec![constraint.clone()], ..self.clone() };
            let mut listing = Listing::of(&alone, 1, 1)?;
            if listing.run() && listing.found.is_empty() {
                return Ok(SpaceError::Never { text: constraint.text.clone() });
            }
            let mut listing = Listing::of(self, i + 1, 1)?;
            if listing.run() && listing.found.is_empty() {
                return Ok(SpaceError::Contradiction { text: constraint.text.clone() });
            }
        }
        Ok(SpaceError::Empty { why: "no configuration satisfies all constraints".into() })
    }

    fn sample(&self, seed: u64) -> Result<Candidates, SpaceError> {
        let order = self.order()?;
        let mut random = Random::new(seed);
        let (mut seen, mut levels, mut tried) = (HashSet::new(), Vec::new(), 0);
        let defaults = self.defaults();
        while seen.len() < SAMPLE && tried < MOST_TRIED {
            tried += 1;
            let mut drawn = vec![0; self.parameters.len()];
            if tried == 1 {
                drawn.copy_from_slice(&defaults);
            }
            for &p in &order {
                if !self.active(p, &drawn) {
                    drawn[p] = defaults[p];
                } else if tried > 1 {
                    drawn[p] = random.below(self.parameters[p].values.len()) as u16;
                }
            }
            let valid = (0..self.constraints.len()).all(|c| self.fulfils(c, &drawn));
            if valid && seen.insert(drawn.clone()) {
                levels.extend(drawn);
            }
        }
        if levels.is_empty() {
            return Err(SpaceError::NotFound { tried });
        }
        let combinations = self.parameters.iter().map(|parameter| parameter.values.len() as f64).product();
        Ok(Candidates { levels, parameters: self.parameters.len(), size: Size::AtMost(combinations) })
    }

    /// Parameters in an order in which a condition's parameters come before it.
    pub(super) fn order(&self) -> Result<Vec<usize>, SpaceError> {
        let mut order: Vec<usize> = Vec::new();
        while order.len() < self.parameters.len() {
            let ready = (0..self.parameters.len()).filter(|p| !order.contains(p)).find(|&p| {
                let when = self.parameters[p].when.as_ref();
                when.is_none_or(|when| self.behind(when.names()).iter().all(|name| order.contains(name)))
            });
            match ready {
                Some(p) => order.push(p),
                None => {
                    let waiting = (0..self.parameters.len()).filter(|p| !order.contains(p));
                    let names = waiting.map(|p| format!("`{}`", self.parameters[p].name)).collect();
                    return Err(SpaceError::Circle { names });
                }
            }
        }
        Ok(order)
    }

    /// The parameters that names depend on, following derived ones.
    fn behind(&self, names: Vec<usize>) -> Vec<usize> {
        let count = self.parameters.len();
        names
            .into_iter()
            .flat_map(|name| match name.checked_sub(count) {
                None => vec![name],
                Some(derived) => self.behind(self.derived[derived].1.names()),
            })
            .collect()
    }

    fn active(&self, parameter: usize, levels: &[u16]) -> bool {
        let value = |name| self.scalar(name, &|p| levels[p]);
        self.parameters[parameter].when.as_ref().is_none_or(|when| when.evaluate(&value).is_true())
    }

    fn fulfils(&self, constraint: usize, levels: &[u16]) -> bool {
        let value = |name| self.scalar(name, &|p| levels[p]);
        self.constraints[constraint].expression.evaluate(&value).is_true()
    }
}

/// Depth first; checks every constraint as soon as its parameters are set.
struct Listing<'a> {
    space: &'a Space,
    order: Vec<usize>,
    /// Constraints to check once the parameter at this depth is set.
    due: Vec<Vec<usize>>,
    levels: Vec<u16>,
    found: Vec<u16>,
    visited: usize,
    most: usize,
}

impl<'a> Listing<'a> {
    fn of(space: &'a Space, constraints: usize, most: usize) -> Result<Self, SpaceError> {
        let order = space.order()?;
        let mut due = vec![Vec::new(); order.len()];
        for c in 0..constraints {
            let names = space.behind(space.constraints[c].expression.names());
            let depth = names.iter().filter_map(|name| order.iter().position(|p| p == name)).max();
            due[depth.unwrap_or(0)].push(c);
        }
        let levels = vec![0; order.len()];
        Ok(Self { space, order, due, levels, found: Vec::new(), visited: 0, most })
    }

    /// Whether the listing is complete. (With `most` 1 the first find ends it, and this returns `false`.)
    fn run(&mut self) -> bool {
        self.descend(0)
    }

    fn descend(&mut self, depth: usize) -> bool {
        let Some(&p) = self.order.get(depth) else {
            self.found.extend(&self.levels);
            return self.found.len() / self.order.len() <= self.most && self.most > 1;
        };
        let parameter = &self.space.parameters[p];
        let choices = match self.space.active(p, &self.levels) {
            true => 0..parameter.values.len() as u16,
            false => parameter.default.map_or(0..0, |level| level as u16..level as u16 + 1),
        };
        for level in choices {
            self.visited += 1;
            if self.visited > MOST_VISITED {
                return false;
            }
            self.levels[p] = level;
            let valid = self.due[depth].iter().all(|&c| self.space.fulfils(c, &self.levels));
            if valid && !self.descend(depth + 1) {
                return false;
            }
        }
        true
    }
}
