//! What a user's interrupt does.

/// What to do after an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// A collection stops its application, keeps what was recorded and ends on its own.
    EndsByItself,
    /// Everything is cleaned up: the process can exit.
    CanEnd,
}

/// Stops running applications and server profiles; removes incomplete files.
pub fn interrupt() -> Interrupted {
    if files::interrupt::interrupt() {
        return Interrupted::EndsByItself;
    }
    collect::capture::stop_running_profiles();
    // Other threads may have written more meanwhile.
    files::remove_partial_files();
    Interrupted::CanEnd
}
