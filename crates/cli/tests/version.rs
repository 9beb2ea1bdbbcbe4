//! `--version` for people, and with `-v` for bug reports.

use crate::common;

use common::stdout;

#[test]
fn a_verbose_version_says_commit_target_features_and_dates_of_tables() {
    let short = stdout(&["--version"]);
    assert_eq!(short, format!("rocm-perf {}\n", env!("CARGO_PKG_VERSION")));
    for arguments in [["--version", "-v"], ["-v", "--version"], ["-V", "--verbose"]] {
        let long = stdout(&arguments);
        assert!(long.starts_with(&short), "{long}");
        for fact in ["\ncommit: ", "\ntarget:   ", "\nfeatures: ", "\ntables"] {
            assert!(long.contains(fact), "{fact} of {long}");
        }
        assert!(long.lines().all(|line| line.chars().count() <= 80), "{long}");
    }
}
