//! A client of the MCP server, as an agent sees it: a list of tools, and calls with text as answers.

use std::path::Path;

use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::RunningService;
use rmcp::{RoleClient, ServiceExt};
use serde_json::Value as Json;
use tokio::runtime::Runtime;

use crate::Error;

/// Bytes buffered between client and server.
const PIPE: usize = 1 << 16;

/// A connection to a server that reads one folder.
pub struct Session {
    runtime: Runtime,
    client: RunningService<RoleClient, ()>,
}

/// A tool as it is described to a model.
pub struct ToolFacts {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// Its arguments, as a JSON schema.
    pub schema: Json,
}

impl Session {
    /// Starts a server for a folder and connects to it; messages go through a pipe, as between processes.
    pub fn start(root: &Path) -> Result<Self, Error> {
        let options = mcp::Options { roots: vec![root.to_path_buf()], ..mcp::Options::default() };
        let server = options.server().map_err(|refusal| Error::Protocol(refusal.to_string()))?;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build()?;
        let failed = |error: &dyn std::fmt::Display| Error::Protocol(error.to_string());
        let client = runtime.block_on(async {
            let (ours, theirs) = tokio::io::duplex(PIPE);
            tokio::spawn(async move {
                if let Ok(running) = server.serve(theirs).await {
                    let _ = running.waiting().await;
                }
            });
            ().serve(ours).await.map_err(|error| failed(&error))
        })?;
        Ok(Self { runtime, client })
    }

    /// The tools that the server offers.
    pub fn tools(&self) -> Result<Vec<ToolFacts>, Error> {
        let tools = self.runtime.block_on(self.client.list_all_tools());
        let tools = tools.map_err(|error| Error::Protocol(error.to_string()))?;
        let facts = tools.into_iter().map(|tool| ToolFacts {
            name: tool.name.to_string(),
            about: tool.description.as_deref().unwrap_or_default().to_string(),
            schema: tool.schema_as_json_value(),
        });
        Ok(facts.collect())
    }

    /// Calls a tool; returns its text, or the text of its error.
    pub fn call(&self, tool: &str, arguments: JsonObject) -> Result<Result<String, String>, Error> {
        let request = CallToolRequestParams::new(tool.to_string()).with_arguments(arguments);
        let result = self.runtime.block_on(self.client.call_tool(request));
        let result = result.map_err(|error| Error::Protocol(error.to_string()))?;
        let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
        let text = texts.collect::<Vec<_>>().join("\n");
        Ok(if result.is_error == Some(true) { Err(text) } else { Ok(text) })
    }

    /// Calls a tool whose answer is JSON; an error of the tool is an error here.
    pub fn ask(&self, tool: &str, arguments: Json) -> Result<Json, Error> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let text = self.call(tool, arguments)?.map_err(Error::Tool)?;
        serde_json::from_str(&text).map_err(|error| Error::Protocol(format!("{tool}: {error}")))
    }
}
