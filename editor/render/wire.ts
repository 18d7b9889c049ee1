// The one tool of the render child: its declaration, which the package compares with its own, and its arguments.
import type { Asked } from "./draw.ts";

export const NAME = "countermark-render";

// Fractions come as texts: a message with one in it takes its sender twenty times as long to spell (RFC 8785).
const WIDTH = {
  type: "object",
  properties: { font: { type: "string" }, text: { type: "string" }, width: { type: "string" } },
  required: ["font", "text", "width"],
} as const;

export const TOOL = {
  name: "draw",
  description: "Return the SVG that the editor exports of a scene, or the texts whose widths it needs first.",
  inputSchema: {
    type: "object",
    properties: {
      scene: { type: "string" },
      dark: { type: "boolean" },
      fonts: { type: "boolean" },
      embed: { type: "boolean" },
      background: { type: "boolean" },
      scale: { type: "string" },
      padding: { type: "number" },
      widths: { type: "array", items: WIDTH },
    },
    required: ["scene", "dark", "fonts", "embed", "background", "scale", "padding", "widths"],
    additionalProperties: false,
  },
} as const;

type Width = { font: string; text: string; width: number };
export type Call = Asked & { widths: Width[] };

/** Return the arguments of a call, or null where they are not what is declared. */
export function read(value: unknown): Call | null {
  if (typeof value !== "object" || value === null) return null;
  const given = value as Record<string, unknown>;
  const plain = Object.entries(TOOL.inputSchema.properties).every(([name, { type }]) =>
    type === "array" ? Array.isArray(given[name]) : typeof given[name] === type,
  );
  if (!plain) return null;
  const widths = (given["widths"] as unknown[]).map(width);
  const scale = Number(given["scale"]);
  if (!Number.isFinite(scale) || widths.includes(null)) return null;
  return { ...(given as unknown as Call), scale, widths: widths as Width[] };
}

function width(value: unknown): Width | null {
  const one = value as { font?: unknown; text?: unknown; width?: unknown } | null;
  if (typeof one?.font !== "string" || typeof one.text !== "string" || typeof one.width !== "string") return null;
  return { font: one.font, text: one.text, width: Number(one.width) };
}
