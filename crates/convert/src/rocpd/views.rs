//! rocpd's own views as data: name and SELECT text, corrected so that no row is lost or multiplied.
//!
//! Names, columns, order and units are the vendor's, so that existing queries work unchanged. The texts (one file
//! each in `views/`) are ours: every join but the defining one is an outer join, so that a NULL event, thread, region
//! name or agent never loses a row, and every join matches the guid, so that equal ids in two databases never
//! multiply one.

use formats::rocpd::table;
use std::sync::OnceLock;

use super::versions::{CATEGORIES, has_category_table};

/// What one row of a view is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Rows of one database: the view of several databases is the union of their views.
    Rows,
    /// Totals over all databases.
    Totals,
}

/// One view.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Its name.
    pub name: &'static str,
    /// Whether it can be computed database by database.
    pub scope: Scope,
    /// Tables and columns of later schema revisions that the view requires.
    needs: &'static [(&'static str, &'static str)],
    text: &'static str,
}

macro_rules! views {
    ($($scope:ident $name:ident $(needs $($table:ident . $column:literal),+)?;)*) => {
        &[$(View {
            name: stringify!($name),
            scope: Scope::$scope,
            needs: &[$($((table::$table, $column)),+)?],
            text: include_str!(concat!("views/", stringify!($name), ".sql")),
        },)*]
    };
}

static VIEWS: &[View] = views! {
    Rows code_objects;
    Rows kernel_symbols;
    Rows processes;
    Rows threads;
    Rows pmc_info;
    Rows regions;
    Rows region_args;
    Rows samples;
    Rows sample_regions;
    Rows regions_and_samples;
    Rows markers;
    Rows events_args;
    Rows stream_args;
    Rows kernels;
    Rows pmc_events;
    Rows counters_collection;
    Rows memory_copies;
    Rows memory_allocations;
    Rows scratch_memory;
    Rows graph_launches needs GRAPH_LAUNCH."graph_exec_id";
    Rows hip_events needs HIP_EVENT."hip_event_handle";
    Rows spm_counters needs PMC_EVENT."sample_id";
    Totals top_kernels;
    Totals busy;
    Totals top;
    Totals kernel_summary;
    Totals kernel_summary_region;
    Totals memory_copy_summary;
    Totals memory_allocation_summary;
};

/// Every known view, in an order in which each only uses earlier ones.
pub fn known() -> &'static [View] {
    VIEWS
}

/// (view name, SELECT text) for tables of schema 3.0.0, in an order in which each only uses earlier ones.
pub fn all() -> &'static [(&'static str, &'static str)] {
    static ALL: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
    static BORROWED: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    BORROWED.get_or_init(|| {
        let views = ALL.get_or_init(|| for_schema(&|_, _| false));
        views.iter().map(|(name, select)| (*name, select.as_str())).collect()
    })
}

/// (view name, SELECT text) for tables of any revision: `later` says whether a table has a column that was
/// added after schema 3.0.0.
pub fn for_schema(later: &dyn Fn(&str, &str) -> bool) -> Vec<(&'static str, String)> {
    VIEWS.iter().filter_map(|view| Some((view.name, view.select(later)?))).collect()
}

