"""A session of the official Python client with the server, over stdio or HTTP; prints what it saw as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def talk(streams):
    async with ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        tools = await session.list_tools()
        opened = await session.call_tool("open_trace", {"path": "run"})
        first = json.loads(opened.content[0].text)
        explained = await session.call_tool("explain", {"trace": first["trace"]})
        bad = await session.call_tool("open_trace", {"path": "/etc/passwd"})
        resources = await session.list_resources()
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("why_slow", {"path": "run"})
        is_error = getattr(bad, "is_error", None)
        print(json.dumps({
            "name": (getattr(hello, "server_info", None) or hello.serverInfo).name,
            "tools": [tool.name for tool in tools.tools],
            "opened": first,
            "rule": json.loads(explained.content[0].text)["findings"][0]["rule"],
            "bad": bad.content[0].text,
            "bad_is_error": bad.isError if is_error is None else is_error,
            "resources": [str(resource.uri) for resource in resources.resources],
            "prompts": [prompt.name for prompt in prompts.prompts],
            "prompt": prompt.messages[0].content.text,
        }))


async def main():
    if sys.argv[1] == "stdio":
        server = StdioServerParameters(command=sys.argv[2], args=["mcp", "--root", sys.argv[3]])
        async with stdio_client(server) as streams:
            await talk(streams)
    else:
        headers = {"Authorization": "Bearer " + sys.argv[3]}
        async with create_mcp_http_client(headers=headers) as client:
            async with streamable_http_client(sys.argv[2], http_client=client) as streams:
                await talk(streams)


asyncio.run(main())
