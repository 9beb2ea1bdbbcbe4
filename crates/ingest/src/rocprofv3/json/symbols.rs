//! Kernel symbols by id. A program may have ten thousand and run a hundred: only those that ran are read,
//! unless all are requested.

use trace::{KernelSymbol, Map, StrId, SymbolId, Trace};

use super::Reader;
use super::record::{each, number};
use crate::json::{Cursor, Damage, Text};

/// Where each symbol is, and those already read.
#[derive(Default)]
pub(super) struct Symbols<'a> {
    places: Map<i64, &'a [u8]>,
    read: Map<i64, (SymbolId, StrId)>,
}

impl<'a> Symbols<'a> {
    /// Finds the symbols of a section; damaged ones are counted.
    pub fn read(section: &'a [u8], damaged: &mut u64) -> Self {
        let mut places = Map::default();
        *damaged += each(section, |json| {
            json.skip_whitespace();
            let start = json.pos();
            let mut keys = json.object()?;
            while let Some(key) = keys.next(json)? {
                if key.raw == b"kernel_id" {
                    let id = number(json)?;
                    json.skip_rest()?;
                    // Id zero means no kernel.
                    if let Some(id) = id.filter(|id| *id != 0) {
                        places.insert(id, &json.bytes()[start..json.pos()]);
                    }
                    return Ok(());
                }
                json.skip_value()?;
            }
            Ok(())
        });
        Self { places, read: Map::default() }
    }
}

impl Reader<'_, '_> {
    /// The symbol and the name of a kernel.
    #[inline]
    pub(super) fn symbol(&mut self, kernel: Option<i64>) -> (SymbolId, StrId) {
        let Some(id) = kernel else {
            self.lost.nameless += 1;
            return (SymbolId::NONE, StrId::EMPTY);
        };
        if let Some(known) = self.symbols.read.get(&id) {
            self.lost.nameless += u64::from(!known.0.is_some());
            return *known;
        }
        let new = match self.symbols.places.get(&id) {
            Some(bytes) => self.read_symbol(id, bytes),
            None => {
                self.lost.nameless += 1;
                (SymbolId::NONE, self.trace.strings.intern(&format!("kernel {id}")))
            }
        };
        self.symbols.read.insert(id, new);
        new
    }

    /// Reads the symbols without a dispatch.
    pub(super) fn all_symbols(&mut self) {
        let mut ids: Vec<i64> = self.symbols.places.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.symbol(Some(id));
        }
    }

    fn read_symbol(&mut self, id: i64, bytes: &[u8]) -> (SymbolId, StrId) {
        let mut names = Names::default();
        let mut symbol = KernelSymbol { process: self.process, id, ..KernelSymbol::default() };
        if fill(&mut Cursor::new(bytes), &mut symbol, &mut names).is_err() {
            self.lost.records += 1;
        }
        symbol.kernel_name = intern(self.trace, names.mangled);
        symbol.display_name =
            names.display().map_or(symbol.kernel_name, |name| intern(self.trace, Some(name)));
        let name = symbol.display_name;
        (self.trace.add_symbol(symbol), name)
    }
}

fn intern(trace: &mut Trace, text: Option<Text<'_>>) -> StrId {
    text.map_or(StrId::EMPTY, |text| trace.strings.intern(&text.text()))
}

#[derive(Default)]
struct Names<'a> {
    mangled: Option<Text<'a>>,
    formatted: Option<Text<'a>>,
    demangled: Option<Text<'a>>,
    truncated: Option<Text<'a>>,
}

impl<'a> Names<'a> {
    /// The name that the profiler was configured to show, as rocpd's display name; else the next best.
    fn display(&self) -> Option<Text<'a>> {
        [self.formatted, self.demangled, self.truncated]
            .into_iter()
            .flatten()
            .find(|name| !name.raw.is_empty())
    }
}

fn fill<'a>(json: &mut Cursor<'a>, symbol: &mut KernelSymbol, names: &mut Names<'a>) -> Result<(), Damage> {
    let mut keys = json.object()?;
    while let Some(key) = keys.next(json)? {
        match key.raw {
            b"code_object_id" => symbol.code_object = number(json)?.into(),
            b"kernel_name" => names.mangled = Some(json.string()?),
            b"formatted_kernel_name" => names.formatted = Some(json.string()?),
            b"demangled_kernel_name" => names.demangled = Some(json.string()?),
            b"truncated_kernel_name" => names.truncated = Some(json.string()?),
            b"group_segment_size" => symbol.group_segment_bytes = number(json)?.into(),
            b"private_segment_size" => symbol.private_segment_bytes = number(json)?.into(),
            b"kernarg_segment_size" => symbol.kernarg_bytes = number(json)?.into(),
            b"sgpr_count" => symbol.sgpr = number(json)?.into(),
            b"arch_vgpr_count" => symbol.vgpr = number(json)?.into(),
            b"accum_vgpr_count" => symbol.agpr = number(json)?.into(),
            _ => json.skip_value()?,
        }
    }
    Ok(())
}
