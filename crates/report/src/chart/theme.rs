//! Colours by meaning, for light pages, dark pages, and pages that define the colours themselves.

use std::fmt::Write;

/// A colour by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Main text.
    Text,
    /// Secondary text and marks.
    Muted,
    /// Lines of a grid.
    Grid,
    /// Axes and borders.
    Axis,
    /// The page.
    Surface,
    /// Areas slightly raised from the page.
    Raised,
    /// A category, by number; from [`Ink::SERIES`] on they repeat.
    Series(usize),
    /// The rest, without its own category.
    Rest,
    /// Better.
    Good,
    /// Worse.
    Bad,
    /// A heat level, from 0 (lowest) to [`Ink::HEAT`] - 1 (highest).
    Heat(usize),
}

impl Ink {
    /// Number of categories with their own colours.
    pub const SERIES: usize = 8;

    /// Number of heat levels.
    pub const HEAT: usize = 6;

    /// Its name in JSON: `series-1`, `good`.
    pub(crate) fn name(self) -> &'static str {
        COLORS[self.place()].0.trim_start_matches('-')
    }

    /// The ink with this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let plain = [
            Ink::Text,
            Ink::Muted,
            Ink::Grid,
            Ink::Axis,
            Ink::Surface,
            Ink::Raised,
            Ink::Rest,
            Ink::Good,
            Ink::Bad,
        ];
        let kinds = (0..Ink::SERIES).map(Ink::Series).chain((0..Ink::HEAT).map(Ink::Heat));
        plain.into_iter().chain(kinds).find(|ink| ink.name() == name)
    }

    fn place(self) -> usize {
        match self {
            Ink::Text => 0,
            Ink::Muted => 1,
            Ink::Grid => 2,
            Ink::Axis => 3,
            Ink::Surface => 4,
            Ink::Raised => 5,
            Ink::Rest => 6,
            Ink::Good => 7,
            Ink::Bad => 8,
            Ink::Series(number) => 9 + number % Ink::SERIES,
            Ink::Heat(level) => 9 + Ink::SERIES + level.min(Ink::HEAT - 1),
        }
    }
}

/// (name of the CSS variable, colour on light, colour on dark), by [`Ink::place`].
///
/// Categories keep their hue in both themes and also differ in lightness, so that they are distinguishable in
/// grey and for people with red-green colour blindness.
const COLORS: [(&str, &str, &str); 23] = [
    ("--text", "#1c2128", "#e4e7eb"),
    ("--muted", "#5c6672", "#9aa5b1"),
    ("--grid", "#e7eaee", "#2a3038"),
    ("--axis", "#b9c0c8", "#4b5560"),
    ("--surface", "#ffffff", "#14181d"),
    ("--raised", "#f5f7f9", "#1c2127"),
    ("--rest", "#a7b0ba", "#69737f"),
    ("--good", "#2f8f5b", "#5dbb86"),
    ("--bad", "#c8453b", "#e8776d"),
    ("--series-1", "#2f67b1", "#6ba2ea"),
    ("--series-2", "#dd8a2e", "#eba556"),
    ("--series-3", "#3f9a6b", "#68bd90"),
    ("--series-4", "#b9405a", "#e07690"),
    ("--series-5", "#7b62b8", "#a894e0"),
    ("--series-6", "#2b9db0", "#5fc3d3"),
    ("--series-7", "#a58a1f", "#cdb650"),
    ("--series-8", "#cf6fa8", "#e298c4"),
    ("--heat-1", "#eef2f6", "#20262d"),
    ("--heat-2", "#f6dcb4", "#4a3a22"),
    ("--heat-3", "#efb56a", "#7d5a24"),
    ("--heat-4", "#df8137", "#b5722d"),
    ("--heat-5", "#c04a2c", "#dc6a45"),
    ("--heat-6", "#861f2b", "#f2a08a"),
];

/// The page that a chart is drawn for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light; also for paper.
    #[default]
    Light,
    /// Light on dark.
    Dark,
    /// Colours are CSS variables of the enclosing page, whose script handles the pointer.
    Page,
}

impl Theme {
    /// The colour in SVG.
    pub(crate) fn color(self, ink: Ink) -> String {
        let (variable, light, dark) = COLORS[ink.place()];
        match self {
            Theme::Light => light.into(),
            Theme::Dark => dark.into(),
            Theme::Page => format!("var({variable})"),
        }
    }
}

/// CSS declarations that set the variables of [`Theme::Page`] to the colours of a theme.
pub fn page_variables(dark: bool) -> String {
    let mut text = String::new();
    for (variable, on_light, on_dark) in COLORS {
        _ = write!(text, "{variable}:{};", if dark { on_dark } else { on_light });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG defines it.
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_kinds_stand_out_from_the_page() {
        for (theme, page) in [(Theme::Light, "#ffffff"), (Theme::Dark, "#14181d")] {
            assert_eq!(theme.color(Ink::Surface), page);
            assert!(contrast(&theme.color(Ink::Text), page) > 12.0);
            assert!(contrast(&theme.color(Ink::Muted), page) > 4.5);
            for number in 0..Ink::SERIES {
                let found = contrast(&theme.color(Ink::Series(number)), page);
                assert!(found > 2.3, "kind {number} in {theme:?}: {found:.2}");
            }
        }
        assert_eq!(Theme::Page.color(Ink::Series(8)), Theme::Page.color(Ink::Series(0)));
        assert!(page_variables(true).contains("--series-8:#e298c4;"));
    }
}
