//! Categories of host calls, with the names of AMD's own timelines.

/// Categories in AMD's own Perfetto and OTF2 output, by the prefix of the source's.
const CATEGORIES: [(&str, &str); 8] = [
    ("HIP_", "hip_api"),
    ("HSA_", "hsa_api"),
    ("MARKER_", "marker_api"),
    ("RCCL_", "rccl_api"),
    ("ROCDECODE_", "rocdecode_api"),
    ("ROCJPEG_", "rocjpeg_api"),
    ("OMPT", "openmp"),
    ("", "none"),
];

/// The category in AMD's tools; the source's own name if they have none.
pub(crate) fn category_name(own: &str) -> &str {
    let fits = |begins: &str| if begins.is_empty() { own.is_empty() } else { own.starts_with(begins) };
    CATEGORIES.iter().find(|(begins, _)| fits(begins)).map_or(own, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_categories_are_translated_and_others_kept() {
        let names = ["HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "cpu_op", ""].map(category_name);
        assert_eq!(names, ["hip_api", "marker_api", "cpu_op", "none"]);
    }
}