impl View {
    /// The SELECT text for tables with the later columns for which `later` holds; `None` if required ones are
    /// missing.
    pub fn select(&self, later: &dyn Fn(&str, &str) -> bool) -> Option<String> {
        if !self.needs.iter().all(|(table, column)| later(table, column)) {
            return None;
        }
        let kept = self.text.lines().filter(|line| match line.split_once("-- needs ") {
            Some((_, column)) => column.trim().split_once('.').is_some_and(|(t, c)| later(t, c)),
            None => true,
        });
        let text = kept.collect::<Vec<_>>().join("\n");
        Some(match has_category_table(later) {
            true => text.replace("JOIN rocpd_string C ", &format!("JOIN {CATEGORIES} C ")),
            false => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocpd::schema;

    /// The vendor's columns, in order.
    const COLUMNS: &[(&str, &str)] = &[
        (
            "code_objects",
            "id guid nid pid agent_abs_index uri load_base load_size load_delta storage_type_str code_object_size \
             storage_type memory_base memory_size",
        ),
        (
            "kernel_symbols",
            "id guid nid pid code_object_id kernel_name display_name kernel_object kernarg_segment_size \
             kernarg_segment_alignment group_segment_size private_segment_size sgpr_count arch_vgpr_count \
             accum_vgpr_count kernel_symbol_size kernel_id kernel_code_entry_byte_offset formatted_kernel_name \
             demangled_kernel_name truncated_kernel_name kernel_address",
        ),
        (
            "processes",
            "nid machine_id system_name hostname system_release system_version guid ppid pid init start end fini \
             command",
        ),
        (
            "threads",
            "nid machine_id system_name hostname system_release system_version guid ppid pid tid start end name",
        ),
        (
            "pmc_info",
            "id guid nid pid agent_abs_index is_constant is_derived name description block expression",
        ),
        ("regions", REGION_COLUMNS),
        ("region_args", "id guid nid pid type name value"),
        (
            "samples",
            "id guid category name nid pid tid timestamp event_id stack_id parent_stack_id corr_id extdata \
             call_stack line_info",
        ),
        ("sample_regions", REGION_COLUMNS),
        ("regions_and_samples", REGION_COLUMNS),
        (
            "events_args",
            "event_id category stack_id parent_stack_id correlation_id arg_position arg_type arg_name arg_value \
             call_stack line_info extdata",
        ),
        (
            "stream_args",
            "argument_id event_id arg_position arg_type arg_value stream_id nid pid stream_name extdata",
        ),
        (
            "kernels",
            "id guid tid category region name nid pid agent_abs_index agent_log_index agent_type_index agent_type \
             code_object_id kernel_id dispatch_id stream_id queue_id queue stream start end duration grid_x grid_y \
             grid_z workgroup_x workgroup_y workgroup_z lds_size scratch_size vgpr_count accum_vgpr_count sgpr_count \
             static_lds_size static_scratch_size stack_id parent_stack_id corr_id",
        ),
        (
            "pmc_events",
            "id guid pmc_id event_id category name nid pid dispatch_id start end duration counter_name \
             counter_value",
        ),
        (
            "counters_collection",
            "id guid dispatch_id kernel_id event_id correlation_id stack_id parent_stack_id pid tid agent_id \
             agent_abs_index agent_log_index agent_type_index agent_type queue_id grid_size_x grid_size_y grid_size_z \
             grid_size kernel_name kernel_region workgroup_size_x workgroup_size_y workgroup_size_z workgroup_size \
             lds_block_size scratch_size vgpr_count accum_vgpr_count sgpr_count counter_name counter_symbol component \
             description block expression value_type counter_id value start end is_constant is_derived duration \
             category nid extdata code_object_id",
        ),
        (
            "memory_copies",
            "id guid category nid pid tid start end duration name region_name stream_id queue_id stream_name \
             queue_name size dst_device dst_agent_abs_index dst_agent_log_index dst_agent_type_index dst_agent_type \
             dst_address src_device src_agent_abs_index src_agent_log_index src_agent_type_index src_agent_type \
             src_address stack_id parent_stack_id corr_id",
        ),
        (
            "memory_allocations",
            "id guid category nid pid tid start end duration type level agent_name agent_abs_index agent_log_index \
             agent_type_index agent_type address size queue_id queue_name stream_id stream_name stack_id \
             parent_stack_id corr_id",
        ),
        (
            "scratch_memory",
            "id guid nid pid operation agent_name agent_abs_index agent_log_index agent_type_index agent_type queue_id \
             tid alloc_flags start end duration size address correlation_id stack_id parent_stack_id corr_id category \
             event_extdata",
        ),
        ("top_kernels", "name total_calls total_duration average percentage"),
        ("busy", "agent_id type GpuTime WallTime Busy"),
        ("top", "name total_calls total_duration average percentage"),
    ];

    const REGION_COLUMNS: &str = "id guid category name nid pid tid start end duration event_id stack_id \
                                  parent_stack_id corr_id extdata call_stack line_info";

    /// The columns of schema 3.0.0 that views use, without types: enough to prepare every view.
    const TABLES: &[(&str, &str)] = &[
        ("rocpd_string", "string"),
        ("rocpd_info_node", "machine_id, system_name, hostname, release, version"),
        ("rocpd_info_process", "nid, ppid, pid, init, fini, start, \"end\", command"),
        ("rocpd_info_thread", "nid, ppid, pid, tid, name, start, \"end\""),
        ("rocpd_info_agent", "type, absolute_index, logical_index, type_index, name"),
        ("rocpd_info_queue", "nid, pid, name"),
        ("rocpd_info_stream", "nid, pid, name"),
        (
            "rocpd_info_pmc",
            "nid, pid, agent_id, name, symbol, description, component, value_type, block, expression, is_constant, \
             is_derived",
        ),
        (
            "rocpd_info_code_object",
            "nid, pid, agent_id, uri, load_base, load_size, load_delta, storage_type, extdata",
        ),
        (
            "rocpd_info_kernel_symbol",
            "nid, pid, code_object_id, kernel_name, display_name, kernel_object, kernarg_segment_size, \
             kernarg_segment_alignment, group_segment_size, private_segment_size, sgpr_count, arch_vgpr_count, \
             accum_vgpr_count, extdata",
        ),
        ("rocpd_track", "nid, pid, tid, name_id"),
        (
            "rocpd_event",
            "category_id, stack_id, parent_stack_id, correlation_id, call_stack, line_info, extdata",
        ),
        ("rocpd_arg", "event_id, position, type, name, value, extdata"),
        ("rocpd_pmc_event", "event_id, pmc_id, value"),
        ("rocpd_region", "nid, pid, tid, start, \"end\", name_id, event_id"),
        ("rocpd_sample", "track_id, timestamp, event_id"),
        (
            "rocpd_kernel_dispatch",
            "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", \
             private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, \
             grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id",
        ),
        (
            "rocpd_memory_copy",
            "nid, pid, tid, start, \"end\", name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, \
             queue_id, stream_id, region_name_id, event_id",
        ),
        (
            "rocpd_memory_allocate",
            "nid, pid, tid, agent_id, type, level, start, \"end\", address, size, queue_id, stream_id, event_id, \
             extdata",
        ),
    ];

    fn database() -> rusqlite::Connection {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        for (table, columns) in TABLES {
            db.execute_batch(&format!("CREATE TABLE {table}(id INTEGER PRIMARY KEY, guid, {columns})"))
                .unwrap();
        }
        for (name, select) in all() {
            db.execute_batch(&format!("CREATE VIEW {name} AS {select}")).unwrap();
        }
        db
    }

    #[test]
    fn every_view_has_the_vendors_columns_in_order() {
        let db = database();
        for (view, columns) in COLUMNS {
            let statement =
                db.prepare(&format!("SELECT * FROM {view}")).unwrap_or_else(|e| panic!("{view}: {e}"));
            let expected: Vec<&str> = columns.split_whitespace().collect();
            assert_eq!(statement.column_names().collect::<Vec<_>>(), expected, "{view}");
        }
        for (name, _) in all() {
            db.prepare(&format!("SELECT * FROM {name}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    #[test]
    fn views_of_later_revisions_need_their_tables() {
        assert!(all().iter().all(|(name, text)| *name != "graph_launches" && !text.contains("-- needs")));
        let newer = for_schema(&schema::newest_has);
        assert_eq!(newer.len(), known().len());
        let counters = newer.iter().find(|(name, _)| *name == "counters_collection").unwrap();
        assert!(counters.1.contains("sample_id IS NULL"));
    }

    #[test]
    fn a_dispatch_with_nulls_is_kept_and_equal_ids_multiply_nothing() {
        let db = database();
        for guid in ["a", "b"] {
            // Ids in the test's tables are unique across guids, unlike in the union of two databases.
            let first = if guid == "a" { 0 } else { 100 };
            db.execute(
                "INSERT INTO rocpd_kernel_dispatch(id, guid, nid, pid, start, \"end\") VALUES(?1, ?2, 1, 7, 10, 15)",
                (first + 1, guid),
            )
            .unwrap();
            db.execute(
                "INSERT INTO rocpd_info_thread(id, guid, nid, pid, tid) VALUES(?1, ?2, 1, 7, 7)",
                (first + 7, guid),
            )
            .unwrap();
            db.execute(
                "INSERT INTO rocpd_info_process(id, guid, nid, pid) VALUES(?1, ?2, 1, 7)",
                (first + 7, guid),
            )
            .unwrap();
        }
        let count = |view: &str| {
            db.query_row(&format!("SELECT count(*) FROM {view}"), [], |r| r.get::<_, i64>(0)).unwrap()
        };
        assert_eq!(count("kernels"), 2);
        assert_eq!(count("threads"), 2);
        assert_eq!(count("top_kernels"), 1);
        let percent: f64 = db.query_row("SELECT sum(percentage) FROM top", [], |r| r.get(0)).unwrap();
        assert_eq!(percent, 100.0);
    }

    #[test]
    fn spread_is_the_sample_deviation() {
        let db = database();
        db.execute_batch(
            "INSERT INTO rocpd_info_kernel_symbol(id, guid, display_name) VALUES (1, 'a', 'k'), (2, 'a', 'once');
             INSERT INTO rocpd_kernel_dispatch(guid, kernel_id, start, \"end\")
                VALUES ('a', 1, 0, 2), ('a', 1, 0, 4), ('a', 1, 0, 9), ('a', 2, 5, 6);",
        )
        .unwrap();
        let row = |name: &str| {
            db.query_row(
                "SELECT calls, \"DURATION (nsec)\", \"VARIANCE\", \"STD_DEV\" FROM kernel_summary WHERE name = ?1",
                [name],
                |r| {
                    Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?, r.get::<_, Option<f64>>(2)?, r.get::<_, Option<f64>>(3)?))
                },
            )
            .unwrap()
        };
        let (calls, total, variance, deviation) = row("k");
        assert_eq!((calls, total), (3, 15));
        assert!((variance.unwrap() - 13.0).abs() < 1e-9);
        assert!((deviation.unwrap() - 13f64.sqrt()).abs() < 1e-9);
        assert_eq!(row("once"), (1, 1, None, None));
    }
}
