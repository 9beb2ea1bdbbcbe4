//! Writes pages as a PDF file.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::pen::{FONTS, Used, opacity_name, page};
use super::sheets::{LEFT, PAGE, RIGHT, Sheets, Stamp};
use crate::chart::{Anchor, Ink, text};
use crate::document::Document;
use crate::fonts;
use crate::render::RenderError;

/// Glyphs are named by their number in the font file.
const IDENTITY: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The PDF file. It has no date, so that the same document gives the same bytes.
pub fn emit(document: &Document, sheets: Sheets) -> Result<Vec<u8>, RenderError> {
    let creator = format!("rocm-perf {}", document.version);
    let mut used = Used::default();
    let count = sheets.pages.len();
    let mut contents = Vec::with_capacity(count);
    for (number, stamps) in sheets.pages.into_iter().enumerate() {
        let foot = foot(document, &creator, number + 1, count);
        contents.push(compressed(&page(stamps.into_iter().chain(foot), &mut used))?);
    }

    let mut last = 0;
    let mut next = || {
        last += 1;
        Ref::new(last)
    };
    let (catalog, tree, info) = (next(), next(), next());
    let font_ids = [(); 2].map(|()| next());
    let pages: Vec<Ref> = contents.iter().map(|_| next()).collect();
    let mut pdf = Pdf::new();
    let outline = (!sheets.sections.is_empty()).then(&mut next);
    let mut root = pdf.catalog(catalog);
    root.pages(tree).lang(TextStr("en"));
    if let Some(outline) = outline {
        root.outlines(outline);
    }
    root.finish();
    pdf.document_info(info).title(TextStr(&document.title)).creator(TextStr(&creator));
    pdf.pages(tree).kids(pages.iter().copied()).count(count as i32);
    for (&id, content) in pages.iter().zip(&contents) {
        let stream = next();
        let mut page = pdf.page(id);
        page.media_box(Rect::new(0.0, 0.0, PAGE.0 as f32, PAGE.1 as f32)).parent(tree).contents(stream);
        let mut resources = page.resources();
        resources.fonts().pairs(FONTS.into_iter().zip(font_ids));
        let mut opacities = resources.ext_g_states();
        for &hundredths in &used.opacities {
            let name = opacity_name(hundredths);
            let opacity = f32::from(hundredths) / 100.0;
            opacities
                .insert(Name(name.as_bytes()))
                .start::<pdf_writer::writers::ExtGraphicsState>()
                .non_stroking_alpha(opacity);
        }
        opacities.finish();
        resources.finish();
        page.finish();
        pdf.stream(stream, content).filter(Filter::FlateDecode);
    }
    for (bold, id) in [(false, font_ids[0]), (true, font_ids[1])] {
        font(&mut pdf, &mut next, id, bold, &used.glyphs[usize::from(bold)])?;
    }
    if let Some(outline) = outline {
        let items: Vec<Ref> = sheets.sections.iter().map(|_| next()).collect();
        pdf.outline(outline).first(items[0]).last(items[items.len() - 1]).count(items.len() as i32);
        for (number, (title, page, y)) in sheets.sections.iter().enumerate() {
            let mut item = pdf.outline_item(items[number]);
            item.title(TextStr(title)).parent(outline);
            if number > 0 {
                item.prev(items[number - 1]);
            }
            if let Some(&after) = items.get(number + 1) {
                item.next(after);
            }
            let top = PAGE.1 - (*y - 8.0).max(0.0);
            item.dest().page(pages[*page]).xyz(LEFT as f32, top as f32, None);
        }
    }
    Ok(pdf.finish())
}

/// One of our fonts, with the widths and characters of the glyphs that are used.
fn font(
    pdf: &mut Pdf,
    next: &mut dyn FnMut() -> Ref,
    id: Ref,
    bold: bool,
    used: &BTreeMap<u16, char>,
) -> Result<(), RenderError> {
    let wrong = || RenderError::Encoding("cannot read the font".into());
    let face = fonts::face(bold).ok_or_else(wrong)?;
    let (data, name): (_, &[u8]) =
        if bold { (fonts::MEDIUM, b"Roboto-Medium") } else { (fonts::REGULAR, b"Roboto-Regular") };
    let name = Name(name);
    let (glyphs, descriptor, file, characters) = (next(), next(), next(), next());
    let per_em = f32::from(face.units_per_em());
    let thousandths = |units: i16| f32::from(units) * 1000.0 / per_em;
    pdf.type0_font(id)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(glyphs)
        .to_unicode(characters);
    let mut cid = pdf.cid_font(glyphs);
    cid.subtype(CidFontType::Type2).base_font(name).system_info(IDENTITY).font_descriptor(descriptor);
    cid.default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for &glyph in used.keys() {
        let advance = face.glyph_hor_advance(ttf_parser::GlyphId(glyph)).unwrap_or(0);
        widths.consecutive(glyph, [f32::from(advance) * 1000.0 / per_em]);
    }
    widths.finish();
    cid.finish();
    let bounds = face.global_bounding_box();
    pdf.font_descriptor(descriptor)
        .name(name)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(
            thousandths(bounds.x_min),
            thousandths(bounds.y_min),
            thousandths(bounds.x_max),
            thousandths(bounds.y_max),
        ))
        .italic_angle(0.0)
        .ascent(thousandths(face.ascender()))
        .descent(thousandths(face.descender()))
        .cap_height(thousandths(face.capital_height().unwrap_or(face.ascender())))
        .stem_v(if bold { 110.0 } else { 80.0 })
        .font_file2(file);
    let embedded = compressed(data)?;
    let mut stream = pdf.stream(file, &embedded);
    stream.filter(Filter::FlateDecode).pair(Name(b"Length1"), data.len() as i32);
    stream.finish();
    let mut cmap = UnicodeCmap::<u16>::new(Name(b"Custom"), IDENTITY);
    used.iter().for_each(|(&glyph, &character)| cmap.pair(glyph, character));
    pdf.stream(characters, &compressed(&cmap.finish())?).filter(Filter::FlateDecode);
    Ok(())
}

fn compressed(data: &[u8]) -> Result<Vec<u8>, RenderError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(data)
        .and_then(|()| encoder.finish())
        .map_err(|error| RenderError::Encoding(error.to_string()))
}

/// The text at the foot of a page.
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
