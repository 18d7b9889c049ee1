// The render child: the editor's SVG export behind MCP 2025-06-18 on standard input and output. Its arguments are the
// folders that font pieces are read from. It writes no file, opens no connection, and ends with its input.
import "./world.ts"; // before the editor's code: the order of imports is the order of evaluation
import { draw, reaches } from "./draw.ts";
import { widths } from "./world.ts";
import { NAME, TOOL, read, type Call } from "./wire.ts";

const LINE_LIMIT = 96 << 20;
// Nobody asked for so long: what was kept warm is let go; whoever asks next starts it again.
const IDLE_MS = 5 * 60_000;
const [PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS] = [-32700, -32600, -32601, -32602];

type Message = { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: { name?: unknown; arguments?: unknown } };

class Refused extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

let greeted = false;

async function result(method: string, params: Message["params"]): Promise<object> {
  switch (method) {
    case "initialize":
      if (greeted) throw new Refused(INVALID_REQUEST, "This process serves one session.");
      greeted = true;
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: NAME, version: process.versions.node },
      };
    case "ping":
      return {};
    case "tools/list":
      return { tools: [TOOL] };
    case "tools/call": {
      if (params?.name !== TOOL.name) throw new Refused(INVALID_PARAMS, "There is no such tool.");
      const call = read(params.arguments);
      if (call === null) throw new Refused(INVALID_PARAMS, "The arguments are not what the tool takes.");
      return called(call);
    }
    default:
      throw new Refused(NO_METHOD, "There is no such method.");
  }
}

async function called(call: Call): Promise<object> {
  try {
    for (const one of call.widths) widths.learn(one.font, one.text, one.width);
    const drawn = await draw(call);
    if ("svg" in drawn && reaches(drawn.svg)) return failed("the picture would fetch a font from elsewhere");
    return { content: [], structuredContent: drawn, isError: false };
  } catch (error) {
    return failed(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  }
}

function failed(why: string): object {
  return { content: [{ type: "text", text: why.slice(0, 2000) }], isError: true };
}

async function answer(line: string): Promise<object | null> {
  let message: Message;
  try {
    message = JSON.parse(line) as Message;
  } catch {
    return wrong(null, PARSE_ERROR, "A message has to be one JSON object.");
  }
  if (typeof message !== "object" || message === null || message.jsonrpc !== "2.0") {
    return wrong(null, INVALID_REQUEST, "A message has to be one JSON-RPC 2.0 object.");
  }
  if (message.id === undefined) return null;
  if ((typeof message.id !== "number" && typeof message.id !== "string") || typeof message.method !== "string") {
    return wrong(null, INVALID_REQUEST, "A request needs a text or number as id, and a method.");
  }
  try {
    return { jsonrpc: "2.0", id: message.id, result: await result(message.method, message.params) };
  } catch (error) {
    if (error instanceof Refused) return wrong(message.id, error.code, error.message);
    throw error;
  }
}

function wrong(id: unknown, code: number, message: string): object {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

let idle = setTimeout(() => process.exit(0), IDLE_MS);
let held: Buffer[] = [];
let size = 0;
for await (const block of process.stdin as AsyncIterable<Buffer>) {
  let rest = block;
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    const line = Buffer.concat([...held, rest.subarray(0, end)]).toString("utf8");
    [held, size, rest] = [[], 0, rest.subarray(end + 1)];
    if (line.trim() === "") continue;
    clearTimeout(idle);
    const said = await answer(line);
    idle = setTimeout(() => process.exit(0), IDLE_MS);
    if (said !== null) process.stdout.write(`${JSON.stringify(said)}\n`);
  }
  held.push(rest);
  size += rest.length;
  if (size > LINE_LIMIT) break;
}
clearTimeout(idle);
