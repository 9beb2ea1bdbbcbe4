//! What an interrupt of the user does.

/// What is to be done after an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// A collection stops its application, keeps what is there and ends by itself.
    EndsByItself,
    /// Everything was put away: the process can end.
    CanEnd,
}

/// Stops what runs: applications, profiles of servers; removes files that are not whole.
pub fn interrupt() -> Interrupted {
    if files::interrupt::interrupt() {
        return Interrupted::EndsByItself;
    }
    collect::capture::stop_running_profiles();
    // The other threads have gone on writing meanwhile.
    files::remove_partial_files();
    Interrupted::CanEnd
}
