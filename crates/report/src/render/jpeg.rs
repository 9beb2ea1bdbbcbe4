//! JPEG files (baseline, all colour kept), as ITU-T T.81 describes them.

use std::f32::consts::PI;

/// Steps in which brightness and colour are kept, by frequency: T.81's examples, made finer for lines and letters.
#[rustfmt::skip]
const LUMINANCE: [u8; 64] = [
    16, 11, 10, 16,  24,  40,  51,  61,
    12, 12, 14, 19,  26,  58,  60,  55,
    14, 13, 16, 24,  40,  57,  69,  56,
    14, 17, 22, 29,  51,  87,  80,  62,
    18, 22, 37, 56,  68, 109, 103,  77,
    24, 35, 55, 64,  81, 104, 113,  92,
    49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103,  99,
];
#[rustfmt::skip]
const CHROMINANCE: [u8; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99,
    18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99,
];
/// Part of T.81's steps that is used, in percent: about the quality that others call 93.
const STEP_PCT: u32 = 14;

/// Place of each coefficient in the order of rising frequency.
#[rustfmt::skip]
const ZIGZAG: [usize; 64] = [
     0,  1,  8, 16,  9,  2,  3, 10, 17, 24, 32, 25, 18, 11,  4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,  6,  7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// A Huffman table of T.81, annex K: how many codes of each length, and what they stand for.
struct Huffman {
    counts: [u8; 16],
    symbols: &'static [u8],
}

const DC: Huffman = Huffman {
    counts: [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0],
    symbols: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
};
#[rustfmt::skip]
const AC: Huffman = Huffman {
    counts: [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 0x7d],
    symbols: &[
        0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71,
        0x14, 0x32, 0x81, 0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24, 0x33, 0x62, 0x72,
        0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37,
        0x38, 0x39, 0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59,
        0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83,
        0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0xa2, 0xa3,
        0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3,
        0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda, 0xe1, 0xe2,
        0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa,
    ],
};

impl Huffman {
    /// (code, length) by symbol.
    fn codes(&self) -> [(u16, u8); 256] {
        let mut codes = [(0, 0); 256];
        let (mut code, mut next) = (0u16, 0);
        for (length, &count) in self.counts.iter().enumerate() {
            for _ in 0..count {
                codes[self.symbols[next] as usize] = (code, length as u8 + 1);
                code += 1;
                next += 1;
            }
            code <<= 1;
        }
        codes
    }
}

/// Pixels, row by row, as a JPEG file. Neither side may be longer than 65,535.
pub fn encode(width: usize, height: usize, pixels: &[[u8; 3]]) -> Vec<u8> {
    let steps = [scaled(&LUMINANCE), scaled(&CHROMINANCE)];
    let mut file = Vec::new();
    header(&mut file, width, height, &steps);
    let mut bits = Bits { file, held: 0, count: 0 };
    let (dc, ac, cosines) = (DC.codes(), AC.codes(), cosines());
    let mut last = [0i32; 3];
    for top in (0..height).step_by(8) {
        for left in (0..width).step_by(8) {
            let blocks = blocks(width, height, pixels, left, top);
            for (channel, block) in blocks.iter().enumerate() {
                let frequencies = transform(block, &cosines);
                let steps = &steps[channel.min(1)];
                let kept = ZIGZAG.map(|place| (frequencies[place] / f32::from(steps[place])).round() as i32);
                bits.block(&kept, &mut last[channel], &dc, &ac);
            }
        }
    }
    bits.finish()
}

fn scaled(steps: &[u8; 64]) -> [u8; 64] {
    steps.map(|step| ((u32::from(step) * STEP_PCT + 50) / 100).clamp(1, 255) as u8)
}

fn header(file: &mut Vec<u8>, width: usize, height: usize, steps: &[[u8; 64]; 2]) {
    let segment = |file: &mut Vec<u8>, marker: u8, body: &[u8]| {
        file.extend([0xff, marker]);
        file.extend((body.len() as u16 + 2).to_be_bytes());
        file.extend(body);
    };
    file.extend([0xff, 0xd8]);
    segment(file, 0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    for (number, steps) in steps.iter().enumerate() {
        let body: Vec<u8> = [number as u8].into_iter().chain(ZIGZAG.map(|place| steps[place])).collect();
        segment(file, 0xdb, &body);
    }
    let [w, h] = [width as u16, height as u16].map(u16::to_be_bytes);
    // Eight bits, three channels, none of them thinned out; colour uses the second table of steps.
    segment(file, 0xc0, &[8, h[0], h[1], w[0], w[1], 3, 1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1]);
    for (class, table) in [(0x00, &DC), (0x10, &AC)] {
        let body: Vec<u8> =
            [class].into_iter().chain(table.counts).chain(table.symbols.iter().copied()).collect();
        segment(file, 0xc4, &body);
    }
    segment(file, 0xda, &[3, 1, 0, 2, 0, 3, 0, 0, 63, 0]);
}

/// Brightness and the two colour channels of 8 × 8 pixels; the picture's edge is repeated beyond it.
fn blocks(width: usize, height: usize, pixels: &[[u8; 3]], left: usize, top: usize) -> [[f32; 64]; 3] {
    let mut blocks = [[0f32; 64]; 3];
    for place in 0..64 {
        let (x, y) = ((left + place % 8).min(width - 1), (top + place / 8).min(height - 1));
        let [r, g, b] = pixels[y * width + x].map(f32::from);
        blocks[0][place] = 0.299 * r + 0.587 * g + 0.114 * b - 128.0;
        blocks[1][place] = -0.168_736 * r - 0.331_264 * g + 0.5 * b;
        blocks[2][place] = 0.5 * r - 0.418_688 * g - 0.081_312 * b;
    }
    blocks
}

/// By frequency, then by place.
fn cosines() -> [[f32; 8]; 8] {
    let mut table = [[0f32; 8]; 8];
    for (frequency, row) in table.iter_mut().enumerate() {
        let norm = if frequency == 0 { (0.125f32).sqrt() } else { 0.5 };
        for (place, value) in row.iter_mut().enumerate() {
            *value = norm * ((2 * place + 1) as f32 * frequency as f32 * PI / 16.0).cos();
        }
    }
    table
}

fn transform(block: &[f32; 64], cosines: &[[f32; 8]; 8]) -> [f32; 64] {
    let mut rows = [0f32; 64];
    for y in 0..8 {
        for u in 0..8 {
            rows[y * 8 + u] = (0..8).map(|x| block[y * 8 + x] * cosines[u][x]).sum();
        }
    }
    let mut all = [0f32; 64];
    for v in 0..8 {
        for u in 0..8 {
            all[v * 8 + u] = (0..8).map(|y| rows[y * 8 + u] * cosines[v][y]).sum();
        }
    }
    all
}

/// Codes of any length, put together to bytes.
struct Bits {
    file: Vec<u8>,
    held: u32,
    count: u32,
}

impl Bits {
    fn push(&mut self, (code, length): (u16, u8)) {
        self.held = self.held << length | u32::from(code);
        self.count += u32::from(length);
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.held >> self.count) as u8;
            self.file.push(byte);
            if byte == 0xff {
                self.file.push(0);
            }
        }
        self.held &= (1 << self.count) - 1;
    }

    /// A number as T.81 writes it: its length was told, negative ones are one less in two's complement.
    fn number(&mut self, value: i32, length: u8) {
        let bits = if value < 0 { value - 1 } else { value };
        self.push(((bits & ((1 << length) - 1)) as u16, length));
    }

    fn block(&mut self, kept: &[i32; 64], last: &mut i32, dc: &[(u16, u8); 256], ac: &[(u16, u8); 256]) {
        let length = |value: i32| (32 - value.unsigned_abs().leading_zeros()) as u8;
        let change = kept[0] - *last;
        *last = kept[0];
        self.push(dc[length(change) as usize]);
        self.number(change, length(change));
        let mut zeros = 0;
        for &value in &kept[1..] {
            if value == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 {
                self.push(ac[0xf0]);
                zeros -= 16;
            }
            self.push(ac[zeros << 4 | length(value) as usize]);
            self.number(value, length(value));
            zeros = 0;
        }
        if zeros > 0 {
            self.push(ac[0]);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            let rest = 8 - self.count as u8;
            self.push(((1 << rest) - 1, rest));
        }
        self.file.extend([0xff, 0xd9]);
        self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_sees_the_same_picture() {
        for (width, height) in [(1, 1), (8, 8), (33, 17), (100, 61)] {
            let color = |i: usize| {
                [(i * 7 % 256) as u8, (i / width * 3 % 256) as u8, if i % 50 < 25 { 250 } else { 5 }]
            };
            let pixels: Vec<[u8; 3]> = (0..width * height).map(color).collect();
            let file = encode(width, height, &pixels);
            let mut decoder = zune_jpeg::JpegDecoder::new(std::io::Cursor::new(&file));
            let seen = decoder.decode().expect("a JPEG file");
            assert_eq!(decoder.dimensions(), Some((width, height)));
            let error: u64 =
                seen.iter().zip(pixels.iter().flatten()).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
            let mean = error as f64 / seen.len() as f64;
            assert!(mean < 30.0, "{width} × {height}: {mean:.1}");
        }
    }
}
