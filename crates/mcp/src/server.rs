//! The protocol side: turns requests into calls, and refusals into tool errors.

use std::sync::Arc;

use app::Observer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Role, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::calls::{self, Call};
use crate::desk::Desk;
use crate::prompts::PROMPTS;
use crate::refusal::Refusal;
use crate::resources;
use crate::tools::TOOLS;

const INSTRUCTIONS: &str = "rocm-perf reads traces of AMD GPUs (rocpd, torch, rocprofv3, Perfetto, JAX) and says what is \
slow and why. Call open_trace first; every other tool takes the handle it gives. Answers are JSON within 8 kB: rows have a \
stable `key` to cite, `page` shows more of an answer by its id, and `next` names the tool that looks closer. Times are \
nanoseconds (`_ns`), shares are percent (`_pct`). A gain is the most that could be saved on the critical path; gains of \
several findings do not add up. Check `trusted` in the verdict before you conclude anything.";

/// A server of one desk; clones share it.
#[derive(Clone)]
pub struct Server {
    desk: Arc<Desk>,
}

impl Server {
    /// A server for this desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk: Arc::new(desk) }
    }

    /// Answers one call, without the protocol.
    fn answer(&self, request: CallToolRequestParams, observer: &dyn Observer) -> Result<String, Refusal> {
        let Some(tool) = TOOLS.find(&request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name.as_str()).collect();
            return Err(Refusal::new(format!("there is no tool `{}`", request.name))
                .with_help(format!("tools are {}", names.join(", "))));
        };
        let arguments = tool.check(request.arguments.unwrap_or_default())?;
        calls::run(&Call { desk: &self.desk, tool, arguments: &arguments, observer })
    }
}

/// Stops the work when the client gives up.
struct Client<F: Fn() -> bool + Sync>(F);

impl<F: Fn() -> bool + Sync> Observer for Client<F> {
    fn cancelled(&self) -> bool {
        (self.0)()
    }
}

fn refused(refusal: &Refusal) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(refusal.to_string())])
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let program = Implementation::new("rocm-perf", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(program).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(|tool| tool.listed()).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (server, given_up) = (self.clone(), context.ct.clone());
        let work = move || {
            let observer = Client(|| given_up.is_cancelled());
            server.answer(request, &observer)
        };
        // Analyses of large traces take seconds, and other clients must not wait for them.
        let result = match tokio::task::spawn_blocking(work).await {
            Ok(Ok(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Ok(Err(refusal)) => refused(&refusal),
            Err(_) => refused(&Refusal::new(
                "the analysis stopped with an internal error; the server keeps running",
            )),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list(&self.desk)))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = resources::read(&self.desk, &request.uri)
            .map_err(|refusal| ErrorData::resource_not_found(refusal.to_string(), None))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(PROMPTS.iter().map(|prompt| prompt.listed()).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let bad = |refusal: Refusal| ErrorData::invalid_params(refusal.to_string(), None);
        let prompt = PROMPTS.iter().find(|prompt| prompt.name == request.name);
        let prompt =
            prompt.ok_or_else(|| bad(Refusal::new(format!("there is no prompt `{}`", request.name))))?;
        let text = prompt.text(&request.arguments.unwrap_or_default()).map_err(bad)?;
        let messages = vec![PromptMessage::new_text(Role::User, text)];
        Ok(GetPromptResult::new(messages).with_description(prompt.about.clone()).into())
    }
}
