//! Where configurations are built: in one place, one after another, or in a folder each, so that builds can run in
//! parallel and be kept.

use std::path::{Path, PathBuf};

use files::process::{self, Job};

use crate::journal::Key;
use crate::space::{Setting, Space};
use crate::target::Commands;
use crate::template::{self, Template};

/// Parameter name for the configuration's own build folder, in commands of a search with builds.
pub const BUILD_FOLDER: &str = "build_dir";
/// Where those folders are, in the folder of results.
const FOLDERS: &str = "builds";
/// Hexadecimal digits of a configuration's folder.
const KEY: usize = 16;

/// The builds of a search.
pub struct Builds<'a> {
    space: &'a Space,
    commands: &'a Commands,
    folders: PathBuf,
    are_apart: bool,
}

impl<'a> Builds<'a> {
    /// The builds of a search: below the folder of results if the build command names `{build_dir}`.
    pub fn new(space: &'a Space, commands: &'a Commands, out: &Path) -> Self {
        let folders = out.join(FOLDERS);
        let folders = std::path::absolute(&folders).unwrap_or(folders);
        Self { space, commands, folders, are_apart: commands.builds_are_apart(space) }
    }

    /// Whether each configuration has its own folder.
    pub fn are_apart(&self) -> bool {
        self.are_apart
    }

    /// The folder of a configuration.
    fn folder(&self, levels: &[u16]) -> PathBuf {
        let mut key = Key::default();
        key.text("configuration", &self.space.to_json(levels).to_string());
        self.folders.join(&key.finish()[..KEY])
    }

    /// A command for a configuration.
    pub fn words(&self, template: &Template, levels: &[u16]) -> Vec<String> {
        let folder = Setting::Text(self.folder(levels).display().to_string());
        let mut settings = self.space.settings(levels);
        settings.push((BUILD_FOLDER, &folder));
        template.words(&settings)
    }

    /// A command for a configuration; a shell line is split into words.
    pub fn plain_words(&self, template: &Template, levels: &[u16]) -> Vec<String> {
        let words = self.words(template, levels);
        match &words[..] {
            [shell, option, line, ..] if shell == "sh" && option == "-c" => {
                template::split(line).unwrap_or_default()
            }
            _ => words,
        }
    }

    /// Variables for all commands of a configuration.
    pub fn env(&self, levels: &[u16]) -> Vec<(String, String)> {
        let fill =
            |(name, template): &(String, Template)| (name.clone(), self.words(template, levels).concat());
        self.commands.env.iter().map(fill).collect()
    }

    /// Builds a configuration; the error says why it failed.
    pub fn build(&self, levels: &[u16]) -> Result<(), String> {
        let Some(build) = &self.commands.build else { return Ok(()) };
        if self.are_apart {
            let folder = self.folder(levels);
            // A killed search may have left an incomplete build there.
            files::claim_work_folder(&self.folders)
                .and_then(|()| if folder.exists() { std::fs::remove_dir_all(&folder) } else { Ok(()) })
                .and_then(|()| std::fs::create_dir(&folder))
                .map_err(|error| format!("cannot create the build folder `{}`: {error}", folder.display()))?;
        }
        let (words, env) = (self.words(build, levels), self.env(levels));
        let ended = process::run(&Job {
            env: &env,
            limit: Some(self.commands.build_timeout),
            confinement: self.commands.confinement(),
            ..Job::of(&words)
        });
        if ended.is_success() { Ok(()) } else { Err(format!("the build {}", ended.explain())) }
    }

    /// Builds several configurations in parallel.
    pub fn build_together(&self, next: &[&[u16]]) -> Vec<(Vec<u16>, Result<(), String>)> {
        std::thread::scope(|scope| {
            let start = |levels: &&'_ [u16]| {
                let levels = levels.to_vec();
                scope.spawn(move || {
                    let result = self.build(&levels);
                    (levels, result)
                })
            };
            let running: Vec<_> = next.iter().map(start).collect();
            running.into_iter().filter_map(|build| build.join().ok()).collect()
        })
    }

    /// Removes all builds but that of one configuration.
    pub fn keep_only(&self, levels: Option<&[u16]>) {
        if !files::is_work_folder(&self.folders) {
            return;
        }
        let kept = levels.map(|levels| self.folder(levels));
        for entry in std::fs::read_dir(&self.folders).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_build = name.len() == KEY && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
            if is_build && Some(entry.path()) != kept {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Commands {
    /// Whether a command names the folder of a configuration.
    pub fn names_build_folder(space: &Space, template: &Template) -> bool {
        template.parameters().contains(&space.parameters.len())
    }

    fn builds_are_apart(&self, space: &Space) -> bool {
        self.build.as_ref().is_some_and(|build| Self::names_build_folder(space, build))
    }
}
