//! The fonts of charts, pages and PDF files, so that they look the same on every machine.

#[cfg(feature = "pdf")]
use std::sync::LazyLock;

/// Roboto Regular.
pub const REGULAR: &[u8] = include_bytes!("../fonts/Roboto-Regular.ttf");
/// Roboto Medium, for headings.
pub const MEDIUM: &[u8] = include_bytes!("../fonts/Roboto-Medium.ttf");

#[cfg(feature = "pdf")]
static FACES: LazyLock<Option<[ttf_parser::Face<'static>; 2]>> = LazyLock::new(|| {
    let face = |data: &'static [u8]| ttf_parser::Face::parse(data, 0).ok();
    Some([face(REGULAR)?, face(MEDIUM)?])
});

/// The text with only characters that the fonts have: others become a replacement character, arrows are
/// spelled out.
#[cfg(feature = "pdf")]
pub fn printable(text: &str) -> String {
    let has = |c: char| FACES.as_ref().is_none_or(|faces| faces[0].glyph_index(c).is_some());
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => printable.push(' '),
            '→' if !has(c) => printable.push_str("->"),
            c if !has(c) => printable.push('\u{FFFD}'),
            c => printable.push(c),
        }
    }
    printable
}

/// Width of a text at font size 1.
#[cfg(feature = "pdf")]
pub fn width(text: &str, bold: bool) -> f64 {
    let Some(faces) = FACES.as_ref() else { return 0.0 };
    let face = &faces[usize::from(bold)];
    let advance = |c: char| face.glyph_index(c).and_then(|glyph| face.glyph_hor_advance(glyph));
    let units: u64 = text.chars().map(|c| u64::from(advance(c).unwrap_or(0))).sum();
    units as f64 / f64::from(face.units_per_em())
}

/// The glyphs of a printable text, each with its character.
#[cfg(feature = "pdf")]
pub fn glyphs(text: &str, bold: bool) -> impl Iterator<Item = (u16, char)> {
    let face = face(bold);
    text.chars().filter_map(move |c| Some((face?.glyph_index(c)?.0, c)))
}

/// The parsed font.
#[cfg(feature = "pdf")]
pub fn face(bold: bool) -> Option<&'static ttf_parser::Face<'static>> {
    FACES.as_ref().map(|faces| &faces[usize::from(bold)])
}

#[cfg(all(test, feature = "pdf"))]
mod tests {
    use super::*;

    #[test]
    fn text_is_printable_and_measured_as_charts_measure_it() {
        assert_eq!(printable("a → b\t日 µs"), "a -> b \u{FFFD} µs");
        let name = "Cijk_Ailk_Bljk <float, 4> {x} ~0.5 %";
        let (exact, estimate) = (width(name, false) * 10.0, crate::chart::text::width(name, 10.0));
        // Estimates are a little wide, to allow for other fonts.
        assert!(estimate > exact && estimate < exact * 1.05, "{exact} {estimate}");
    }
}
