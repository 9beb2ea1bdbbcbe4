//! Baseline JPEG (ITU-T T.81) with full colour resolution: letters and thin lines in colour stay clean.
//!
//! Existing crates bring colour management or their own licences for the little that a chart needs: one kind
//! of file, three components, the example tables of the standard's annex K.

/// Code and length in bits of every symbol.
type BySymbol = [(u16, u8); 256];

/// Positions in an 8×8 block, in order of increasing frequency.
const ZIGZAG: [usize; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Quantisation of brightness at quality 50, row by row (table K.1).
const BRIGHTNESS: [u16; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17,
    22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78,
    87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// Quantisation of colour at quality 50 (table K.2).
const COLOR: [u16; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

/// A Huffman table as stored in the file: codes of each length, and their symbols (tables K.3 to K.6).
struct Codes {
    lengths: [u8; 16],
    symbols: &'static [u8],
}

const FIRST: [Codes; 2] = [
    Codes {
        lengths: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    },
    Codes {
        lengths: [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    },
];

const OTHERS: [Codes; 2] = [
    Codes {
        lengths: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
        symbols: &[
            0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07,
            0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0,
            0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28,
            0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
            0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69,
            0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89,
            0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
            0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5,
            0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
            0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
            0xf9, 0xfa,
        ],
    },
    Codes {
        lengths: [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 0x77],
        symbols: &[
            0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71,
            0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0,
            0x15, 0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18, 0x19, 0x1a, 0x26,
            0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
            0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
            0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87,
            0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5,
            0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
            0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
            0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
            0xf9, 0xfa,
        ],
    },
];

impl Codes {
    /// (code, length) by symbol.
    fn by_symbol(&self) -> BySymbol {
        let mut table = [(0, 0); 256];
        let (mut code, mut next) = (0u16, self.symbols.iter());
        for (shorter, &count) in self.lengths.iter().enumerate() {
            for &symbol in next.by_ref().take(usize::from(count)) {
                table[usize::from(symbol)] = (code, shorter as u8 + 1);
                code += 1;
            }
            code <<= 1;
        }
        table
    }
}

/// The file of a picture: `pixels` returns red, green and blue by column and row. Sides are from 1 to 65,535.
pub(super) fn encode(
    width: u16,
    height: u16,
    quality: u8,
    pixel: impl Fn(usize, usize) -> [u8; 3],
) -> Vec<u8> {
    let steps = [BRIGHTNESS, COLOR].map(|table| scaled(&table, quality));
    let mut file = vec![0xff, 0xd8];
    segment(&mut file, 0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    for (number, steps) in steps.iter().enumerate() {
        let mut content = vec![number as u8];
        content.extend(ZIGZAG.iter().map(|&place| steps[place] as u8));
        segment(&mut file, 0xdb, &content);
    }
    let [w, h] = [width, height].map(u16::to_be_bytes);
    let frame = [8, h[0], h[1], w[0], w[1], 3, 1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1];
    segment(&mut file, 0xc0, &frame);
    for (class, tables) in [&FIRST, &OTHERS].into_iter().enumerate() {
        for (number, codes) in tables.iter().enumerate() {
            let mut content = vec![(class << 4 | number) as u8];
            content.extend(codes.lengths);
            content.extend(codes.symbols);
            segment(&mut file, 0xc4, &content);
        }
    }
    segment(&mut file, 0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]);

    let tables = [0, 1].map(|number| (FIRST[number].by_symbol(), OTHERS[number].by_symbol()));
    let waves = waves();
    let mut bits = Bits { file, waiting: 0, count: 0 };
    let mut before = [0i32; 3];
    let (width, height) = (usize::from(width), usize::from(height));
    for top in (0..height).step_by(8) {
        for left in (0..width).step_by(8) {
            // Beyond the edge, the last column and row repeat.
            let pixels: [[f32; 3]; 64] = std::array::from_fn(|place| {
                let (x, y) = ((left + place % 8).min(width - 1), (top + place / 8).min(height - 1));
                pixel(x, y).map(f32::from)
            });
            let blocks: [[f32; 64]; 3] = [
                pixels.map(|[r, g, b]| 0.299 * r + 0.587 * g + 0.114 * b - 128.0),
                pixels.map(|[r, g, b]| -0.168_736 * r - 0.331_264 * g + 0.5 * b),
                pixels.map(|[r, g, b]| 0.5 * r - 0.418_688 * g - 0.081_312 * b),
            ];
            for (component, block) in blocks.iter().enumerate() {
                let kind = component.min(1);
                let levels = levels(block, &waves, &steps[kind]);
                bits.block(&levels, &mut before[component], &tables[kind]);
            }
        }
    }
    bits.finish()
}

fn segment(file: &mut Vec<u8>, marker: u8, content: &[u8]) {
    file.extend([0xff, marker]);
    file.extend((content.len() as u16 + 2).to_be_bytes());
    file.extend(content);
}

/// Quantisation for a quality from 1 to 100, by the usual rule.
fn scaled(table: &[u16; 64], quality: u8) -> [u16; 64] {
    let quality = u32::from(quality.clamp(1, 100));
    let percent = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    table.map(|step| ((u32::from(step) * percent + 50) / 100).clamp(1, 255) as u16)
}

/// Cosines by frequency and position, scaled so that the transform preserves lengths.
fn waves() -> [[f32; 8]; 8] {
    let mut waves = [[0.0; 8]; 8];
    for (frequency, wave) in waves.iter_mut().enumerate() {
        let scale = if frequency == 0 { 0.125f64.sqrt() } else { 0.5 };
        for (place, value) in wave.iter_mut().enumerate() {
            let angle = (2 * place + 1) as f64 * frequency as f64 * std::f64::consts::PI / 16.0;
            *value = (scale * angle.cos()) as f32;
        }
    }
    waves
}

/// The block's quantised frequencies, in zigzag order.
fn levels(block: &[f32; 64], waves: &[[f32; 8]; 8], steps: &[u16; 64]) -> [i32; 64] {
    let mut half = [0.0f32; 64];
    for row in 0..8 {
        for (frequency, wave) in waves.iter().enumerate() {
            half[row * 8 + frequency] = (0..8).map(|place| block[row * 8 + place] * wave[place]).sum();
        }
    }
    let mut whole = [0.0f32; 64];
    for (frequency, wave) in waves.iter().enumerate() {
        for column in 0..8 {
            whole[frequency * 8 + column] = (0..8).map(|place| half[place * 8 + column] * wave[place]).sum();
        }
    }
    ZIGZAG.map(|place| (whole[place] / f32::from(steps[place])).round() as i32)
}

/// The compressed part of a file under construction.
struct Bits {
    file: Vec<u8>,
    waiting: u32,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u32, length: u8) {
        self.waiting = (self.waiting << length) | value;
        self.count += u32::from(length);
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.waiting >> self.count) as u8;
            self.file.push(byte);
            // A zero follows, so that it is not taken for a marker.
            if byte == 0xff {
                self.file.push(0);
            }
        }
        self.waiting &= (1 << self.count) - 1;
    }

    fn code(&mut self, (code, length): (u16, u8)) {
        self.put(u32::from(code), length);
    }

    /// The bits of a number of known length: negative ones less one.
    fn number(&mut self, value: i32, size: u8) {
        let bits = if value < 0 { value - 1 } else { value } as u32;
        self.put(bits & ((1 << size) - 1), size);
    }

    fn block(&mut self, levels: &[i32; 64], before: &mut i32, tables: &(BySymbol, BySymbol)) {
        let size = |value: i32| (32 - value.unsigned_abs().leading_zeros()) as u8;
        let change = levels[0] - std::mem::replace(before, levels[0]);
        self.code(tables.0[usize::from(size(change))]);
        self.number(change, size(change));
        let mut zeros = 0;
        for &level in &levels[1..] {
            if level == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 {
                self.code(tables.1[0xf0]);
                zeros -= 16;
            }
            self.code(tables.1[zeros << 4 | usize::from(size(level))]);
            self.number(level, size(level));
            zeros = 0;
        }
        if zeros > 0 {
            self.code(tables.1[0]);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.put(0x7f, 7);
        self.file.extend([0xff, 0xd9]);
        self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent check: another decoder restores the colours, even if sides are not multiples of a block.
    #[test]
    fn another_decoder_gives_the_colours_back() {
        for (width, height) in [(1, 1), (8, 8), (37, 21), (64, 9)] {
            // Smooth in all three colours, from dark to bright.
            let color = |x: usize, y: usize| [(x * 4) as u8, (y * 10) as u8, (255 - x * 2 - y) as u8];
            let file = encode(width, height, 95, color);
            let mut decoder =
                zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(&file));
            let pixels = decoder.decode().unwrap();
            assert_eq!(decoder.dimensions(), Some((usize::from(width), usize::from(height))));
            for (at, found) in pixels.chunks(3).enumerate() {
                let expected = color(at % usize::from(width), at / usize::from(width));
                let far = found.iter().zip(expected).map(|(a, b)| a.abs_diff(b)).max();
                assert!(far <= Some(8), "{width}x{height} {at}: {found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn sharp_edges_survive_every_quality() {
        let color =
            |x: usize, y: usize| if (x / 3 + y / 5).is_multiple_of(2) { [255, 255, 255] } else { [0, 0, 40] };
        for quality in [1, 50, 93, 100] {
            let file = encode(40, 30, quality, color);
            let mut decoder =
                zune_jpeg::JpegDecoder::new(zune_jpeg::zune_core::bytestream::ZCursor::new(&file));
            assert_eq!(decoder.decode().unwrap().len(), 40 * 30 * 3);
        }
    }
}
