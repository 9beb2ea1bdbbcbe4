//! The width of texts in the font of charts, and texts cut to a width.

/// Font families for charts; the first one is used for measuring and for images.
pub const FAMILIES: &str = "Roboto, 'Helvetica Neue', Helvetica, Arial, sans-serif";

/// Advance of the printable ASCII characters of Roboto Regular, starting at the space, in 1/2048 of the font
/// size.
#[rustfmt::skip]
const ADVANCES: [u16; 95] = [
    508, 528, 656, 1261, 1151, 1500, 1274, 358, 701, 713, 882, 1162, 403, 566, 540, 845,
    1151, 1151, 1151, 1151, 1151, 1151, 1151, 1151, 1151, 1151, 496, 433, 1041, 1124, 1071, 968,
    1839, 1336, 1276, 1333, 1344, 1164, 1132, 1395, 1461, 557, 1130, 1285, 1103, 1788, 1461, 1409,
    1292, 1409, 1262, 1216, 1222, 1328, 1304, 1817, 1284, 1230, 1227, 543, 841, 543, 856, 924,
    633, 1114, 1150, 1072, 1155, 1086, 712, 1150, 1128, 498, 490, 1038, 498, 1796, 1131, 1168,
    1150, 1164, 694, 1057, 670, 1129, 992, 1539, 1016, 969, 1016, 693, 500, 693, 1393,
];
/// Advance of other characters that take one column, and of those that take two.
const ONE_COLUMN: u16 = 1344;
const TWO_COLUMNS: u16 = 2048;
/// Other fonts of the list are a little wider.
const SAFETY: f64 = 1.04;

/// Width of a text at this size.
pub fn width(text: &str, size: f64) -> f64 {
    let units: u64 = text.chars().map(|c| u64::from(advance(c))).sum();
    units as f64 / 2048.0 * size * SAFETY
}

fn advance(c: char) -> u16 {
    match c {
        ' '..='~' => ADVANCES[c as usize - ' ' as usize],
        '…' => 1370,
        _ => match unicode_width::UnicodeWidthChar::width(c) {
            Some(0) | None => 0,
            Some(1) => ONE_COLUMN,
            Some(_) => TWO_COLUMNS,
        },
    }
}

/// The text cut in the middle to fit; both ends of a kernel name are informative.
pub fn shorten(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let chars: Vec<char> = text.chars().collect();
    let cut = |keep: usize| {
        let tail = keep / 3;
        let head: String = chars[..keep - tail].iter().collect();
        let end: String = chars[chars.len() - tail..].iter().collect();
        format!("{}…{}", head.trim_end(), end.trim_start())
    };
    // A cut gets wider the more text it keeps: search for the longest that fits.
    let (mut fits, mut fails) = (0, chars.len());
    while fits + 1 < fails {
        let middle = (fits + fails) / 2;
        if width(&cut(middle), size) <= room {
            fits = middle;
        } else {
            fails = middle;
        }
    }
    cut(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_texts_fit_and_keep_both_ends() {
        let name = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_ISA942";
        for room in 20..260 {
            let short = shorten(name, 11.0, f64::from(room));
            assert!(width(&short, 11.0) <= f64::from(room), "{short}");
        }
        let short = shorten(name, 11.0, 120.0);
        assert!(short.starts_with("Cijk_Ailk") && short.ends_with("942"), "{short}");
        assert_eq!(shorten("gemm", 11.0, 120.0), "gemm");
    }

    #[test]
    fn wide_characters_are_wide() {
        assert!(width("日本", 10.0) > width("ab", 10.0));
        assert_eq!(width("", 10.0), 0.0);
    }
}
