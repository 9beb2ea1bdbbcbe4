//! Arguments of calls and events, as far as requested.

use crate::columns::{order_by, table};
use crate::ids::StrId;
use crate::links::RowRef;

table! {
    /// Arguments, sorted by owner, then position.
    Args of
    /// One argument.
    Arg {
        /// The row it belongs to.
        owner: RowRef,
        /// Its place among the owner's arguments.
        position: u32,
        /// C++ type, if the source has it.
        ty: StrId,
        /// Name or key.
        name: StrId,
        /// Value as text: JSON for torch, the printed value for rocpd.
        value: StrId,
    }
}

impl Args {
    /// Sorts by owner and position, which `of` relies on.
    pub fn sort(&mut self) {
        if let Some(order) = order_by(self.len(), |i| (self.owner[i], self.position[i])) {
            self.reorder(&order);
        }
    }

    /// The arguments of one row.
    pub fn of(&self, owner: RowRef) -> impl Iterator<Item = Arg> + '_ {
        let from = self.owner.partition_point(|&o| o < owner);
        let to = self.owner.partition_point(|&o| o <= owner);
        (from..to).map(|i| self.get(i))
    }

    /// The value of one argument.
    pub fn value(&self, owner: RowRef, name: StrId) -> Option<StrId> {
        self.of(owner).find(|arg| arg.name == name).map(|arg| arg.value)
    }
}
