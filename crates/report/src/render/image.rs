//! Charts as pixels: PNG and JPEG, drawn with the program's own fonts.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::{RenderError, jpeg as encoder};
use crate::fonts;

/// Larger pictures are refused: JPEG cannot hold them, and nobody can view them.
const LONGEST: u32 = 32_000;

/// Out of 100: lines and letters stay clean.
const JPEG_QUALITY: u8 = 93;

/// Only the program's own fonts, so that a picture is the same everywhere.
pub(super) static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(fonts::REGULAR.to_vec());
    fonts.load_font_data(fonts::MEDIUM.to_vec());
    fonts.set_sans_serif_family("Roboto");
    Arc::new(fonts)
});

/// An SVG drawing as PNG, with `scale` pixels per SVG unit.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, RenderError> {
    pixels(svg, scale)?.encode_png().map_err(|error| RenderError::Encoding(error.to_string()))
}

/// An SVG drawing as JPEG.
pub fn jpeg(svg: &str, scale: f32) -> Result<Vec<u8>, RenderError> {
    let pixels = pixels(svg, scale)?;
    let columns = pixels.width() as usize;
    let sides = u16::try_from(pixels.width()).ok().zip(u16::try_from(pixels.height()).ok());
    let (width, height) = sides.ok_or(RenderError::TooLarge(pixels.width(), pixels.height()))?;
    // Charts paint their own background, so nothing is transparent.
    Ok(encoder::encode(width, height, JPEG_QUALITY, |x, y| {
        let pixel = pixels.pixels()[y * columns + x];
        [pixel.red(), pixel.green(), pixel.blue()]
    }))
}

/// The parsed drawing.
pub(super) fn tree(svg: &str) -> Result<Tree, RenderError> {
    let options = Options { font_family: "Roboto".into(), fontdb: Arc::clone(&FONTS), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| RenderError::Drawing(error.to_string()))
}

fn pixels(svg: &str, scale: f32) -> Result<Pixmap, RenderError> {
    let tree = tree(svg)?;
    let size = |length: f32| (length * scale).ceil() as u32;
    let (width, height) = (size(tree.size().width()), size(tree.size().height()));
    let too_large = RenderError::TooLarge(width, height);
    if width > LONGEST || height > LONGEST {
        return Err(too_large);
    }
    let mut pixels = Pixmap::new(width, height).ok_or(too_large)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    Ok(pixels)
}
