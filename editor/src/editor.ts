// The editor of one scene, and what it was loaded from: a document goes in as its own loader reads it, and what the
// person made of that comes out as the file is to hold it.
import { CaptureUpdateAction, getNonDeletedElements, restoreElements } from "@excalidraw/excalidraw";
import type { ExcalidrawImperativeAPI } from "@excalidraw/excalidraw/types";
import { baseline, compose, edit, settings, type Baseline, type Composed, type Edit } from "./baseline.ts";
import { inGesture } from "./gesture.ts";
import { Unreadable, type Document, type Live, type Raw } from "./scene.ts";

type Elements = NonNullable<Parameters<ExcalidrawImperativeAPI["updateScene"]>[0]["elements"]>;
type Files = Parameters<ExcalidrawImperativeAPI["addFiles"]>[0];

/** Pixels that the editor's own bars take of the canvas, above as below: the drawing's middle stays the canvas's. */
const BARS = { top: 80, right: 16, bottom: 80, left: 16 };

/** Restore with the editor's own loader; where it fails, name the element that it fails on. */
export function restored(made: Document): ReturnType<typeof restoreElements> {
  const load = (elements: readonly Raw[]): ReturnType<typeof restoreElements> =>
    restoreElements(structuredClone(elements) as unknown as Elements, null, { repairBindings: true });
  try {
    return load(made.elements);
  } catch (error) {
    for (const element of made.elements) {
      try {
        load([element]);
      } catch {
        throw new Unreadable(`Element ${String(element.id)} (${String(element.type)}) cannot be read.`, { cause: error });
      }
    }
    throw new Unreadable("Its elements cannot be read together.", { cause: error });
  }
}

function settingsOf(made: Document): { [key: string]: unknown } {
  const { viewBackgroundColor, gridSize, gridModeEnabled } = made.appState;
  return {
    ...(typeof viewBackgroundColor === "string" ? { viewBackgroundColor } : {}),
    ...(typeof gridSize === "number" && gridSize > 0 ? { gridSize } : {}),
    ...(typeof gridModeEnabled === "boolean" ? { gridModeEnabled } : {}),
  };
}

export class Editor {
  private readonly api: ExcalidrawImperativeAPI;
  private line: Baseline;
  private trail = "";

  /** Begin with a scene: nothing of it can be undone, and all of it is in view. Raises `Unreadable`. */
  constructor(api: ExcalidrawImperativeAPI, made: Document) {
    this.api = api;
    this.line = this.load(made);
    api.history.clear();
    const live = getNonDeletedElements(api.getSceneElementsIncludingDeleted());
    if (live.length > 0) api.scrollToContent(live, { fitToContent: true, animate: false, canvasOffsets: BARS });
  }

  /**
   * Put a document in the place of what is shown: viewport, selection and undo stack stay the person's. `file` is named
   * where the document is ahead of what the file holds. Raises `Unreadable` before anything is changed.
   */
  load(made: Document, file?: Document): Baseline {
    const elements = restored(made);
    this.api.addFiles(Object.values(made.files).filter((entry) => typeof entry.dataURL === "string") as unknown as Files);
    const appState = settingsOf(made) as NonNullable<Parameters<typeof this.api.updateScene>[0]["appState"]>;
    this.api.updateScene({ elements, appState, captureUpdate: CaptureUpdateAction.NEVER });
    this.line = baseline(made, this.elements(), this.state(), file);
    this.trail = this.print();
    return this.line;
  }

  private elements(): readonly Live[] {
    return this.api.getSceneElementsIncludingDeleted();
  }

  private state(): Raw {
    return this.api.getAppState() as unknown as Raw;
  }

  get gesture(): boolean {
    return inGesture(this.state());
  }

  /** What the content came from; another one after every load. */
  get origin(): Baseline {
    return this.line;
  }

  /** Say once for each real change that there was one: the editor calls on every move of the pointer. */
  moved(): boolean {
    const trail = this.print();
    if (trail === this.trail) return false;
    this.trail = trail;
    return true;
  }

  private print(): string {
    const elements = this.elements();
    let sum = 0;
    for (const { version, versionNonce } of elements) sum = (sum * 31 + version * 7919 + versionNonce) % 2 ** 40;
    return `${elements.length}:${sum}:${JSON.stringify(settings(this.state()))}`;
  }

  edit(): Edit {
    return edit(this.line, this.elements(), this.state());
  }

  compose(): Composed {
    return compose(this.line, this.elements(), this.state(), this.api.getFiles() as unknown as Document["files"]);
  }

  /** The server has what was composed. */
  landed(next: Baseline): void {
    this.line = next;
  }

  /** Bring elements into view, selected; elements that are not there any more are left out. */
  show(ids: ReadonlySet<string>): void {
    const chosen = getNonDeletedElements(this.api.getSceneElements()).filter((element) => ids.has(element.id));
    if (chosen.length === 0) return;
    this.api.scrollToContent(chosen, { fitToViewport: true, viewportZoomFactor: 0.6, animate: false, maxZoom: 1, canvasOffsets: BARS });
    const selectedElementIds = Object.fromEntries(chosen.map((element) => [element.id, true as const]));
    this.api.updateScene({ appState: { selectedElementIds }, captureUpdate: CaptureUpdateAction.NEVER });
  }
}
