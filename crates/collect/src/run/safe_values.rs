//! Configuration values that end up in scripts: anything that would not stay one value is refused before
//! anything is written.

use std::path::Path;

use super::error::CollectError;
use crate::presets::Preset;
use crate::slurm::SlurmOptions;

/// Checks everything that a preset or a configuration puts into commands and scripts.
pub(super) fn check(preset: &Preset) -> Result<(), CollectError> {
    for (name, value) in &preset.env {
        check_variable(name, value)?;
    }
    if let Some(option) = preset.options.iter().find(|option| option.contains('\0')) {
        return Err(CollectError::Usage(format!("the profiler's option {option:?} has a NUL character")));
    }
    check_slurm(&preset.slurm)
}

fn check_variable(name: &str, value: &str) -> Result<(), CollectError> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit());
    if !is_name {
        return Err(CollectError::Usage(format!(
            "{name:?} is not the name of an environment variable: use letters, digits and `_`"
        )));
    }
    match value.contains('\0') {
        true => Err(CollectError::Usage(format!("the value of `{name}` has a NUL character"))),
        false => Ok(()),
    }
}

/// The characters of SLURM's names, lists and expressions; white space would begin another option.
fn is_plain(value: &str) -> bool {
    value.chars().all(|c| c.is_alphanumeric() || "_-.,:/@%+=*[](){}|&!~^".contains(c))
}

fn check_slurm(slurm: &SlurmOptions) -> Result<(), CollectError> {
    for (name, value) in slurm.texts() {
        if let Some(value) = value.filter(|value| !is_plain(value)) {
            let message = format!(
                "{value:?} cannot be SLURM's {name}: it has white space, quotes or other special characters"
            );
            return Err(CollectError::Usage(message));
        }
    }
    Ok(())
}

/// A job's folder is written on its own line of the script.
pub(crate) fn check_job_folder(folder: &Path) -> Result<(), CollectError> {
    match folder.display().to_string().contains(char::is_control) {
        true => {
            Err(CollectError::Usage(format!("the folder {folder:?} has control characters; choose another")))
        }
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(preset: &Preset) -> String {
        check(preset).map_or_else(|error| error.to_string(), |()| "nothing".into())
    }

    #[test]
    fn g3_names_of_variables_do_not_reach_a_shell_as_code() {
        for name in ["A;touch P;B", "A B", "", "1A", "A\nB", "A=B", "a-b", "A\0"] {
            let mut preset = Preset::default();
            preset.env.insert(name.into(), "x".into());
            assert!(error(&preset).contains("is not the name of an environment variable"), "{name}");
        }
        let mut preset = Preset::default();
        preset.env.insert("GOOD_1".into(), "any 'thing' $x; `y`\n".into());
        assert_eq!(error(&preset), "nothing");
        preset.env.insert("BAD".into(), "a\0b".into());
        assert!(error(&preset).contains("NUL"));
    }

    #[test]
    fn g3_values_for_slurm_do_not_become_lines_or_options_of_the_script() {
        for value in ["x\ntouch P", "x --wrap=y", "x;touch P", "$(touch P)", "`touch P`", "x'", "x\"", "x\0"]
        {
            let slurm = SlurmOptions { partition: Some(value.into()), ..SlurmOptions::default() };
            let message = error(&Preset { slurm, ..Preset::default() });
            assert!(message.contains("SLURM's partition"), "{value:?}: {message}");
        }
        let slurm = SlurmOptions {
            constraint: Some("[rack1*2&rack2*4]|gpu".into()),
            time: Some("1-02:30:00".into()),
            nodelist: Some("node[01-04,7]".into()),
            array: Some("0-9:3%2".into()),
            ..SlurmOptions::default()
        };
        assert_eq!(error(&Preset { slurm, ..Preset::default() }), "nothing");
    }
}
