// The one tool of the render child: its declaration, which the package compares with its own, and its arguments.
import type { Asked } from "./draw.ts";

export const NAME = "countermark-render";

const WIDTH = {
  type: "object",
  properties: { font: { type: "string" }, text: { type: "string" }, width: { type: "number" } },
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
      scale: { type: "number" },
      padding: { type: "number" },
      widths: { type: "array", items: WIDTH },
    },
    required: ["scene", "dark", "fonts", "embed", "background", "scale", "padding", "widths"],
    additionalProperties: false,
  },
} as const;

export type Call = Asked & { widths: { font: string; text: string; width: number }[] };

/** Return the arguments of a call, or null where they are not what is declared. */
export function read(value: unknown): Call | null {
  if (typeof value !== "object" || value === null) return null;
  const given = value as Record<string, unknown>;
  const plain = Object.entries(TOOL.inputSchema.properties).every(([name, { type }]) =>
    type === "array" ? Array.isArray(given[name]) : typeof given[name] === type,
  );
  const measured = plain && (given["widths"] as unknown[]).every(isWidth);
  return measured ? (given as unknown as Call) : null;
}

function isWidth(value: unknown): boolean {
  const one = value as { font?: unknown; text?: unknown; width?: unknown } | null;
  return typeof one?.font === "string" && typeof one.text === "string" && typeof one.width === "number";
}
