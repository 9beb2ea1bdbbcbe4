//! The 64 bytes that tell the hardware how to start a kernel.

/// Bytes of a descriptor.
pub(super) const SIZE: usize = 64;

/// The fields of a descriptor, in the hardware's units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub lds_bytes: u32,
    pub scratch_bytes: u32,
    pub kernarg_bytes: u32,
    granulated_vgpr: u32,
    granulated_sgpr: u32,
    accum_offset: u32,
    wgp_mode: bool,
    wave32: bool,
    pub dynamic_stack: bool,
}

impl Descriptor {
    /// Reads a descriptor.
    pub fn read(bytes: &[u8; SIZE]) -> Descriptor {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (rsrc3, rsrc1) = (word(44), word(48));
        let properties = u32::from(u16::from_le_bytes([bytes[56], bytes[57]]));
        Descriptor {
            lds_bytes: word(0),
            scratch_bytes: word(4),
            kernarg_bytes: word(8),
            granulated_vgpr: rsrc1 & 0x3f,
            granulated_sgpr: rsrc1 >> 6 & 0xf,
            accum_offset: rsrc3 & 0x3f,
            wgp_mode: rsrc1 >> 29 & 1 == 1,
            wave32: properties >> 10 & 1 == 1,
            dynamic_stack: properties >> 11 & 1 == 1,
        }
    }

    /// Vector and accumulation registers as allocated.
    pub fn registers(&self, unified: bool, granule: u32) -> (u32, u32) {
        let total = (self.granulated_vgpr + 1) * granule;
        if !unified {
            return (total, 0);
        }
        let vector = ((self.accum_offset + 1) * 4).min(total);
        (vector, total - vector)
    }

    /// First accumulation register on chips with one file for both kinds.
    pub fn accumulation_starts(&self) -> u32 {
        (self.accum_offset + 1) * 4
    }

    /// Scalar registers as allocated, on chips that count them.
    pub fn scalar_registers(&self) -> u32 {
        (self.granulated_sgpr / 2 + 1) * 16
    }

    /// Lanes per wave on chips that have both sizes.
    pub fn wave_size(&self) -> u32 {
        if self.wave32 { 32 } else { 64 }
    }

    /// Whether a workgroup stays within one compute unit, on chips where it can use two.
    pub fn cu_mode(&self) -> bool {
        !self.wgp_mode
    }
}
