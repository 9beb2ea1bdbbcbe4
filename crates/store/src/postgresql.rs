//! The store on a PostgreSQL server. Without TLS: reach other machines through a tunnel or a private network.

use std::collections::HashMap;

use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, NoTls, Statement};

use crate::database::{Cell, Database, Row};
use crate::error::StoreError;

/// Number of the lock that is held while tables are prepared.
const SCHEMA_LOCK: i64 = 0x726f_636d_7065_7266;

/// Statements that are kept prepared; most texts are constant.
const MOST_STATEMENTS: usize = 200;

/// A connection that is restored when it is lost.
pub struct PostgreSql {
    client: Client,
    url: String,
    prepared: HashMap<String, Statement>,
    /// Whether a transaction is open. A connection lost then stays lost: a new one would run only the rest.
    in_transaction: bool,
}

impl PostgreSql {
    /// Connects.
    pub fn connect(url: &str) -> Result<Self, StoreError> {
        Ok(Self {
            client: client(url)?,
            url: url.to_string(),
            prepared: HashMap::new(),
            in_transaction: false,
        })
    }

    /// Reconnects if the connection was lost.
    fn ensure(&mut self) -> Result<(), StoreError> {
        if self.client.is_closed() && !self.in_transaction {
            self.connect_again()?;
        }
        Ok(())
    }

    fn connect_again(&mut self) -> Result<(), StoreError> {
        self.client = client(&self.url)?;
        self.prepared.clear();
        Ok(())
    }

    /// Whether to repeat a statement on a new connection: a server restart only shows on the next statement.
    fn may_repeat(&self, error: &postgres::Error) -> bool {
        !self.in_transaction && (is_lost(error) || self.client.is_closed())
    }

    fn ask(&mut self, sql: &str, values: &[Cell]) -> Result<Vec<postgres::Row>, postgres::Error> {
        let statement = self.prepared(sql)?;
        let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|cell| cell as _).collect();
        self.client.query(&statement, &values)
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        if self.prepared.len() >= MOST_STATEMENTS {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_string(), statement.clone());
        Ok(statement)
    }
}

/// Whether a connection is lost, or about to be.
pub(crate) fn is_lost(error: &postgres::Error) -> bool {
    // A shutdown, a crash, and a server that does not yet accept connections.
    const ENDING: [&str; 3] = ["57P01", "57P02", "57P03"];
    error.is_closed() || error.code().is_some_and(|code| ENDING.contains(&code.code()))
}

fn client(url: &str) -> Result<Client, StoreError> {
    let unreachable = |error: postgres::Error| {
        // The outer message says only that connecting failed.
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), |why| why.to_string());
        StoreError::Unreachable(why)
    };
    Client::connect(url, NoTls).map_err(unreachable)
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Int(number) if *kind == Type::FLOAT8 => (*number as f64).to_sql(kind, out),
            Cell::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Cell::Int(number) => number.to_sql(kind, out),
            Cell::Real(number) => number.to_sql(kind, out),
            // PostgreSQL's text type cannot hold NUL.
            Cell::Text(text) => text.replace('\0', "\u{fffd}").to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn cell(row: &postgres::Row, at: usize) -> Result<Cell, postgres::Error> {
    let kind = row.columns()[at].type_();
    Ok(match *kind {
        Type::INT4 => row.try_get::<_, Option<i32>>(at)?.map(i64::from).into(),
        Type::INT8 => row.try_get::<_, Option<i64>>(at)?.into(),
        Type::FLOAT8 => row.try_get::<_, Option<f64>>(at)?.into(),
        _ => row.try_get::<_, Option<&str>>(at)?.into(),
    })
}

impl Database for PostgreSql {
    fn query(&mut self, sql: &str, values: &[Cell]) -> Result<Vec<Row>, StoreError> {
        self.ensure()?;
        let found = match self.ask(sql, values) {
            // A statement that only reads has not changed anything yet.
            Err(error) if self.may_repeat(&error) && sql.starts_with("SELECT") => {
                self.connect_again()?;
                self.ask(sql, values)?
            }
            other => other?,
        };
        let rows = found.iter().map(|row| (0..row.len()).map(|at| cell(row, at)).collect());
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        Ok(self.client.batch_execute(sql)?)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        self.ensure()?;
        match self.client.batch_execute("BEGIN") {
            Err(error) if self.may_repeat(&error) => {
                self.connect_again()?;
                self.batch("BEGIN")?;
            }
            other => other?,
        }
        self.in_transaction = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.in_transaction = false;
        self.batch("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), StoreError> {
        self.in_transaction = false;
        self.batch("ROLLBACK")
    }

    fn identity(&self) -> &'static str {
        "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
    }

    fn has_table(&mut self, name: &str) -> Result<bool, StoreError> {
        let sql = "SELECT table_name FROM information_schema.tables \
                   WHERE table_schema = current_schema() AND table_name = $1";
        Ok(!self.query(sql, &[name.into()])?.is_empty())
    }

    fn lock_schema(&mut self) -> Result<(), StoreError> {
        self.batch(&format!("SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"))
    }

    fn backup(&mut self, version: i64, tables: &[&str]) -> Result<(), StoreError> {
        let place = format!("rocm_perf_backup_v{version}");
        let mut sql = format!("DROP SCHEMA IF EXISTS {place} CASCADE; CREATE SCHEMA {place};");
        for table in tables {
            sql.push_str(&format!("CREATE TABLE {place}.{table} AS TABLE {table};"));
        }
        self.batch(&sql)
    }
}
