//! Headers of the CSV set compared with the headers collected from rocprofv3 itself.

use rocm_perf_convert::rocprofv3::csv::{ColumnSet, header};

#[test]
fn headers_are_those_of_rocprofv3() {
    let Some(sheet) = testing::data("rocprofv3_csv_headers.tsv") else { return };
    let sheet = std::fs::read_to_string(sheet).unwrap();
    let mut checked = 0;
    for line in sheet.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, expected, producer] = fields[..] else { continue };
        let columns = match producer {
            p if p.starts_with("rocprofv3 (ROCm 7.0") => ColumnSet::Rocprofv3,
            p if p.starts_with("rocpd convert") => ColumnSet::Rocpd,
            p if p.starts_with("rocprofv3 (old") => ColumnSet::Older,
            _ => continue,
        };
        if let Some(header) = header(file.trim_end_matches(".csv"), columns) {
            assert_eq!(header, expected, "{file} of {producer}");
            checked += 1;
        }
    }
    assert!(checked >= 24, "{checked}");
}
