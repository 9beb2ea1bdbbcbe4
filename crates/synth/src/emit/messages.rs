//! What torch records about a collective: its group, sizes and number, on the op and on the kernel.

use trace::StrId;

use super::Emitter;
use crate::program::element_bytes;
use crate::ranks::GroupKind;
use crate::scenario::Tokens;

/// Longer lists are cut, as torch does.
const LISTED: usize = 30;

impl Emitter<'_> {
    /// The arguments of a collective of this rank.
    pub(super) fn message(&mut self, which: u32, sequence: u64) -> Vec<(&'static str, StrId)> {
        let mut args = match self.messages.get(&which) {
            Some(known) => known.clone(),
            None => {
                let texts = self.message_texts(which);
                let args: Vec<_> =
                    texts.into_iter().map(|(key, text)| (key, self.trace.strings.intern(&text))).collect();
                self.messages.insert(which, args.clone());
                args
            }
        };
        if self.program.recording.collective_numbers {
            args.push(("Seq", self.trace.strings.intern(&sequence.to_string())));
        }
        args
    }

    /// Everything but its number, as JSON.
    fn message_texts(&self, which: u32) -> Vec<(&'static str, String)> {
        let facts = &self.program.collectives[which as usize];
        let layout = &self.program.layout;
        let me = self.place.rank;
        let members = layout.members(facts.group, layout.index(facts.group, me));
        let element = element_bytes(&facts.dtype);
        let (sent, received) = facts.message(members.len() as u32, self.place.load);
        let (ins, outs) = self.splits(which, element);
        let stride = members.get(1).map_or(1, |second| second - members[0]);
        let mut texts = vec![
            ("Collective name", format!("\"{}\"", facts.operation)),
            ("dtype", format!("\"{}\"", facts.dtype)),
            ("In msg nelems", (sent / element).to_string()),
            ("Out msg nelems", (received / element).to_string()),
            ("In split size", quoted(&ins)),
            ("Out split size", quoted(&outs)),
            ("Global rank start", members[0].to_string()),
            ("Global rank stride", stride.to_string()),
            ("Group size", members.len().to_string()),
            (
                "Process Group Name",
                format!("\"{}\"", self.trace.strings.get(self.words.groups[facts.group as usize])),
            ),
            ("Process Group Description", format!("\"{}\"", facts.group.description())),
            ("Process Group Ranks", quoted(&members)),
        ];
        if let Some(peer) = facts.peer
            && let Some(other) = layout.neighbour(me, peer.next)
        {
            texts.push((if peer.send { "Dst Rank" } else { "Src Rank" }, other.to_string()));
        }
        texts
    }

    /// Elements to and from each rank of an exchange with experts; empty if all are equal.
    fn splits(&self, which: u32, element: u64) -> (Vec<u64>, Vec<u64>) {
        let facts = &self.program.collectives[which as usize];
        let Some(tokens) = facts.tokens.filter(|_| facts.group == GroupKind::Expert) else {
            return (Vec::new(), Vec::new());
        };
        let loads = &self.place.expert_loads;
        let share = facts.bytes as f64 / element as f64 / loads.len().max(1) as f64;
        let by_expert: Vec<u64> = loads.iter().map(|load| (share * load).round() as u64).collect();
        let mine = vec![(share * self.place.load).round() as u64; loads.len()];
        match tokens {
            Tokens::Dispatch => (by_expert, mine),
            Tokens::Combine => (mine, by_expert),
        }
    }
}

/// A list as a JSON string, cut in the middle when it is long.
fn quoted<T: ToString>(list: &[T]) -> String {
    let mut texts: Vec<String> = list.iter().map(T::to_string).collect();
    if texts.len() > LISTED {
        let last = texts.pop().unwrap_or_default();
        texts.truncate(LISTED - 1);
        texts.extend(["...".to_string(), last]);
    }
    format!("\"[{}]\"", texts.join(", "))
}
