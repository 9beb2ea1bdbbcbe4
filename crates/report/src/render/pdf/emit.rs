//! Pages of marks as a PDF file.

use krilla::color::rgb;
use krilla::destination::XyzDestination;
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::metadata::Metadata;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::Fill;
use krilla::surface::Surface;
use krilla::text::{Font, TextDirection};
use krilla_svg::{SurfaceExt, SvgSettings};

use super::sheets::{LEFT, PAGE, RIGHT, Sheets, Stamp};
use crate::chart::{Anchor, Ink, Theme, text};
use crate::document::Document;
use crate::fonts;
use crate::render::RenderError;

struct Fonts {
    regular: Font,
    medium: Font,
}

/// The file. It has no date, so that the same document gives the same bytes.
pub fn emit(document: &Document, sheets: Sheets) -> Result<Vec<u8>, RenderError> {
    let font = |data: &'static [u8]| {
        Font::new(data.into(), 0).ok_or_else(|| RenderError::Encoding("the font is not understood".into()))
    };
    let fonts = Fonts { regular: font(fonts::REGULAR)?, medium: font(fonts::MEDIUM)? };
    let mut pdf = krilla::Document::new();
    let creator = format!("rocm-perf {}", document.version);
    pdf.set_metadata(
        Metadata::new().title(document.title.clone()).creator(creator.clone()).language("en".into()),
    );
    let mut outline = Outline::new();
    for (title, page, y) in &sheets.sections {
        let place = XyzDestination::new(*page, Point::from_xy(LEFT as f32, (*y - 8.0).max(0.0) as f32));
        outline.push_child(OutlineNode::new(title.clone(), place));
    }
    pdf.set_outline(outline);
    let pages = sheets.pages.len();
    let settings = PageSettings::from_wh(PAGE.0 as f32, PAGE.1 as f32)
        .ok_or_else(|| RenderError::Encoding("the page has no size".into()))?;
    for (number, stamps) in sheets.pages.iter().enumerate() {
        let mut page = pdf.start_page_with(settings.clone());
        let mut surface = page.surface();
        for stamp in stamps {
            put(&mut surface, stamp, &fonts);
        }
        for stamp in foot(document, &creator, number + 1, pages) {
            put(&mut surface, &stamp, &fonts);
        }
        surface.finish();
        page.finish();
    }
    pdf.finish().map_err(|error| RenderError::Encoding(format!("{error:?}")))
}

/// What stands at the foot of a page.
fn foot(document: &Document, creator: &str, page: usize, pages: usize) -> [Stamp; 2] {
    let words = |x: f64, text: String, anchor: Anchor| Stamp::Words {
        x,
        y: PAGE.1 - 30.0,
        text,
        size: 7.6,
        bold: false,
        ink: Ink::Muted,
        anchor,
    };
    let title = text::shorten(&document.title, 7.6, 300.0);
    [
        words(LEFT, format!("{title} · {creator}"), Anchor::Start),
        words(RIGHT, format!("{page} of {pages}"), Anchor::End),
    ]
}

fn put(surface: &mut Surface, stamp: &Stamp, fonts: &Fonts) {
    match stamp {
        Stamp::Words { x, y, text, size, bold, ink, anchor } => {
            let font = if *bold { &fonts.medium } else { &fonts.regular };
            let words = fonts::printable(text);
            let width = fonts::width(&words, *bold) * size;
            let x = match anchor {
                Anchor::Start => *x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            surface.set_fill(Some(fill(*ink)));
            let start = Point::from_xy(x as f32, *y as f32);
            surface.draw_text(start, font.clone(), *size as f32, &words, false, TextDirection::LeftToRight);
        }
        Stamp::Box { x, y, width, height, ink } => {
            let area = Rect::from_xywh(*x as f32, *y as f32, *width as f32, *height as f32);
            let mut path = PathBuilder::new();
            if let Some(area) = area {
                path.push_rect(area);
            }
            if let Some(path) = path.finish() {
                surface.set_fill(Some(fill(*ink)));
                surface.draw_path(&path);
            }
        }
        Stamp::Drawing { x, y, width, height, tree } => {
            if let Some(size) = Size::from_wh(*width as f32, *height as f32) {
                surface.push_transform(&Transform::from_translate(*x as f32, *y as f32));
                surface.draw_svg(tree, size, SvgSettings::default());
                surface.pop();
            }
        }
    }
}

fn fill(ink: Ink) -> Fill {
    let color = Theme::Light.color(ink);
    let channel =
        |at: usize| color.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    Fill { paint: rgb::Color::new(channel(1), channel(3), channel(5)).into(), ..Fill::default() }
}
