//! Keeps queries read-only: an authorizer allows only reads and changes to the session's temporary objects.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

/// The last refused action, in words, until it is taken.
#[derive(Clone, Default)]
pub(crate) struct Refused(Arc<Mutex<Option<String>>>);

impl Refused {
    /// The action refused since the last call.
    pub fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    fn set(&self, what: String) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(what);
    }
}

/// Pragmas that only report, with or without an argument.
const TELLING: &[&str] = &[
    "collation_list",
    "compile_options",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "pragma_list",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that only report if they have no argument.
const TELLING_WITHOUT_VALUE: &[&str] = &[
    "application_id",
    "cache_size",
    "data_version",
    "encoding",
    "freelist_count",
    "journal_mode",
    "mmap_size",
    "page_count",
    "page_size",
    "schema_version",
    "temp_store",
    "threads",
    "user_version",
];

/// Refuses everything that would change a database from now on.
pub(crate) fn install(connection: &mut Connection) -> rusqlite::Result<Refused> {
    let refused = Refused::default();
    let note = refused.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| match forbidden(&context) {
        Some(what) => {
            note.set(what);
            Authorization::Deny
        }
        None => Authorization::Allow,
    }))?;
    Ok(refused)
}

fn forbidden(context: &AuthContext<'_>) -> Option<String> {
    use AuthAction::*;
    let what = match context.action {
        Select | Read { .. } | Recursive | Transaction { .. } | Savepoint { .. } => return None,
        CreateTempTable { .. } | CreateTempView { .. } | CreateTempIndex { .. } => return None,
        DropTempTable { .. } | DropTempView { .. } | DropTempIndex { .. } => return None,
        Insert { .. } | Update { .. } | Delete { .. } | Reindex { .. }
            if context.database_name == Some("temp") =>
        {
            return None;
        }
        Function { function_name: "load_extension" } => "load_extension()",
        Function { .. } => return None,
        Pragma { pragma_name, pragma_value } => {
            let name = pragma_name.to_ascii_lowercase();
            let known = |list: &[&str]| list.contains(&name.as_str());
            if known(TELLING) || (pragma_value.is_none() && known(TELLING_WITHOUT_VALUE)) {
                return None;
            }
            return Some(format!("PRAGMA {pragma_name}"));
        }
        Insert { .. } => "INSERT",
        Update { .. } => "UPDATE",
        Delete { .. } => "DELETE",
        Attach { .. } => "ATTACH",
        Detach { .. } => "DETACH",
        AlterTable { .. } => "ALTER TABLE",
        Analyze { .. } => "ANALYZE",
        Reindex { .. } => "REINDEX",
        CreateVtable { .. } | DropVtable { .. } => "a virtual table",
        CreateTrigger { .. } | CreateTempTrigger { .. } | DropTrigger { .. } | DropTempTrigger { .. } => {
            "a trigger"
        }
        CreateTable { .. } | CreateView { .. } | CreateIndex { .. } => "CREATE without TEMP",
        DropTable { .. } | DropView { .. } | DropIndex { .. } => "DROP",
        _ => "this statement",
    };
    Some(what.to_string())
}
