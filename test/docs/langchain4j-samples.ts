/** Which section of `docs/from-langchain4j.md` is the counterpart of which sample of LangChain4j's document. */

export interface Sample {
  /** The heading in LangChain4j's document. */
  readonly heading: string;
  /** Which code block below that heading; `undefined`: the document has only prose. */
  readonly block?: number;
  /** What the sample is about. */
  readonly about: string;
  /** The heading on our page. */
  readonly section: string;
}

/** In the order of the document. A code block of `test/fixtures/langchain4j-document/blocks.md` that is missing here fails the test. */
export const SAMPLES: readonly Sample[] = [
  { heading: "MCP Transport", block: 1, about: "stdio", section: "stdio" },
  { heading: "MCP Transport", block: 2, about: "Streamable HTTP", section: "Streamable HTTP" },
  { heading: "MCP Transport", block: 3, about: "WebSocket", section: "WebSocket" },
  { heading: "MCP Transport", block: 4, about: "legacy HTTP", section: "HTTP+SSE (legacy)" },
  { heading: "MCP Transport", block: 5, about: "the module for Docker", section: "Docker" },
  { heading: "MCP Transport", block: 6, about: "Docker", section: "Docker" },
  { heading: "MCP Client", block: 1, about: "a client with a key", section: "A client with a key" },
  { heading: "MCP Tool Provider", block: 1, about: "a tool provider", section: "A tool provider" },
  {
    heading: "MCP Tool Provider",
    about: "several clients, failIfOneServerFails",
    section: "Several servers, some of which fail",
  },
  { heading: "MCP Tool Provider", block: 2, about: "filterToolNames", section: "By name" },
  { heading: "MCP Tool Provider", block: 3, about: "filter", section: "By a predicate" },
  { heading: "MCP Tool Provider", about: "filters are joined by AND", section: "Several filters" },
  {
    heading: "MCP Tool Provider",
    about: "clients and filters added and removed",
    section: "Adding and removing servers and filters",
  },
  {
    heading: "MCP Tool Provider",
    block: 4,
    about: "a provider bound to an AI service",
    section: "Tools for an AI service",
  },
  {
    heading: "MCP Tool Provider",
    block: 5,
    about: "a map of specification and executor",
    section: "A map of specifications and executors",
  },
  {
    heading: "MCP Tool Provider",
    block: 6,
    about: "the map bound to an AI service",
    section: "An AI service over such a map",
  },
  { heading: "MCP Tool Name Mapping", block: 1, about: "toolNameMapper", section: "Names of tools" },
  {
    heading: "MCP Tool Specification Mapping",
    block: 1,
    about: "toolSpecificationMapper",
    section: "Specifications of tools",
  },
  { heading: "MCP tool metadata", about: "McpToolMetadataKeys", section: "Metadata" },
  { heading: "Logging", block: 1, about: "logMessageHandler", section: "Log messages" },
  { heading: "MCP listeners", about: "McpClientListener", section: "Listeners" },
  {
    heading: "Accessing resources programmatically",
    about: "listResources, listResourceTemplates, readResource",
    section: "Read by a program",
  },
  {
    heading: "Exposing resources automatically via synthetic tools",
    block: 1,
    about: "the JSON of list_resources",
    section: "Read by a model",
  },
  {
    heading: "Exposing resources automatically via synthetic tools",
    about: "descriptions and presenters of one's own",
    section: "With other texts",
  },
  { heading: "Prompts", about: "listPrompts, getPrompt, toChatMessage and its limits", section: "Prompts" },
  {
    heading: "Packaging and Executing the GitHub MCP Server in Docker",
    block: 1,
    about: "docker build",
    section: "The image",
  },
  {
    heading: "Packaging and Executing the GitHub MCP Server in Docker",
    block: 2,
    about: "docker image ls",
    section: "The image",
  },
  { heading: "Developing the Tool Provider", block: 1, about: "the program", section: "The program" },
  {
    heading: "Developing the Tool Provider",
    about: "the docker command line as a stdio server",
    section: "With your own command line",
  },
  { heading: "Developing the Tool Provider", about: "Podman instead of Docker", section: "Podman" },
  { heading: "Executing the Code", block: 1, about: "what it prints", section: "The program" },
  {
    heading: "Using MCP without AI Services",
    block: 1,
    about: "list, chat request, execution",
    section: "A chat request with tools",
  },
  {
    heading: "Using MCP without AI Services",
    block: 2,
    about: "one tool with its arguments",
    section: "One tool, called directly",
  },
  {
    heading: "Notes about Tool Caching",
    block: 1,
    about: "evictToolListCache, cacheToolList(false)",
    section: "The cache of tools",
  },
  { heading: "MCP Registry client", block: 1, about: "the registry client", section: "The registry" },
];

/** Something on the page that exists only elsewhere, and its stand-in: an expression over `local`. */
export interface StandIn {
  readonly why: string;
  readonly from: string;
  readonly to: string;
}

const address = (from: string, name: string): StandIn => ({
  why: `An example address; a local server (${name}) replaces it`,
  from: `"${from}"`,
  to: `local.${name}`,
});

/** All changes to the code of the page before it runs. Engines and keys need none: they come from the environment. */
export const STAND_INS: readonly StandIn[] = [
  { why: "npx would ask the network", from: '"npx"', to: "local.everything.command" },
  {
    why: "The same package, from where it is installed",
    from: '["-y", "@modelcontextprotocol/server-everything"]',
    to: "local.everything.args",
  },
  address("http://localhost:3001/mcp", "issues"),
  address("ws://localhost:3001/mcp/ws", "issuesWebSocket"),
  address("http://localhost:3001/sse", "issuesSse"),
  address("https://numbers.example/mcp", "numbers"),
  address("https://words.example/mcp", "words"),
  address("https://weather.example/mcp", "weather"),
  address("https://library.example/mcp", "library"),
  address("https://alice.example/mcp", "alice"),
  address("https://bob.example/mcp", "bob"),
  address("https://registry.example", "registry"),
];
