// As much of a document as the editor's SVG export touches. `outerHTML` is the HTML standard's fragment serialisation
// (§13.3) as Chromium has it since `<` and `>` are escaped in attributes too, so that its text is the browser's.

const SVG = "http://www.w3.org/2000/svg";
const IDENTIFIER = /^#([-\w\u0080-\uffff]+)(?:\.[-\w\u0080-\uffff]+)*$/;

abstract class Node {
  parent: Element | null = null;
  abstract serialised(out: string[]): void;
}

class Text extends Node {
  readonly data: string;
  constructor(data: string) {
    super();
    this.data = data;
  }
  override serialised(out: string[]): void {
    out.push(escaped(this.data));
  }
}

class Comment extends Node {
  readonly data: string;
  constructor(data: string) {
    super();
    this.data = data;
  }
  override serialised(out: string[]): void {
    out.push("<!--", this.data, "-->");
  }
}

/** The one property that the export sets through `style`: the rounded corner of an embedded page's link. */
class Style {
  readonly #element: Element;
  constructor(element: Element) {
    this.#element = element;
  }
  set borderRadius(value: string) {
    this.#element.setAttribute("style", `border-radius: ${Number(Number.parseFloat(value).toPrecision(6))}px;`);
  }
}

export class Element extends Node {
  readonly ownerDocument: Document;
  readonly localName: string;
  readonly children: Node[] = [];
  readonly #attributes = new Map<string, string>();

  constructor(owner: Document, name: string) {
    super();
    this.ownerDocument = owner;
    this.localName = name;
  }
  get style(): Style {
    return new Style(this);
  }
  get classList(): { add: (name: string) => void } {
    return { add: (name) => this.setAttribute("class", [this.getAttribute("class"), name].filter(Boolean).join(" ")) };
  }
  get id(): string {
    return this.getAttribute("id") ?? "";
  }
  set id(value: string) {
    this.setAttribute("id", value);
  }
  get firstChild(): Node | null {
    return this.children[0] ?? null;
  }
  set textContent(text: string) {
    for (const child of this.children) child.parent = null;
    this.children.length = 0;
    if (text !== "") this.appendChild(new Text(text));
  }
  get outerHTML(): string {
    const out: string[] = [];
    this.serialised(out);
    return out.join("");
  }
  getAttribute(name: string): string | null {
    return this.#attributes.get(name) ?? null;
  }
  setAttribute(name: string, value: unknown): void {
    this.#attributes.set(name, String(value));
  }
  setAttributeNS(_namespace: string, name: string, value: unknown): void {
    this.setAttribute(name, value);
  }
  appendChild<Child extends Node>(child: Child): Child {
    this.#adopt(child);
    this.children.push(child);
    return child;
  }
  append(...children: Node[]): void {
    for (const child of children) this.appendChild(child);
  }
  prepend(child: Node): void {
    this.#adopt(child);
    this.children.unshift(child);
  }
  removeChild<Child extends Node>(child: Child): Child {
    const place = this.children.indexOf(child);
    if (place < 0) throw new DOMException("The node is not a child of this node.", "NotFoundError");
    this.children.splice(place, 1);
    child.parent = null;
    return child;
  }
  /** Find by a type's name or by an id; what is neither is refused as a browser refuses a selector it cannot read. */
  querySelector(selector: string): Element | null {
    if (/^[a-z]+$/i.test(selector)) return this.#first((one) => one.localName === selector);
    const wanted = IDENTIFIER.exec(selector);
    if (wanted === null) throw new DOMException(`'${selector}' is not a valid selector.`, "SyntaxError");
    // With a class behind it, the id names nothing here: no element of an export has an id and a class.
    return wanted[0] === `#${wanted[1]}` ? this.#first((one) => one.id === wanted[1]) : null;
  }
  override serialised(out: string[]): void {
    out.push("<", this.localName);
    for (const [name, value] of this.#attributes) out.push(" ", name, '="', escaped(value).replaceAll('"', "&quot;"), '"');
    out.push(">");
    for (const child of this.children) child.serialised(out);
    out.push("</", this.localName, ">");
  }
  #first(wanted: (one: Element) => boolean): Element | null {
    for (const child of this.children) {
      if (!(child instanceof Element)) continue;
      const found = wanted(child) ? child : child.#first(wanted);
      if (found !== null) return found;
    }
    return null;
  }
  #adopt(child: Node): void {
    child.parent?.removeChild(child);
    child.parent = this;
  }
}

/** A canvas that measures and draws nothing. */
class Canvas {
  width = 0;
  height = 0;
  readonly #width: (text: string, font: string) => number;
  constructor(width: (text: string, font: string) => number) {
    this.#width = width;
  }
  getContext(): { font: string; measureText: (text: string) => { width: number } } {
    const context = { font: "", measureText: (text: string) => ({ width: this.#width(text, context.font) }) };
    return context;
  }
}

export class Document {
  readonly currentScript = null;
  readonly #width: (text: string, font: string) => number;
  constructor(width: (text: string, font: string) => number) {
    this.#width = width;
  }
  createElementNS(namespace: string, name: string): Element {
    if (namespace !== SVG) throw new Error(`an element of ${namespace} in an SVG`);
    return new Element(this, name);
  }
  /** Of HTML there are canvases, and the editor's icons, which it makes when it is loaded and never draws in an SVG. */
  createElement(name: string): Canvas | { src: string } {
    if (name === "canvas") return new Canvas(this.#width);
    if (name === "img") return { src: "" };
    throw new Error(`an HTML element ${name} in an SVG`);
  }
  createTextNode(data: string): Text {
    return new Text(data);
  }
  createComment(data: string): Comment {
    return new Comment(data);
  }
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("\u00a0", "&nbsp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
