//! Selects dispatches by GPU, kernel and dispatch number.

use regex::Regex;
use trace::{Map, StrId, Trace};

use super::top::{TopKernel, top_kernels};

/// The user's selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Numbers of GPUs.
    pub gpus: Vec<i64>,
    /// Kernels: a position in the list of top kernels, a name, or a pattern for names.
    pub kernels: Vec<String>,
    /// Dispatches: a number, `3..9` (inclusive), or `>3` and similar.
    pub dispatches: Vec<String>,
}

/// Why nothing can be selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No such kernel.
    #[error("no kernel is `{0}`")]
    NoKernel(String),
    /// No such dispatch.
    #[error("no dispatch is `{0}`")]
    NoDispatch(String),
    /// No such GPU.
    #[error("no dispatch ran on GPU {0}")]
    NoGpu(i64),
    /// Stored values cannot be recomputed for a selection.
    #[error("an analysis database has values of the whole run and of each kernel; choose one kernel or none")]
    OneKernel,
    /// Each exists, but not in combination.
    #[error("no dispatch matches all of these filters")]
    NoneTogether,
}

/// The chosen rows of `kernels`, and the run's top kernels with the chosen ones marked.
pub fn choose(trace: &Trace, choice: &Choice) -> Result<(Vec<u32>, Vec<TopKernel>), ChoiceError> {
    let kernels = &trace.kernels;
    let gpu_of = |row: u32| {
        let agent = kernels.agent[row as usize].get()?;
        trace.agents[agent].absolute_index.get().or(trace.agents[agent].type_index.get())
    };
    let mut rows: Vec<u32> = (0..kernels.len() as u32).collect();
    for &gpu in &choice.gpus {
        if !rows.iter().any(|&row| gpu_of(row) == Some(gpu)) {
            return Err(ChoiceError::NoGpu(gpu));
        }
    }
    rows.retain(|&row| choice.gpus.is_empty() || gpu_of(row).is_some_and(|gpu| choice.gpus.contains(&gpu)));
    let mut top = top_kernels(trace, &rows);
    if !choice.kernels.is_empty() {
        for wanted in &choice.kernels {
            let chosen = matching_kernels(trace, &top, wanted);
            if chosen.is_empty() {
                return Err(ChoiceError::NoKernel(wanted.clone()));
            }
            chosen.into_iter().for_each(|place| top[place].chosen = true);
        }
        let chosen: Map<StrId, ()> =
            top.iter().filter(|kernel| kernel.chosen).map(|kernel| (kernel.name, ())).collect();
        rows.retain(|&row| chosen.contains_key(&kernels.name[row as usize]));
    }
    if !choice.dispatches.is_empty() {
        let number = |row: u32| kernels.dispatch[row as usize].get().unwrap_or(i64::from(row));
        let mut keep = vec![false; rows.len()];
        for wanted in &choice.dispatches {
            let range = dispatch_range(wanted).ok_or_else(|| ChoiceError::NoDispatch(wanted.clone()))?;
            let mut any = false;
            for (keep, &row) in keep.iter_mut().zip(&rows) {
                let holds = range.contains(&number(row));
                *keep |= holds;
                any |= holds;
            }
            if !any {
                return Err(ChoiceError::NoDispatch(wanted.clone()));
            }
        }
        let mut keep = keep.into_iter();
        rows.retain(|_| keep.next().unwrap_or(false));
    }
    if rows.is_empty() { Err(ChoiceError::NoneTogether) } else { Ok((rows, top)) }
}

fn matching_kernels(trace: &Trace, top: &[TopKernel], wanted: &str) -> Vec<usize> {
    if let Ok(place) = wanted.parse::<usize>() {
        return if place < top.len() { vec![place] } else { Vec::new() };
    }
    let places = |holds: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..top.len()).filter(|&place| holds(trace.strings.get(top[place].name))).collect()
    };
    let exact = places(&|name| name == wanted);
    if !exact.is_empty() {
        return exact;
    }
    match Regex::new(wanted) {
        Ok(pattern) => places(&|name| pattern.is_match(name)),
        Err(_) => places(&|name| name.contains(wanted)),
    }
}

fn dispatch_range(text: &str) -> Option<std::ops::RangeInclusive<i64>> {
    let text = text.trim();
    let number = |text: &str| text.trim().parse::<i64>().ok();
    if let Some((first, last)) = text.split_once("..") {
        return Some(number(first)?..=number(last)?);
    }
    type Range = fn(i64) -> std::ops::RangeInclusive<i64>;
    let bounds: [(&str, Range); 4] = [
        (">=", |n| n..=i64::MAX),
        ("<=", |n| i64::MIN..=n),
        (">", |n| n.saturating_add(1)..=i64::MAX),
        ("<", |n| i64::MIN..=n.saturating_sub(1)),
    ];
    for (sign, range) in bounds {
        if let Some(rest) = text.strip_prefix(sign) {
            return Some(range(number(rest)?));
        }
    }
    number(text).map(|n| n..=n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispatches_are_numbers_and_ranges() {
        assert_eq!(dispatch_range("3"), Some(3..=3));
        assert_eq!(dispatch_range(" 3..9"), Some(3..=9));
        assert_eq!(dispatch_range("> 3"), Some(4..=i64::MAX));
        assert_eq!(dispatch_range("<=3"), Some(i64::MIN..=3));
        assert_eq!(dispatch_range("x"), None);
    }
}
