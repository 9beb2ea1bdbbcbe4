//! Addresses of pages: names of experiments, trials and files are any text.

use std::fmt::Write;

pub use app::experiment::address_part as escaped;

/// The page of an experiment.
pub fn experiment(name: &str) -> String {
    format!("/experiments/{}", escaped(name))
}

/// The page of a trial.
pub fn trial(experiment: &str, trial: &str) -> String {
    format!("/experiments/{}/trials/{}", escaped(experiment), escaped(trial))
}

/// A file of a trial.
pub fn artifact(experiment: &str, trial_name: &str, path: &str) -> String {
    let path: Vec<String> = path.split('/').map(escaped).collect();
    format!("{}/artifacts/{}", trial(experiment, trial_name), path.join("/"))
}

/// A whole table of a trial.
pub fn table(experiment: &str, trial_name: &str, artifact: &str, table: &str) -> String {
    let (artifact, table) = (escaped(artifact), escaped(table));
    format!("{}/tables?artifact={artifact}&table={table}", trial(experiment, trial_name))
}

/// Two trials side by side.
pub fn compare(experiment_name: &str, base: &str, candidate: &str) -> String {
    let (base, candidate) = (escaped(base), escaped(candidate));
    format!("{}/compare?base={base}&candidate={candidate}", experiment(experiment_name))
}

/// A path with these parts of a query; empty ones are left out.
pub fn with_query(path: &str, parts: &[(&str, &str)]) -> String {
    let mut address = path.to_string();
    for (key, value) in parts.iter().filter(|(_, value)| !value.is_empty()) {
        let sign = if address.contains('?') { '&' } else { '?' };
        _ = write!(address, "{sign}{key}={}", escaped(value));
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_part_of_an_address() {
        assert_eq!(trial("a/b?c", "x y"), "/experiments/a%2Fb%3Fc/trials/x%20y");
        assert_eq!(artifact("e", "t", "a b/c#.json"), "/experiments/e/trials/t/artifacts/a%20b/c%23.json");
        assert_eq!(with_query("/", &[("q", "a&b"), ("page", ""), ("sort", "name")]), "/?q=a%26b&sort=name");
    }
}
