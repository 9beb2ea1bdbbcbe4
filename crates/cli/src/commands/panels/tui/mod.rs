//! `panels --tui`: browse kernels and panels in the terminal.

mod state;
#[cfg(test)]
mod tests;
mod view;

use std::io::IsTerminal;

use app::Trace;
use app::panels::PanelsOptions;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::state::State;
use crate::failure::Failure;

/// Shows the runs until the user leaves.
pub fn run(runs: &[Trace], options: PanelsOptions) -> Result<(), Failure> {
    if !std::io::stdout().is_terminal() {
        return Err(Failure::input("`--tui` needs a terminal")
            .with_help("leave it out: the same tables are printed, or given with `--format json`"));
    }
    let mut state = State::new(runs, options);
    let failed = |error: std::io::Error| Failure::input(format!("cannot use the terminal: {error}"));
    // Restores the terminal on a panic too.
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let result = loop {
        if let Err(error) = terminal.draw(|frame| view::draw(frame, &mut state)) {
            break Err(error);
        }
        match event::read() {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => {
                if state.press(key) {
                    break Ok(());
                }
            }
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    ratatui::restore();
    result.map_err(failed)
}
